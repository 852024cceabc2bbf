// asof_join on random tables of every storage class, affinity and collation: the correlated subquery's answer,
// whichever way SQLite and asof_join take to it.
#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "host.hpp"

namespace {

using rpcroute::test::Host;
using rpcroute::test::Rows;

/// distance(a, b): |a - b| in quarters, exactly, for times that are multiples of 0.25.
void distance(sqlite3_context* context, int, sqlite3_value** values) {
  const auto quarters = [](sqlite3_value* value) -> sqlite3_int64 {
    if (sqlite3_value_type(value) == SQLITE_INTEGER) return sqlite3_value_int64(value) * 4;
    return std::llround(sqlite3_value_double(value) * 4.0);
  };
  if (sqlite3_value_type(values[0]) == SQLITE_NULL || sqlite3_value_type(values[1]) == SQLITE_NULL) return;
  const sqlite3_int64 gap = quarters(values[0]) - quarters(values[1]);
  sqlite3_result_int64(context, gap < 0 ? -gap : gap);
}

struct Random {
  std::mt19937 engine;

  std::size_t below(std::size_t count) { return engine() % count; }
  template <std::size_t size>
  std::string one_of(const char* const (&choices)[size]) {
    return choices[below(size)];
  }

  std::string key() {
    return one_of({"'a'", "'A'", "'b'", "1", "1.0", "'1'", "x'31'", "x'61'", "''", "x''", "0.5", "'a '", "NULL",
                   "9007199254740993", "9007199254740992.0", "'a' || char(0)"});
  }
  std::string time(bool large) {
    const std::size_t kind = below(8);
    if (kind == 0) return "NULL";
    const std::string whole = large ? "90071992547409" + std::to_string(88 + below(8)) : std::to_string(below(24));
    if (large && kind < 4) return std::to_string(9007199254740988 + 2 * below(4)) + ".0";
    if (kind < 4) return whole + one_of({".0", ".25", ".75"});
    return whole;
  }
};

/// A random l and r; with `misfits` some times of r are texts and blobs.
void fill(Host& db, Random& random, bool large, bool misfits) {
  db.run("DROP VIEW IF EXISTS v; DROP TABLE IF EXISTS l; DROP TABLE IF EXISTS r");
  const std::string key = random.one_of({"", "TEXT", "TEXT COLLATE NOCASE", "COLLATE NOCASE", "INTEGER", "REAL",
                                         "NUMERIC", "BLOB", "TEXT COLLATE RTRIM"});
  const std::string time = random.one_of({"", "INTEGER", "REAL", "NUMERIC", "FLOAT", "ANYTHING"});
  std::string sql = "CREATE TABLE l(id INTEGER PRIMARY KEY, k " +
                    random.one_of({"", "TEXT COLLATE NOCASE", "NUMERIC"}) +
                    ", t); CREATE TABLE r(id INTEGER PRIMARY KEY, k " + key + ", t " + time +
                    "); CREATE VIEW v AS SELECT id AS rowid, k, t FROM r; BEGIN;";
  for (int i = 0; i < 100; ++i) {
    sql += "INSERT INTO l(k, t) VALUES(" + random.key() + ", " + random.time(large) + ");";
  }
  for (std::size_t i = random.below(200); i > 0; --i) {
    const bool misfit = misfits && random.below(16) == 0;
    sql += "INSERT OR REPLACE INTO r VALUES(" + std::to_string(random.below(1000)) + ", " + random.key() + ", " +
           (misfit ? random.one_of({"'2026-01-01'", "x'01'", "'soon'"}) : random.time(large)) + ");";
  }
  db.run(sql + "COMMIT");
}

/// The same question in SQL alone. The plus takes the affinity off a column, so that values compare as they are stored,
/// and keeps SQLite from any index.
std::string subquery(const std::string& match, const std::string& tolerance) {
  std::string where = "+r.k = +l.k COLLATE BINARY AND r.t IS NOT NULL";
  if (tolerance != "NULL") where += " AND distance(l.t, r.t) <= 4 * " + tolerance;
  if (match != "nearest") where += " AND +r.t " + match + " +l.t";
  const std::string order = match == "nearest" ? "distance" : match[0] == '<' ? "t DESC" : "t";
  return "(SELECT id FROM (SELECT r.id, r.t, distance(l.t, r.t) AS distance FROM r WHERE l.t IS NOT NULL AND " + where +
         ") ORDER BY " + order + ", t, id DESC LIMIT 1)";
}

/// What `sql` gives for each row of l by itself, an error included.
Rows each(Host& db, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  REQUIRE(sqlite3_prepare_v2(db.db(), sql.c_str(), -1, &statement, nullptr) == SQLITE_OK);
  Rows rows;
  for (int id = 1; id <= 100; ++id) {
    sqlite3_bind_int(statement, 1, id);
    if (sqlite3_step(statement) == SQLITE_ROW) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
      rows.emplace_back(text == nullptr ? "NULL" : text);
    } else {
      rows.emplace_back(sqlite3_errmsg(db.db()));
    }
    sqlite3_reset(statement);
  }
  sqlite3_finalize(statement);
  return rows;
}

