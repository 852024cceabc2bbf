// A database with the extension loaded, as a C host sees it.
#pragma once

#include <sqlite3.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace host {

using Row = std::vector<std::string>;  ///< NULL is "NULL", REALs have 17 digits
using Rows = std::vector<Row>;

class Database {
 public:
  explicit Database(const std::string& path = ":memory:", const char* entry_point = "sqlite3_rpcroute_init") {
    if (sqlite3_open(path.c_str(), &db_) != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(db_));
    sqlite3_enable_load_extension(db_, 1);
    char* message = nullptr;
    if (sqlite3_load_extension(db_, RPCROUTE_EXTENSION, entry_point, &message) != SQLITE_OK) {
      const std::string text = message == nullptr ? "cannot load the extension" : message;
      sqlite3_free(message);
      throw std::runtime_error(text);
    }
  }
  ~Database() { sqlite3_close_v2(db_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  sqlite3* handle() const { return db_; }

  /// Runs every statement in `sql`; the rows of all of them. Throws std::runtime_error with SQLite's message.
  Rows rows(const std::string& sql) {
    Rows rows;
    const char* rest = sql.c_str();
    while (*rest != '\0') {
      sqlite3_stmt* statement = nullptr;
      if (sqlite3_prepare_v2(db_, rest, -1, &statement, &rest) != SQLITE_OK) throw error();
      if (statement == nullptr) continue;
      int code = SQLITE_ROW;
      while ((code = sqlite3_step(statement)) == SQLITE_ROW) rows.push_back(current(statement));
      const std::runtime_error failure = error();
      sqlite3_finalize(statement);
      if (code != SQLITE_DONE) throw failure;
    }
    return rows;
  }

  /// The first value of the first row; "no rows" when there is none.
  std::string value(const std::string& sql) {
    const Rows found = rows(sql);
    return found.empty() ? "no rows" : found.front().front();
  }

  /// The message of the error that `sql` must end in; "no error" when it does not.
  std::string error_of(const std::string& sql) {
    try {
      rows(sql);
    } catch (const std::runtime_error& failure) {
      return failure.what();
    }
    return "no error";
  }

 private:
  std::runtime_error error() const { return std::runtime_error(sqlite3_errmsg(db_)); }

  static Row current(sqlite3_stmt* statement) {
    Row row;
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      if (sqlite3_column_type(statement, i) == SQLITE_FLOAT) {
        char digits[40];
        sqlite3_snprintf(sizeof digits, digits, "%!.17g", sqlite3_column_double(statement, i));
        row.emplace_back(digits);
      } else {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
        row.emplace_back(text == nullptr ? "NULL" : text);
      }
    }
    return row;
  }

  sqlite3* db_ = nullptr;
};

}  // namespace host
