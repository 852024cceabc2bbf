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

void JsonTree::Nodes::push_back(Node node) {
  if (size_ == capacity_) {
    const std::uint32_t capacity = capacity_ + capacity_ / 4 + 8;
    void* const grown = std::realloc(nodes_.get(), capacity * sizeof(Node));
    if (grown == nullptr) throw std::bad_alloc();
    static_cast<void>(nodes_.release());
    nodes_.reset(static_cast<Node*>(grown));
    capacity_ = capacity;
  }
  nodes_.get()[size_++] = node;
}

std::uint32_t JsonTree::behind(std::uint32_t node) const {
  const Node& value = nodes_[node];
  const bool has_children = value.type >= static_cast<unsigned>(JsonType::array);
  return has_children ? value.extent : node + 1 + value.is_escaped;
}

std::string_view JsonTree::text_of(std::uint32_t node) const {
  const Node& text = nodes_[node];
  if (!text.is_escaped) return source_.substr(text.begin + 1, text.extent - 2);
  const Node& decoded = nodes_[node + 1];
  return std::string_view(decoded_).substr(decoded.begin, decoded.extent);
}

Json JsonTree::root() const {
  return problem_.empty() ? Json(this, 0, static_cast<std::uint32_t>(source_.find_last_not_of(" \t\r\n") + 1)) : Json();
}

JsonType Json::type() const {
  return tree_ == nullptr ? JsonType::absent : static_cast<JsonType>(tree_->nodes_[node_].type);
}

std::string_view Json::source() const {
  if (tree_ == nullptr) return {};
  const JsonTree::Node& node = tree_->nodes_[node_];
  return tree_->source_.substr(node.begin, is_array() || is_object() ? end_ - node.begin : node.extent);
}

std::string_view Json::text() const {
  return is_text() ? tree_->text_of(node_) : std::string_view();
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

std::uint32_t Json::stop() const {
  return tree_ == nullptr ? 0 : tree_->behind(node_);
}

/// A child ends where the blanks before the comma and the next child begin, the last one before its parent's bracket.
Json Json::child(std::uint32_t node) const {
  const std::uint32_t next = tree_->behind(node);
  const std::string_view source = tree_->source_;
  std::uint32_t end = next == stop() ? end_ - 1 : tree_->nodes_[next].begin;
  while (is_blank(source[end - 1])) --end;
  if (next == stop()) return {tree_, node, end};
  --end;
  while (is_blank(source[end - 1])) --end;
  return {tree_, node, end};
}

JsonMember Json::member(std::uint32_t position) const {
  return {tree_->text_of(position), Json(tree_, position, 0), child(tree_->behind(position)), position};
}

std::string_view Json::name(std::uint32_t position) const {
  return tree_->text_of(position);
}

JsonChildren<Json> Json::elements() const {
  return {*this, is_array() ? node_ + 1 : stop()};
}

JsonChildren<JsonMember> Json::members() const {
  return {*this, is_object() ? node_ + 1 : stop()};
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