constexpr const char* kMatches[] = {"<", "<=", ">", ">=", "nearest"};
constexpr const char* kIndexes[] = {"SELECT 1", "CREATE INDEX by_time ON r(k COLLATE BINARY, t)",
                                    "DROP INDEX by_time; CREATE INDEX by_time ON r(k, t)",
                                    "DROP INDEX by_time; CREATE UNIQUE INDEX by_time ON r(t, k, id)",
                                    "DROP INDEX by_time; CREATE INDEX by_time ON r(k COLLATE BINARY, t DESC); ANALYZE"};

}  // namespace

TEST_CASE("asof_join is the correlated subquery over any column, collation, index and storage class") {
  Host db;
  sqlite3_create_function(db.db(), "distance", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr, distance, nullptr,
                          nullptr);
  for (unsigned seed = 1; seed <= 60; ++seed) {
    Random random{std::mt19937(seed)};
    fill(db, random, seed % 2 == 0, false);
    for (const char* index : kIndexes) {
      db.run(index);
      const std::string match = random.one_of(kMatches);
      const std::string tolerance = random.one_of({"NULL", "0", "3", "2.25"});
      const std::string source = random.one_of({"r", "v"});
      const std::string options = tolerance + ", '" + match + "'";
      INFO("seed " << seed << ", " << source << ", " << options << ", " << index);
      const Rows expected = db.run("SELECT " + subquery(match, tolerance) + " FROM l ORDER BY id");
      const std::string call = "SELECT asof_join('" + source + "', 'k', 't', k, t, " + options + ") FROM l";
      CHECK(db.run(call + " ORDER BY id") == expected);
      CHECK(each(db, call + " WHERE id = ?1") == expected);
      CHECK(db.run("SELECT right_rowid FROM asof_join('l', '" + source + "', 'k', 't', " + options +
                   ") ORDER BY left_rowid") == expected);
    }
  }
}

TEST_CASE("a time that is no number is the same error for the keys that have it, whatever the access path") {
  Host db;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    Random random{std::mt19937(seed)};
    fill(db, random, seed % 2 == 0, true);
    const std::string match = random.one_of(kMatches);
    const std::string options = "NULL, '" + match + "'";
    Rows expected;
    std::string table;
    for (const char* index : kIndexes) {
      db.run(index);
      for (const std::string source : {"r", "v"}) {
        INFO("seed " << seed << ", " << source << ", " << options << ", " << index);
        const std::string call = "SELECT asof_join('" + source + "', 'k', 't', k, t, " + options + ") FROM l";
        Rows rows = each(db, call + " WHERE id = ?1");
        // A view is not called as its table is.
        for (std::string& row : rows) {
          if (row.starts_with("asof_join: v.")) row[11] = 'r';
        }
        std::string error = db.error("SELECT * FROM asof_join('l', '" + source + "', 'k', 't', " + options + ")");
        if (error.starts_with("asof_join: v.")) error[11] = 'r';
        if (expected.empty()) {
          expected = rows;
          table = error;
          std::size_t errors = 0;
          for (std::size_t i = 0; i < rows.size(); ++i) {
            const bool asked = db.first("SELECT count(*) FROM l, r WHERE l.id = " + std::to_string(i + 1) +
                                        " AND l.t IS NOT NULL AND +l.k = +r.k COLLATE BINARY AND "
                                        "typeof(r.t) IN ('text', 'blob')") != "0";
            CHECK(asked == rows[i].starts_with("asof_join: r.t must be an INTEGER or REAL time"));
            errors += asked ? 1 : 0;
          }
          CHECK((errors > 0) == !error.empty());
        }
        CHECK(rows == expected);
        CHECK(error == table);
        CHECK(db.error(call).empty() == table.empty());
      }
    }
  }
}
