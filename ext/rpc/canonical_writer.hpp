// Writes values of answers in their canonical form.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rpc/fields.hpp"
#include "text/budget.hpp"
#include "text/json.hpp"
#include "text/json_order.hpp"

namespace rpcroute::rpc {

/// What a value is, as its place tells it.
enum class Place { data, quantity, solana };

class CanonicalWriter {
 public:
  /// Takes what is written, part by part; it may keep the string.
  using Drain = std::function<void(std::string& part)>;

  CanonicalWriter(text::Budget& budget, Drain drain) : budget_(budget), drain_(std::move(drain)) {}

  /// Recursion is bounded by text::max_json_depth.
  void write(const text::Json& value, Place place);

  /// As the value of a text that stands so decoded; `source` is the JSON it came from, or empty.
  void write_text(std::string_view text, std::string_view source, Place place);

  void write_raw(std::string_view json) { json_ += json; }

  /// Hands on what is left.
  void finish() { drain_(json_); }

 private:
  void write_number(std::string_view number, Place place);
  void write_array(const text::Json& array, Place place);
  void write_object(const text::Json& object, Place place);
  void write_literal(std::string_view text, std::string_view source);
  void drain_some();

  text::Budget& budget_;
  Drain drain_;
  std::string json_;
  std::vector<text::OrderedMember> members_;  // of the objects around the value that is being written
};

}  // namespace rpcroute::rpc
