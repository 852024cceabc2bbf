#include "generate_database.hpp"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

namespace rpcroute::history {
namespace {

void check(sqlite3* connection, int code) {
  if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW) {
    throw std::runtime_error(connection ? sqlite3_errmsg(connection) : sqlite3_errstr(code));
  }
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file || text.empty()) {
    throw std::runtime_error("cannot read " + path.string());
  }
  return text;
}

bool holds_nothing(const std::filesystem::path& path) {
  std::error_code error;
  return !std::filesystem::exists(path) || (std::filesystem::file_size(path, error) == 0 && !error);
}

constexpr const char* history_helpers =
    "FROM sqlite_schema WHERE type IN ('index', 'trigger') AND tbl_name IN ('rpc_metrics', 'tx_outcomes') AND sql IS "
    "NOT NULL";

}  // namespace

Database::Database(const std::filesystem::path& path) {
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &connection,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  connection_.reset(connection);
  check(connection, code);
}

void Database::run(const std::string& sql) {
  check(handle(), sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr));
}

std::int64_t Database::number(const std::string& sql) {
  const auto rows = texts(sql);
  return rows.empty() ? 0 : std::stoll(rows.front());
}

std::vector<std::string> Database::texts(const std::string& sql) {
  std::vector<std::string> rows;
  const auto collect = [](void* into, int, char** values, char**) {
    static_cast<std::vector<std::string>*>(into)->emplace_back(values[0] ? values[0] : "");
    return 0;
  };
  check(handle(), sqlite3_exec(handle(), sql.c_str(), collect, &rows, nullptr));
  return rows;
}

Insert::Insert(Database& database, std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  check(database.handle(), sqlite3_prepare_v3(database.handle(), sql.data(), static_cast<int>(sql.size()),
                                              SQLITE_PREPARE_PERSISTENT, &statement, nullptr));
  statement_.reset(statement);
}

void Insert::write() {
  sqlite3_step(statement_.get());
  check(sqlite3_db_handle(statement_.get()), sqlite3_reset(statement_.get()));
}

HistoryFile::HistoryFile(std::filesystem::path path, const std::filesystem::path& schema) : path_(std::move(path)) {
  if (holds_nothing(path_)) {
    aside_ = path_;
    aside_ += ".part-" + std::to_string(getpid());
    std::filesystem::remove(aside_);
  }
  try {
    open(schema);
  } catch (const std::exception& error) {
    database_.reset();
    if (!aside_.empty()) {
      std::filesystem::remove(aside_);
    }
    throw std::runtime_error(path_.string() + ": " + error.what());
  }
}

HistoryFile::~HistoryFile() {
  database_.reset();
  std::error_code ignored;
  if (!aside_.empty()) {
    std::filesystem::remove(aside_, ignored);
  }
}

void HistoryFile::open(const std::filesystem::path& schema) {
  database_.emplace(aside_.empty() ? path_ : aside_);
  if (!aside_.empty()) {
    database_->run("PRAGMA page_size = 4096; PRAGMA encoding = 'UTF-8'");
  } else if (database_->number("SELECT count(*) FROM sqlite_schema") > 0 &&
             database_->number("SELECT count(*) FROM sqlite_schema WHERE name = 'rpc_settings'") == 0) {
    throw std::runtime_error("a database that was not made by sql/schema.sql");
  }
  database_->run(text_of(schema));
  if (!aside_.empty()) {
    database_->run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE");
  }
  database_->run("PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536; BEGIN IMMEDIATE");
  refuse_history();
  drop_helpers();
  database_->run(
      "CREATE TABLE truth ("
      "tx_id INTEGER NOT NULL, provider_id TEXT NOT NULL, duration_sec REAL NOT NULL, "
      "PRIMARY KEY (tx_id, provider_id)) WITHOUT ROWID");
}

void HistoryFile::refuse_history() {
  if (database_->number("SELECT EXISTS (SELECT 1 FROM rpc_metrics) OR EXISTS (SELECT 1 FROM tx_outcomes) OR "
                        "EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'truth')")) {
    throw std::runtime_error("holds a history already, and simulated rows are not mixed with it; choose another file");
  }
}

// Building an index once the rows are there is cheaper than keeping it up row by row, and triggers search by them.
void HistoryFile::drop_helpers() {
  helpers_ = database_->texts(std::string("SELECT sql ") + history_helpers);
  for (const auto& drop :
       database_->texts(std::string("SELECT 'DROP ' || type || ' \"' || name || '\"' ") + history_helpers)) {
    database_->run(drop);
  }
}

void HistoryFile::finish() {
  for (const auto& sql : helpers_) {
    database_->run(sql);
  }
  database_->run("COMMIT");
  if (aside_.empty()) {
    return;
  }
  database_->run("PRAGMA synchronous = FULL; PRAGMA locking_mode = NORMAL; PRAGMA journal_mode = WAL");
  database_.reset();
  std::filesystem::rename(aside_, path_);
  aside_.clear();
}

}  // namespace rpcroute::history
