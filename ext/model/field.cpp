#include "model/field.hpp"

#include <algorithm>
#include <charconv>

namespace rpcroute::model {
namespace {

template <class Number>
std::optional<Number> parse(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

[[noreturn]] void refuse_outputs(const Field& field, std::size_t outputs) {
  field.refuse("has " + std::to_string(outputs) + " values: only models with one output are evaluated");
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string printable(text.substr(0, 60));
  const auto unprintable = [](char c) { return c < ' ' || c > '~'; };
  std::replace_if(printable.begin(), printable.end(), unprintable, '?');
  return "\"" + printable + "\"";
}

std::optional<Field> Field::find(std::string_view key) const {
  for (const auto& [name, value] : object()) {
    if (name == key) return Field(value, *this, key);
  }
  return std::nullopt;
}

Field Field::at(std::string_view key) const {
  if (auto member = find(key)) return *member;
  throw ModelError(path() + (path().empty() ? "" : ".") + std::string(key) + " is missing");
}

Field Field::at(std::size_t index) const {
  return Field(array()[index], *this, index);
}

const Value::Object& Field::object() const {
  if (const auto* object = std::get_if<Value::Object>(&value_.data)) return *object;
  refuse("is not an object");
}

const std::string& Field::text() const {
  if (const auto* text = std::get_if<std::string>(&value_.data)) return *text;
  refuse("is not text");
}

const Value::Array& Field::array() const {
  if (const auto* array = std::get_if<Value::Array>(&value_.data)) return *array;
  refuse("is not an array, or one of numbers");
}

std::span<const std::int64_t> Field::integers() const {
  if (const auto* integers = std::get_if<Value::Integers>(&value_.data)) return *integers;
  if (const auto* array = std::get_if<Value::Array>(&value_.data); array && array->empty()) return {};
  refuse("is not an array of whole numbers");
}

std::vector<float> Field::reals() const {
  if (const auto* reals = std::get_if<Value::Reals>(&value_.data)) return *reals;
  if (const auto* integers = std::get_if<Value::Integers>(&value_.data)) return {integers->begin(), integers->end()};
  if (const auto* array = std::get_if<Value::Array>(&value_.data); array && array->empty()) return {};
  refuse("is not an array of numbers");
}

std::size_t Field::array_size() const {
  if (const auto* reals = std::get_if<Value::Reals>(&value_.data)) return reals->size();
  if (const auto* integers = std::get_if<Value::Integers>(&value_.data)) return integers->size();
  if (const auto* array = std::get_if<Value::Array>(&value_.data)) return array->size();
  refuse("is not an array");
}

std::int64_t Field::count(std::int64_t most) const {
  std::optional<std::int64_t> number;
  if (const auto* whole = std::get_if<std::int64_t>(&value_.data)) number = *whole;
  if (const auto* text = std::get_if<std::string>(&value_.data)) {
    number = parse<std::int64_t>(*text);
    if (!number) refuse("is " + quoted(*text) + ", not a whole number");
  }
  if (!number) refuse("is not a whole number");
  if (*number < 0 || *number > most) {
    refuse("is " + std::to_string(*number) + ", accepted is 0 to " + std::to_string(most));
  }
  return *number;
}

float Field::real() const {
  if (const auto* whole = std::get_if<std::int64_t>(&value_.data)) return static_cast<float>(*whole);
  if (const auto* number = std::get_if<float>(&value_.data)) return *number;
  if (!std::holds_alternative<std::string>(value_.data)) {
    const std::vector<float> outputs = reals();
    if (outputs.size() != 1) refuse_outputs(*this, outputs.size());
    return outputs.front();
  }
  const std::string& spelled = text();
  std::string_view inner = spelled;
  if (inner.starts_with('[') && inner.ends_with(']')) {
    inner = inner.substr(1, inner.size() - 2);
    const auto commas = std::count(inner.begin(), inner.end(), ',');
    if (commas > 0) refuse_outputs(*this, static_cast<std::size_t>(commas) + 1);
  }
  const auto number = parse<float>(inner);
  if (!number) refuse("is " + quoted(spelled) + ", not a number");
  return *number;
}

std::string Field::path() const {
  if (!parent_) return "";
  std::string path = parent_->path();
  if (key_.empty()) return path + "[" + std::to_string(index_) + "]";
  return path.empty() ? std::string(key_) : path + "." + std::string(key_);
}

}  // namespace rpcroute::model
