// Where a callback puts its answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sqlite/api.hpp"
#include "sqlite/value.hpp"

namespace rpcroute::sqlite {

/// A text that lives as long as the program, so that SQLite need not copy it.
struct StaticText {
  std::string_view text;
};

/// The result of a function call or of a column. Setting nothing means NULL.
class Result {
 public:
  explicit Result(sqlite3_context* context) : context_(context) {}

  void set_null() { sqlite3_result_null(context_); }
  void set(std::int64_t value) { sqlite3_result_int64(context_, value); }
  void set(int value) { sqlite3_result_int64(context_, value); }
  void set(long long value) { sqlite3_result_int64(context_, value); }
  /// A number of things: below 2^63.
  void set(std::uint64_t value) { set(static_cast<std::int64_t>(value)); }
  void set(bool value) { sqlite3_result_int(context_, value ? 1 : 0); }
  void set(double value) { sqlite3_result_double(context_, value); }
  void set(std::string_view text) {
    sqlite3_result_text64(context_, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  void set(StaticText constant) {
    sqlite3_result_text64(context_, constant.text.data(), constant.text.size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  void set(const char* text) { set(std::string_view(text)); }
  void set(const std::string& text) { set(std::string_view(text)); }
  void set_blob(std::string_view bytes) {
    sqlite3_result_blob64(context_, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
  }
  void set(Value value) { sqlite3_result_value(context_, value.raw()); }

  /// JSON text that SQLite's own JSON functions embed as JSON. The function must be registered with `returns_json`.
  void set_json(std::string_view json) {
    set(json);
    sqlite3_result_subtype(context_, kJsonSubtype);
  }

  template <class T>
  void set(const std::optional<T>& value) {
    if (value) {
      set(*value);
    } else {
      set_null();
    }
  }

 private:
  sqlite3_context* context_;
};

}  // namespace rpcroute::sqlite
