// Reading and writing JSON through RapidJSON with less noise.
#pragma once

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "bytes.hpp"

namespace rpcroute::devnet {

using Json = rapidjson::Value;

/// Of a string; empty for anything else.
inline std::string_view text_of(const Json& value) {
  return value.IsString() ? std::string_view(value.GetString(), value.GetStringLength()) : std::string_view();
}

/// A member of an object, or nullptr.
inline const Json* member(const Json& object, const char* name) {
  if (!object.IsObject()) return nullptr;
  const auto found = object.FindMember(name);
  return found == object.MemberEnd() ? nullptr : &found->value;
}

/// The JSON text of a value.
inline std::string dump(const Json& value) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  value.Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

/// Builds one JSON text front to back.
class JsonText {
 public:
  JsonText& begin_object() { return to_->writer.StartObject(), *this; }
  JsonText& end_object() { return to_->writer.EndObject(), *this; }
  JsonText& begin_array() { return to_->writer.StartArray(), *this; }
  JsonText& end_array() { return to_->writer.EndArray(), *this; }
  JsonText& key(std::string_view name) { return to_->writer.Key(name.data(), size(name)), *this; }

  JsonText& value(std::string_view text) { return to_->writer.String(text.data(), size(text)), *this; }
  JsonText& value(const char* text) { return value(std::string_view(text)); }
  JsonText& value(std::same_as<bool> auto flag) { return to_->writer.Bool(flag), *this; }
  JsonText& value(std::uint64_t number) { return to_->writer.Uint64(number), *this; }
  JsonText& value(double number) { return to_->writer.Double(number), *this; }
  JsonText& value(std::nullptr_t) { return to_->writer.Null(), *this; }
  JsonText& value(const Hash& hash) { return value(hex(hash)); }
  JsonText& value(const Address& address) { return value(hex(address)); }
  template <class T>
  JsonText& value(const std::optional<T>& maybe) {
    return maybe ? value(*maybe) : value(nullptr);
  }
  /// Text that is JSON already.
  JsonText& raw(std::string_view json) {
    return to_->writer.RawValue(json.data(), json.size(), rapidjson::kObjectType), *this;
  }

  template <class T>
  JsonText& field(std::string_view name, const T& content) {
    return key(name).value(content);
  }

  std::string take() const { return {to_->buffer.GetString(), to_->buffer.GetSize()}; }

 private:
  static rapidjson::SizeType size(std::string_view text) { return static_cast<rapidjson::SizeType>(text.size()); }

  /// A writer points at its buffer, so the two stay where they are while the text moves.
  struct Target {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer{buffer};
  };
  std::unique_ptr<Target> to_ = std::make_unique<Target>();
};

}  // namespace rpcroute::devnet
