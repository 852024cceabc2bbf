// Exceptions inside, SQLite's codes and messages outside: the one place where the two meet.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "sqlite/api.hpp"

namespace rpcroute::sqlite {

/// Misuse, in words for the author of the SQL. The guard puts the name of the function or table before it.
using Error = std::invalid_argument;

/// A nested statement failed: `code` is SQLite's, `what()` its message.
struct SqlError : std::runtime_error {
  SqlError(int sqlite_code, const std::string& message) : std::runtime_error(message), code(sqlite_code) {}
  int code;
};

/// sqlite3_interrupt() was called while we were at work.
struct Interruption {};

/// What a caught exception means to SQLite.
struct Outcome {
  int code;             ///< SQLITE_OK, SQLITE_ERROR, SQLITE_NOMEM, SQLITE_INTERRUPT, …
  std::string message;  ///< empty where the code says it all
};

/// Translates the exception in flight; `name` is the SQL name the user wrote.
Outcome current_outcome(std::string_view name) noexcept;

/// Runs `work`, letting nothing escape into SQLite's C frames.
template <class Work>
Outcome guard(std::string_view name, Work&& work) noexcept {
  try {
    work();
    return {SQLITE_OK, {}};
  } catch (...) {
    return current_outcome(name);
  }
}

/// The same for a scalar or aggregate callback: the outcome becomes the result of the call.
void report(sqlite3_context* context, const Outcome& outcome) noexcept;

/// The same for a virtual table callback: the message becomes the table's, the code is returned.
int report(char** message, const Outcome& outcome) noexcept;
int report(sqlite3_vtab* table, const Outcome& outcome) noexcept;

}  // namespace rpcroute::sqlite
