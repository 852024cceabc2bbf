// The values of a tree. Its reader is in json_reader.cpp.
#include "text/json.hpp"

#include <rapidjson/writer.h>

#include <algorithm>
#include <charconv>
#include <new>

#include "text/ascii.hpp"

namespace rpcroute::text {
namespace {

template <class Number>
std::optional<Number> number_of(const Json& json) {
  if (!json.is(JsonType::number)) return std::nullopt;
  const std::string_view digits = json.source();
  Number number{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

/// What RapidJSON's writer appends to.
struct Sink {
  using Ch = char;
  std::string& text;
  void Put(char c) { text += c; }
  void Flush() {}
};

}  // namespace

void JsonTree::Nodes::grow() {
  const std::uint32_t capacity = capacity_ + capacity_ / 4 + 8;
  void* const grown = std::realloc(nodes_.get(), capacity * sizeof(Node));
  if (grown == nullptr) throw std::bad_alloc();
  static_cast<void>(nodes_.release());
  nodes_.reset(static_cast<Node*>(grown));
  capacity_ = capacity;
}

Json JsonTree::root() const {
  return problem_.empty() ? Json(this, 0, static_cast<std::uint32_t>(source_.find_last_not_of(" \t\r\n") + 1)) : Json();
}

std::optional<std::int64_t> Json::integer() const {
  return number_of<std::int64_t>(*this);
}

std::optional<std::uint64_t> Json::unsigned_integer() const {
  return number_of<std::uint64_t>(*this);
}

std::optional<double> Json::real() const {
  return number_of<double>(*this);
}

std::optional<bool> Json::boolean() const {
  return is(JsonType::boolean) ? std::optional(source() == "true") : std::nullopt;
}

std::uint32_t Json::end_of(std::uint32_t child) const {
  const std::string_view source = tree_->source_;
  const std::uint32_t next = tree_->behind(child);
  const bool is_last = next == tree_->behind(node_);
  std::uint32_t end = is_last ? end_ - 1 : tree_->nodes_[next].begin;
  while (is_blank(source[end - 1])) --end;
  if (is_last) return end;
  --end;  // the comma
  while (is_blank(source[end - 1])) --end;
  return end;
}

Json Json::operator[](std::string_view name) const {
  Json found;
  for (const JsonMember& member : members()) {
    if (member.name == name) found = member.value;
  }
  return found;
}

void append_json_literal(std::string_view text, std::string& json) {
  Sink sink{json};
  rapidjson::Writer<Sink> writer(sink);
  writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

std::string json_literal(std::string_view text) {
  std::string json;
  append_json_literal(text, json);
  return json;
}

}  // namespace rpcroute::text
