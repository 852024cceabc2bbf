// What XGBoost writes as JSON or as UBJSON, as one tree of plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

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

/// Largest file that is read, in bytes.
inline constexpr std::size_t max_model_bytes = std::size_t{64} << 20;

/// Reads JSON (`{` and then blank, quote or `}`) or UBJSON (`{` and then a length). Nesting is bounded (XGBoost nests 9
/// deep), keys are unique, nothing follows the document, memory stays within a small multiple of the input.
/// Throws ModelError with the position in bytes.
Value read_document(std::span<const std::byte> bytes);

}  // namespace rpcroute::model
