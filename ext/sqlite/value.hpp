// SQL values: a borrowed view, and an owned copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>

#include "sqlite/api.hpp"

namespace rpcroute::sqlite {

/// A view of a value that SQLite owns for the duration of the callback.
class Value {
 public:
  explicit Value(sqlite3_value* value) : value_(value) {}

  int type() const { return sqlite3_value_type(value_); }
  bool is_null() const { return type() == SQLITE_NULL; }
  bool is_integer() const { return type() == SQLITE_INTEGER; }
  bool is_real() const { return type() == SQLITE_FLOAT; }
  bool is_number() const { return is_integer() || is_real(); }
  /// A number, or a text that reads as one.
  bool is_numeric() const {
    const int numeric_type = sqlite3_value_numeric_type(value_);
    return numeric_type == SQLITE_INTEGER || numeric_type == SQLITE_FLOAT;
  }
  bool is_text() const { return type() == SQLITE_TEXT; }
  bool is_blob() const { return type() == SQLITE_BLOB; }

  std::int64_t integer() const { return sqlite3_value_int64(value_); }
  double real() const { return sqlite3_value_double(value_); }

  /// The text, embedded NULs included; valid until the value is converted or the callback returns.
  std::string_view text() const {
    if (is_null()) return {};
    const auto* data = reinterpret_cast<const char*>(sqlite3_value_text(value_));
    if (data == nullptr) throw std::bad_alloc();
    return {data, bytes()};
  }
  std::span<const std::byte> blob() const {
    const auto* data = static_cast<const std::byte*>(sqlite3_value_blob(value_));
    if (data == nullptr && bytes() > 0) throw std::bad_alloc();
    return data == nullptr ? std::span<const std::byte>{} : std::span(data, bytes());
  }

  sqlite3_value* raw() const { return value_; }

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(sqlite3_value_bytes(value_)); }
  sqlite3_value* value_;
};

/// The value as it would be written in SQL, shortened for a message: 'text', 12, 1.5, NULL, BLOB.
std::string quoted(Value value);

/// A copy that outlives the callback.
class OwnedValue {
 public:
  explicit OwnedValue(sqlite3_value* value) : value_(sqlite3_value_dup(value)) {
    if (value != nullptr && value_ == nullptr) throw std::bad_alloc();
  }
  Value view() const { return Value(value_.get()); }

 private:
  struct Free {
    void operator()(sqlite3_value* value) const { sqlite3_value_free(value); }
  };
  std::unique_ptr<sqlite3_value, Free> value_;
};

/// The arguments of a scalar or aggregate call.
class Arguments {
 public:
  Arguments(int count, sqlite3_value** values) : count_(count), values_(values) {}
  int size() const { return count_; }
  Value operator[](int index) const { return Value(values_[index]); }

 private:
  int count_;
  sqlite3_value** values_;
};

}  // namespace rpcroute::sqlite
