// asof_join against what one would write without it: CREATE INDEX and a correlated subquery. Both in one run, over the
// same 1,000,000 transactions and 2,000,000 observations of 1,000 providers. Scale with the first argument (0.1 = a
// tenth).
#include <sqlite3.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

class Database {
 public:
  Database() {
    sqlite3_open("", &db_);  // a private file, as a real history is one
    sqlite3_enable_load_extension(db_, 1);
    char* message = nullptr;
    if (sqlite3_load_extension(db_, RPCROUTE_EXTENSION, "sqlite3_rpcroute_init", &message) != SQLITE_OK) fail(message);
  }
  ~Database() { sqlite3_close(db_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Runs `sql` and returns its last value.
  std::string run(const std::string& sql) {
    std::string last;
    char* message = nullptr;
    const auto keep = [](void* out, int count, char** values, char**) {
      if (count > 0 && values[count - 1] != nullptr) *static_cast<std::string*>(out) = values[count - 1];
      return 0;
    };
    if (sqlite3_exec(db_, sql.c_str(), keep, &last, &message) != SQLITE_OK) fail(message);
    return last;
  }

 private:
  [[noreturn]] static void fail(const char* message) {
    std::fprintf(stderr, "%s\n", message);
    std::exit(1);
  }
  sqlite3* db_ = nullptr;
};

struct Timed {
  double milliseconds;
  std::string answer;
};

Timed timed(Database& db, const std::string& sql) {
  const auto start = std::chrono::steady_clock::now();
  std::string answer = db.run(sql);
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  return {elapsed.count(), std::move(answer)};
}

void fill(Database& db, double scale) {
  const std::string transactions = std::to_string(static_cast<long>(1e6 * scale));
  const std::string observations = std::to_string(static_cast<long>(2e6 * scale));
  db.run(
      "CREATE TABLE tx(provider_id TEXT, timestamp REAL);"
      "CREATE TABLE metrics(provider_id TEXT, timestamp REAL, latency_ms REAL, block_number INTEGER);"
      "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT " +
      observations +
      ")"
      "INSERT INTO metrics SELECT 'provider-' || (i % 1000), 1.7e9 + i * 0.03, 100 + i % 977, 19000000 + i / 400 FROM "
      "n;"
      "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT " +
      transactions +
      ")"
      "INSERT INTO tx SELECT 'provider-' || (i * 7919 % 1000), 1.7e9 + i * 0.06 + 0.01 FROM n");
}

void report(const char* what, const Timed& ours, const Timed& theirs) {
  std::printf("%-58s %8.0f ms  %5.1fx%s\n", what, ours.milliseconds, theirs.milliseconds / ours.milliseconds,
              ours.answer == theirs.answer ? "" : "  WRONG ANSWER");
  if (ours.answer != theirs.answer) std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  Database db;
  fill(db, argc > 1 ? std::atof(argv[1]) : 1.0);

  const Timed scalar =
      timed(db, "SELECT sum(asof_join('metrics', 'provider_id', 'timestamp', provider_id, timestamp, 900)) FROM tx");
  const Timed table =
      timed(db, "SELECT sum(right_rowid) FROM asof_join('tx', 'metrics', 'provider_id', 'timestamp', 900)");
  const Timed joined =
      timed(db,
            "SELECT sum(m.latency_ms) FROM tx AS t JOIN metrics AS m "
            "ON m.rowid = asof_join('metrics', 'provider_id', 'timestamp', t.provider_id, t.timestamp, 900)");
  const Timed carried = timed(
      db, "SELECT sum(c1) FROM asof_join('tx', 'metrics', 'provider_id', 'timestamp', 900, '<', '[\"latency_ms\"]')");

  const Timed index = timed(db, "CREATE INDEX by_time ON metrics(provider_id, timestamp)");
  const std::string nearest =
      "FROM metrics AS m WHERE m.provider_id = t.provider_id AND m.timestamp < t.timestamp "
      "AND m.timestamp >= t.timestamp - 900 ORDER BY m.timestamp DESC, m.rowid DESC LIMIT 1)) FROM tx AS t";
  Timed subquery = timed(db, "SELECT sum((SELECT m.rowid " + nearest);
  Timed subquery_value = timed(db, "SELECT sum((SELECT m.latency_ms " + nearest);

  std::printf("CREATE INDEX %.0f ms, correlated subquery %.0f ms (rowid), %.0f ms (a value)\n", index.milliseconds,
              subquery.milliseconds, subquery_value.milliseconds);
  subquery.milliseconds += index.milliseconds;
  subquery_value.milliseconds += index.milliseconds;
  report("asof_join(), rowid", scalar, subquery);
  report("FROM asof_join(), rowid", table, subquery);
  report("asof_join() joined back for a value", joined, subquery_value);
  report("FROM asof_join() with the value in c1", carried, subquery_value);
}
