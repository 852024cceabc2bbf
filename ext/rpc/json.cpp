#include "rpc/json.hpp"

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "rpc/text.hpp"

namespace rpcroute::rpc {
namespace {

/// Stops the reader where the nesting passes the bound.
struct DepthLimit : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, DepthLimit> {
  std::size_t depth = 0;

  bool StartObject() { return ++depth <= max_json_depth; }
  bool StartArray() { return ++depth <= max_json_depth; }
  bool EndObject(rapidjson::SizeType) { return --depth, true; }
  bool EndArray(rapidjson::SizeType) { return --depth, true; }
};

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
  constexpr unsigned flags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag | rapidjson::kParseNumbersAsStringsFlag;
  if (trimmed(text).empty()) return "it is empty";
  if (text.find('\0') != std::string_view::npos) return "it holds a NUL character";  // where RapidJSON would stop
  rapidjson::MemoryStream stream(text.data(), text.size());
  rapidjson::Reader reader;
  DepthLimit handler;
  if (reader.Parse<flags>(stream, handler)) return std::nullopt;
  if (reader.GetParseErrorCode() == rapidjson::kParseErrorTermination) return "it is nested too deeply";
  return lower(rapidjson::GetParseError_En(reader.GetParseErrorCode()));
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

}  // namespace rpcroute::rpc
