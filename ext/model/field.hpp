// A value together with its path in the document, so that every complaint can name the field.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/document.hpp"
#include "model/error.hpp"

namespace rpcroute::model {

/// Text of the file as a message may show it: quoted, printable ASCII, at most 60 characters.
std::string quoted(std::string_view text);

/// A position in a document. Cheap to make; the path is put together only for a complaint. Refers to the document and
/// to its parent, which must outlive it: make children from named fields.
class Field {
 public:
  explicit Field(const Value& root) : value_(root) {}

  /// Refuses the model: "<path> <complaint>".
  [[noreturn]] void refuse(const std::string& complaint) const { throw ModelError(path() + " " + complaint); }
  [[noreturn]] void refuse_element(std::size_t index, const std::string& complaint) const {
    throw ModelError(path() + "[" + std::to_string(index) + "] " + complaint);
  }

  /// A member of an object; `at` refuses when it is absent.
  std::optional<Field> find(std::string_view key) const;
  Field at(std::string_view key) const;
  /// An element of an array of objects.
  Field at(std::size_t index) const;

  const Value::Object& object() const;
  const std::string& text() const;
  /// Elements of an array that is not one of numbers.
  const Value::Array& array() const;
  /// Whole numbers (booleans as 0 and 1).
  std::span<const std::int64_t> integers() const;
  /// Numbers of either kind.
  std::vector<float> reals() const;
  /// Number of elements of an array of any kind.
  std::size_t array_size() const;
  /// A whole number from 0 to `most`, spelled as a number or, as XGBoost does, as text.
  std::int64_t count(std::int64_t most) const;
  /// A number spelled as a number, as text, or as a list of one: 0.5, "5E-1", "[5E-1]", [0.5].
  float real() const;

  std::string path() const;

 private:
  Field(const Value& value, const Field& parent, std::string_view key) : value_(value), parent_(&parent), key_(key) {}
  Field(const Value& value, const Field& parent, std::size_t index) : value_(value), parent_(&parent), index_(index) {}

  const Value& value_;
  const Field* parent_ = nullptr;
  std::string_view key_;
  std::size_t index_ = 0;
};

}  // namespace rpcroute::model
