#include "model/document.hpp"

#include <algorithm>
#include <string_view>

#include "model/document_builder.hpp"
#include "model/error.hpp"

namespace rpcroute::model {
namespace {

// XGBoost nests nine deep. The bound keeps recursion, ours and that of destructors, off the stack's end.
constexpr std::size_t max_depth = 32;

// A value that is not a packed number costs about a hundred bytes, and one byte of input can be such a value.
constexpr std::size_t max_values = 4'000'000;

// More keys than any object of a model has; the search for a duplicate is linear.
constexpr std::size_t max_keys = 256;

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

bool DocumentBuilder::key(std::string name) {
  Level& level = levels_.back();
  const auto& object = std::get<Value::Object>(level.container.data);
  if (object.size() >= max_keys) return refuse("an object has more than 256 keys");
  if (std::any_of(object.begin(), object.end(), [&](const auto& member) { return member.key == name; })) {
    return refuse("the key \"" + name.substr(0, 60) + "\" appears twice in one object");
  }
  level.key = std::move(name);
  return true;
}

bool DocumentBuilder::open(Value container) {
  if (levels_.size() >= max_depth) return refuse("nested more than 32 deep");
  levels_.push_back({std::move(container), {}});
  return true;
}

bool DocumentBuilder::end() {
  Value value = std::move(levels_.back().container);
  levels_.pop_back();
  return add(std::move(value));
}

bool DocumentBuilder::add(Value value) {
  if (++values_ > max_values) return refuse("more than four million values");
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

Value read_document(std::span<const std::byte> bytes) {
  if (bytes.size() > max_model_bytes) throw ModelError("more than 64 MiB");
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.empty() || text.front() != '{') {
    throw ModelError(
        "it does not begin with '{', so it is neither XGBoost JSON nor UBJSON; save binary files and pickles again as "
        "JSON");
  }
  return is_json(text) ? read_json(text) : read_ubjson(bytes);
}

}  // namespace rpcroute::model
