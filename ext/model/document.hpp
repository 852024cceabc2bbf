// What XGBoost writes as JSON or as UBJSON, as one tree of plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "text/budget.hpp"

namespace rpcroute::model {

struct Member;

/// One value of a model file. Arrays that hold only numbers or booleans are kept packed: `Integers` while every element
/// is whole (booleans count as 0 and 1), `Reals` as soon as one is not. A decimal is rounded once, straight to float32,
/// because that is what XGBoost compares and adds. An empty array is an `Array` without elements.
struct Value {
  using Array = std::vector<Value>;
  using Integers = std::vector<std::int64_t>;
  using Reals = std::vector<float>;
  using Object = std::vector<Member>;

  std::variant<std::monostate, bool, std::int64_t, float, std::string, Array, Integers, Reals, Object> data;
};

struct Member {
  std::string key;
  Value value;
};

/// Whether bytes are meant to be a model rather than the name of one: both formats are an object, which begins with
/// '{', in JSON perhaps behind a byte-order mark and blanks.
bool is_document(std::span<const std::byte> bytes);

/// Reads JSON (`{` and then blank, quote or `}`) or UBJSON (`{` and then a length). Keys are unique, nothing follows
/// the document. A cell of the budget is eight bytes of the values. Throws ModelError with the position in bytes,
/// text::OverBudget.
Value read_document(std::span<const std::byte> bytes, text::Budget& budget);

}  // namespace rpcroute::model
