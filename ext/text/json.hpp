// JSON text as text: checked as a whole, then cut into the slices that were asked for, so that no number is rounded.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rpcroute::text {

/// Deeper nesting than any answer of a node has.
constexpr std::size_t max_json_depth = 512;

/// What makes `text` no JSON (RFC 8259, valid UTF-8, at most `max_json_depth` levels, no NUL); nullopt when it is JSON.
/// Needs no stack in proportion to the nesting.
std::optional<std::string> json_problem(std::string_view text);

struct JsonMember {
  std::string name;        ///< decoded
  std::string_view value;  ///< as written, without surrounding blanks
};

/// The members of a valid JSON object, in order; duplicates as they come.
std::vector<JsonMember> json_members(std::string_view object);

/// The elements of a valid JSON array.
std::vector<std::string_view> json_elements(std::string_view array);

/// The text of a valid JSON string literal.
std::string json_text(std::string_view literal);

/// `text` as a JSON string literal.
std::string json_literal(std::string_view text);

}  // namespace rpcroute::text
