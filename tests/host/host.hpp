// A host of SQLite with the extension loaded.
#pragma once

#include <sqlite3.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace rpcroute::test {

/// Rows as text: columns joined by '|', NULL as "NULL".
using Rows = std::vector<std::string>;

class Host {
 public:
  explicit Host(const std::string& path = ":memory:", const char* entry = nullptr) {
    check(sqlite3_open(path.c_str(), &db_));
    sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, nullptr);
    char* message = nullptr;
    const int code = sqlite3_load_extension(db_, RPCROUTE_EXTENSION, entry, &message);
    const std::string text = message == nullptr ? "" : message;
    sqlite3_free(message);
    if (code != SQLITE_OK) throw std::runtime_error(text);
  }
  ~Host() { close(); }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  sqlite3* db() const { return db_; }

  /// SQLITE_OK, or SQLITE_BUSY when something of ours is still open.
  int close() {
    const int code = sqlite3_close(db_);
    if (code == SQLITE_OK) db_ = nullptr;
    return code;
  }

  /// Runs one or more statements and returns the rows of all; throws what SQLite says.
  Rows run(const std::string& sql) {
    Rows rows;
    const char* rest = sql.c_str();
    while (*rest != '\0') {
      sqlite3_stmt* statement = nullptr;
      check(sqlite3_prepare_v2(db_, rest, -1, &statement, &rest));
      if (statement == nullptr) continue;
      int code;
      while ((code = sqlite3_step(statement)) == SQLITE_ROW) rows.push_back(row(statement));
      const std::string message = sqlite3_errmsg(db_);
      sqlite3_finalize(statement);
      if (code != SQLITE_DONE) throw std::runtime_error(message);
    }
    return rows;
  }

  /// The first row; "no rows" when there is none.
  std::string first(const std::string& sql) {
    const Rows rows = run(sql);
    return rows.empty() ? "no rows" : rows.front();
  }

  /// The error of a statement that must fail; "" when it does not.
  std::string error(const std::string& sql) {
    try {
      run(sql);
      return "";
    } catch (const std::runtime_error& failure) {
      return failure.what();
    }
  }

 private:
  static std::string row(sqlite3_stmt* statement) {
    std::string text;
    for (int column = 0; column < sqlite3_column_count(statement); ++column) {
      if (column > 0) text += '|';
      const auto* value = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
      text += value == nullptr ? "NULL" : value;
    }
    return text;
  }

  void check(int code) const {
    if (code != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(db_));
  }

  sqlite3* db_ = nullptr;
};

}  // namespace rpcroute::test
