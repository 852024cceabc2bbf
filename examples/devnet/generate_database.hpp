// The database a generated history is written to: all of it appears, or nothing.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rpcroute::history {

/// One connection. Whatever SQLite refuses is a std::runtime_error with its message.
class Database {
 public:
  explicit Database(const std::filesystem::path& path);

  /// Runs statements that return nothing of interest.
  void run(const std::string& sql);
  /// The first column of the first row, or 0 when there is none.
  std::int64_t number(const std::string& sql);
  /// The first column of every row.
  std::vector<std::string> texts(const std::string& sql);

  sqlite3* handle() const { return connection_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
  };
  std::unique_ptr<sqlite3, Close> connection_;
};

/// An INSERT that is run again and again. Text must stay where it is until the row has been written.
class Insert {
 public:
  Insert(Database& database, std::string_view sql);

  /// Writes one row; the values go to ?1, ?2, …
  template <typename... Values>
  void operator()(const Values&... values) {
    int index = 0;
    (bind(++index, values), ...);
    write();
  }

 private:
  void bind(int index, std::int64_t value) { sqlite3_bind_int64(statement_.get(), index, value); }
  void bind(int index, double value) { sqlite3_bind_double(statement_.get(), index, value); }
  void bind(int index, std::string_view value) {
    sqlite3_bind_text(statement_.get(), index, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
  }
  void bind(int index, const std::optional<std::int64_t>& value) {
    value ? bind(index, *value) : static_cast<void>(sqlite3_bind_null(statement_.get(), index));
  }
  void write();

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// A file made by schema.sql, ready for a history, with an empty `truth` table.
///
/// A path where there is nothing is written aside, without a journal, and takes its name in finish(). A database that
/// is there already is written in one transaction; it must be made by schema.sql, or empty, and hold no observations
/// and no transactions. Without finish() nothing is left behind.
class HistoryFile {
 public:
  /// Throws std::runtime_error, in words for the user, when the file is not fit for it.
  HistoryFile(std::filesystem::path path, const std::filesystem::path& schema);
  ~HistoryFile();
  HistoryFile(const HistoryFile&) = delete;
  HistoryFile& operator=(const HistoryFile&) = delete;

  Database& database() { return *database_; }
  void finish();

 private:
  void open(const std::filesystem::path& schema);
  void refuse_history();
  void drop_helpers();

  std::filesystem::path path_;
  std::filesystem::path aside_;  // empty when path_ itself is written
  std::optional<Database> database_;
  std::vector<std::string> helpers_;  // indexes and triggers, dropped while rows come in
};

}  // namespace rpcroute::history
