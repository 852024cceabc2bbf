#include "model/document.hpp"

#include <algorithm>
#include <string_view>

#include "model/document_builder.hpp"
#include "model/error.hpp"
#include "model/limits.hpp"

namespace rpcroute::model {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// In the budget's cells.
template <class T>
constexpr std::uint64_t cells_of = sizeof(T) / 8;

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Where a document begins: JSON may have a byte-order mark and blanks before it.
std::size_t begin_of(std::string_view text) {
  const std::size_t mark = text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  return static_cast<std::size_t>(std::find_if_not(text.begin() + mark, text.end(), blank) - text.begin());
}

bool is_json(std::string_view text) {
  constexpr std::string_view after_brace = " \t\r\n\"}";
  return text.size() < 2 || after_brace.find(text[1]) != std::string_view::npos;
}

}  // namespace

bool DocumentBuilder::refuse(std::string complaint) {
  complaint_ = std::move(complaint);
  return false;
}

bool DocumentBuilder::boolean(bool value) {
  const bool in_array = !levels_.empty() && !std::holds_alternative<Value::Object>(levels_.back().container.data);
  return in_array ? integer(value ? 1 : 0) : add(Value{value});
}

bool DocumentBuilder::integer(std::int64_t value) {
  if (!levels_.empty()) {
    budget_.cells();
    auto& data = levels_.back().container.data;
    if (auto* integers = std::get_if<Value::Integers>(&data)) {
      integers->push_back(value);
      return true;
    }
    if (auto* reals = std::get_if<Value::Reals>(&data)) {
      reals->push_back(static_cast<float>(value));
      return true;
    }
    if (auto* array = std::get_if<Value::Array>(&data); array && array->empty()) {
      data = Value::Integers{value};
      return true;
    }
  }
  return add(Value{value});
}

bool DocumentBuilder::real(float value) {
  if (!levels_.empty()) {
    budget_.cells();
    auto& data = levels_.back().container.data;
    if (auto* integers = std::get_if<Value::Integers>(&data)) data = Value::Reals(integers->begin(), integers->end());
    if (auto* reals = std::get_if<Value::Reals>(&data)) {
      reals->push_back(value);
      return true;
    }
    if (auto* array = std::get_if<Value::Array>(&data); array && array->empty()) {
      data = Value::Reals{value};
      return true;
    }
  }
  return add(Value{value});
}

bool DocumentBuilder::text(std::string value) {
  budget_.cells(value.size() / 8);
  return add(Value{std::move(value)});
}

bool DocumentBuilder::key(std::string name) {
  Level& level = levels_.back();
  const auto& object = std::get<Value::Object>(level.container.data);
  if (object.size() >= limits::keys) return refuse("an object has more than 256 keys");
  budget_.cells(cells_of<Member> - cells_of<Value> + name.size() / 8);
  budget_.steps(object.size() * (1 + name.size() / 8));
  if (std::any_of(object.begin(), object.end(), [&](const auto& member) { return member.key == name; })) {
    return refuse("the key \"" + name.substr(0, 60) + "\" appears twice in one object");
  }
  level.key = std::move(name);
  return true;
}

bool DocumentBuilder::open(Value container) {
  levels_.emplace_back(std::move(container), budget_);
  return true;
}

bool DocumentBuilder::end() {
  Value value = std::move(levels_.back().container);
  levels_.pop_back();
  return add(std::move(value));
}

bool DocumentBuilder::add(Value value) {
  budget_.cells(cells_of<Value>);
  if (levels_.empty()) {
    root_ = std::move(value);
    return true;
  }
  Level& level = levels_.back();
  if (auto* object = std::get_if<Value::Object>(&level.container.data)) {
    object->push_back({std::move(level.key), std::move(value)});
    return true;
  }
  auto* array = std::get_if<Value::Array>(&level.container.data);
  if (!array) return refuse("an array mixes numbers and other values");
  array->push_back(std::move(value));
  return true;
}

bool is_document(std::span<const std::byte> bytes) {
  const std::size_t begin = begin_of(as_text(bytes));
  return begin < bytes.size() && bytes[begin] == std::byte{'{'};
}

Value read_document(std::span<const std::byte> bytes, text::Budget& budget) {
  budget.bytes(bytes.size());
  if (!is_document(bytes)) {
    throw ModelError(
        "it does not begin with '{', so it is neither XGBoost JSON nor UBJSON; save binary files and pickles again as "
        "JSON");
  }
  const std::string_view text = as_text(bytes);
  const std::size_t begin = begin_of(text);
  return begin > 0 || is_json(text) ? read_json(text, begin, budget) : read_ubjson(bytes, budget);
}

}  // namespace rpcroute::model
