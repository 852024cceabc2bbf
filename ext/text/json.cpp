#include "text/json.hpp"

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>

#include "text/ascii.hpp"

namespace rpcroute::text {
namespace {

/// Stops the reader where the nesting passes the bound.
struct DepthLimit : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, DepthLimit> {
  std::size_t depth = 0;

  bool StartObject() { return ++depth <= max_json_depth; }
  bool StartArray() { return ++depth <= max_json_depth; }
  bool EndObject(rapidjson::SizeType) { return --depth, true; }
  bool EndArray(rapidjson::SizeType) { return --depth, true; }
};

rapidjson::ParseResult parse(std::string_view text) {
  constexpr unsigned flags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag | rapidjson::kParseNumbersAsStringsFlag;
  rapidjson::MemoryStream stream(text.data(), text.size());
  rapidjson::Reader reader;
  DepthLimit handler;
  return reader.Parse<flags>(stream, handler);
}

/// RFC 8259 section 6.
bool is_number(std::string_view text) {
  const auto skip_digits = [&text] {
    const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(count);
    return count;
  };
  if (text.starts_with('-')) text.remove_prefix(1);
  const bool zero = text.starts_with('0');
  const std::size_t whole = skip_digits();
  if (whole == 0 || (zero && whole > 1)) return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (skip_digits() == 0) return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (skip_digits() == 0) return false;
  }
  return text.empty();
}

/// The text with 0 for each of its numbers. RapidJSON refuses what no double holds (1e999), JSON does not.
std::string with_small_numbers(std::string_view text) {
  std::string result;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size();) {
    const bool begins_number = text[at] == '-' || (text[at] >= '0' && text[at] <= '9');
    if (!in_string && begins_number) {
      const std::string_view token =
          text.substr(at, std::min(text.find_first_not_of("0123456789+-.eE", at), text.size()) - at);
      result += is_number(token) ? std::string_view("0") : token;
      at += token.size();
      continue;
    }
    const std::size_t length = in_string && text[at] == '\\' && at + 1 < text.size() ? 2 : 1;
    if (text[at] == '"') in_string = !in_string;
    result += text.substr(at, length);
    at += length;
  }
  return result;
}

/// The length of the string literal at the front of valid JSON.
std::size_t string_length(std::string_view text) {
  std::size_t at = 1;
  while (text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return at + 1;
}

/// The length of the object or array at the front of valid JSON.
std::size_t nested_length(std::string_view text) {
  std::size_t depth = 0;
  std::size_t at = 0;
  do {
    if (text[at] == '"') {
      at += string_length(text.substr(at));
      continue;
    }
    if (text[at] == '{' || text[at] == '[') ++depth;
    if (text[at] == '}' || text[at] == ']') --depth;
    ++at;
  } while (depth > 0);
  return at;
}

std::size_t value_length(std::string_view text) {
  if (text.front() == '"') return string_length(text);
  if (text.front() == '{' || text.front() == '[') return nested_length(text);
  return std::min(text.find_first_of(",]} \t\r\n"), text.size());
}

/// Reads valid JSON from the front.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(trimmed(text)) {}

  /// Drops the next character, and the blanks around it.
  void skip() { rest_ = trimmed(rest_.substr(1)); }

  char next() const { return rest_.front(); }

  std::string_view value() {
    const std::string_view value = rest_.substr(0, value_length(rest_));
    rest_ = trimmed(rest_.substr(value.size()));
    return value;
  }

 private:
  std::string_view rest_;
};

}  // namespace

std::optional<std::string> json_problem(std::string_view text) {
  if (trimmed(text).empty()) return "it is empty";
  if (text.find('\0') != std::string_view::npos) return "it holds a NUL character";  // where RapidJSON would stop
  rapidjson::ParseResult result = parse(text);
  if (result.Code() == rapidjson::kParseErrorNumberTooBig) result = parse(with_small_numbers(text));
  if (!result.IsError()) return std::nullopt;
  if (result.Code() == rapidjson::kParseErrorTermination) return "it is nested too deeply";
  return lower(rapidjson::GetParseError_En(result.Code()));
}

std::vector<JsonMember> json_members(std::string_view object) {
  std::vector<JsonMember> members;
  Cursor cursor(object);
  cursor.skip();
  while (cursor.next() != '}') {
    if (cursor.next() == ',') cursor.skip();
    std::string name = json_text(cursor.value());
    cursor.skip();
    members.push_back({std::move(name), cursor.value()});
  }
  return members;
}

std::vector<std::string_view> json_elements(std::string_view array) {
  std::vector<std::string_view> elements;
  Cursor cursor(array);
  cursor.skip();
  while (cursor.next() != ']') {
    if (cursor.next() == ',') cursor.skip();
    elements.push_back(cursor.value());
  }
  return elements;
}

std::string json_text(std::string_view literal) {
  if (literal.find('\\') == std::string_view::npos) return std::string(literal.substr(1, literal.size() - 2));
  rapidjson::Document document;
  document.Parse(literal.data(), literal.size());
  return document.IsString() ? std::string(document.GetString(), document.GetStringLength()) : std::string();
}

std::string json_literal(std::string_view text) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace rpcroute::text
