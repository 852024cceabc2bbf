// asof_join, function and table, against the correlated subquery one would write without it.
#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <iterator>
#include <random>
#include <string>

#include "host.hpp"

namespace {

using rpcroute::test::Host;
using rpcroute::test::Rows;

constexpr const char* kMatches[] = {"<", "<=", ">", ">=", "nearest"};

/// A random literal; `kind` 0: small integers, 1: quarters and integers, 2: integers above 2^53, 3: those and reals.
std::string time_literal(std::mt19937& random, int kind) {
  const auto pick = [&](unsigned count) { return random() % count; };
  if (pick(8) == 0) return "NULL";
  if (kind == 1 && pick(2) == 0) return std::to_string(pick(30)) + (pick(2) == 0 ? ".0" : ".25");
  if (kind == 3 && pick(3) == 0) return "90071992547409" + std::to_string(90 + pick(10)) + ".0";
  if (kind >= 2) return "90071992547409" + std::to_string(90 + pick(10));
  return std::to_string(pick(30));
}

std::string key_literal(std::mt19937& random) {
  constexpr const char* kKeys[] = {"'a'", "'b'", "1", "1.0", "'1'", "x'31'", "0.5", "NULL", "'A'"};
  return kKeys[random() % std::size(kKeys)];
}

void fill(Host& db, std::mt19937& random, int kind) {
  db.run(
      "DROP TABLE IF EXISTS l; DROP TABLE IF EXISTS r; CREATE TABLE l(k, t); CREATE TABLE r(id INTEGER PRIMARY KEY, k, "
      "t, v)");
  std::string sql = "BEGIN;";
  for (int i = 0; i < 60; ++i)
    sql += "INSERT INTO l VALUES(" + key_literal(random) + "," + time_literal(random, kind) + ");";
  for (int i = 0; i < 120; ++i) {
    sql += "INSERT OR REPLACE INTO r VALUES(" + std::to_string(random() % 1000) + "," + key_literal(random) + "," +
           time_literal(random, kind) + ",'v" + std::to_string(i) + "');";
  }
  db.run(sql + "COMMIT");
}

/// The same question in SQL alone. Columns without affinity compare as given.
std::string subquery(const std::string& match, const std::string& tolerance) {
  const std::string near = tolerance == "NULL" ? "1" : "abs(l.t - r.t) <= " + tolerance;
  // The distance stands in an inner SELECT, since an ORDER BY cannot name columns of the outer query.
  const std::string rows =
      "(SELECT id FROM (SELECT r.id, r.t, abs(l.t - r.t) AS distance FROM r WHERE r.k = l.k AND " + near;
  if (match == "nearest") return rows + ") WHERE distance IS NOT NULL ORDER BY distance, t, id DESC LIMIT 1)";
  const std::string order = match[0] == '<' ? "DESC" : "ASC";
  return rows + " AND r.t " + match + " l.t) ORDER BY t " + order + ", id DESC LIMIT 1)";
}

}  // namespace

TEST_CASE("asof_join finds the row that the correlated subquery finds") {
  Host db;
  std::mt19937 random(11);
  for (int round = 0; round < 40; ++round) {
    const int kind = round % 4;
    fill(db, random, kind);
    // The first few look-ups of a statement go through an index, if there is one.
    if (round % 8 >= 4) db.run("CREATE INDEX by_time ON r(k, t)");
    for (const std::string match : kMatches) {
      if (kind == 3 && match == "nearest") continue;  // SQL itself rounds these distances
      for (const std::string tolerance : {"NULL", "0", "3", "2.25"}) {
        if (kind == 3 && tolerance != "NULL") continue;
        const std::string arguments = tolerance + ", '" + match + "'";
        const Rows expected = db.run("SELECT rowid, " + subquery(match, tolerance) + " FROM l ORDER BY rowid");
        INFO("kind " << kind << ", " << arguments);
        CHECK(db.run("SELECT rowid, asof_join('r', 'k', 't', k, t, " + arguments + ") FROM l ORDER BY rowid") ==
              expected);
        CHECK(db.run("SELECT left_rowid, right_rowid FROM asof_join('l', 'r', 'k', 't', " + arguments +
                     ") ORDER BY left_rowid") == expected);
      }
    }
  }
}

TEST_CASE("the table form carries the right row's values and the gap") {
  Host db;
  std::mt19937 random(12);
  for (int kind = 0; kind < 2; ++kind) {
    fill(db, random, kind);
    CHECK(db.run("SELECT left_rowid, right_rowid, typeof(gap), gap, c1, c2, typeof(c3), c3, c4 "
                 "FROM asof_join('l', 'r', 'k=k', 't = t', 5, '<=', '[\"v\",\"id\",\"t\"]')") ==
          db.run("SELECT l.rowid, r.rowid, typeof(l.t - r.t), l.t - r.t, r.v, r.id, typeof(r.t), r.t, NULL FROM l "
                 "LEFT JOIN r ON r.rowid = " +
                 subquery("<=", "5")));
  }
}

TEST_CASE("an index changes nothing about which keys are equal") {
  Host db;
  db.run(
      "CREATE TABLE r(k TEXT COLLATE NOCASE, n INTEGER, t REAL); INSERT INTO r VALUES('a', 1, 1), ('A', 2, 2), ('1', "
      "3, 3);"
      "CREATE TABLE x(t, d); INSERT INTO x VALUES(1, 'a'), (2, 'a')");
  for (const char* index : {"SELECT 1", "CREATE INDEX i ON r(k, t)", "CREATE INDEX j ON r(k COLLATE BINARY, t)",
                            "CREATE INDEX l ON r(n, t)", "CREATE INDEX m ON x(t)", "CREATE INDEX o ON x(d)"}) {
    db.run(index);
    CHECK(db.first("SELECT asof_join('r', 'k', 't', 'a', 9)") == "1");
    CHECK(db.first("SELECT asof_join('r', 'k', 't', 1, 9)") == "NULL");
    CHECK(db.first("SELECT asof_join('r', 'k', 't', '1', 9)") == "3");
    CHECK(db.first("SELECT asof_join('r', 'n', 't', '1', 9)") == "NULL");
    CHECK(db.first("SELECT asof_join('r', 'n', 't', 1.0, 9)") == "1");
    CHECK(db.first("SELECT asof_join('r', 'n', 't', 1.0, 9, 8)") == "1");
    CHECK(db.first("SELECT asof_join('r', 'n', 't', 1.0, 9, 7)") == "NULL");
    CHECK(db.first("SELECT asof_join('x', NULL, 't', NULL, 2)") == "1");
    CHECK(db.first("SELECT asof_join('x', NULL, 't', 'ignored', 2, 0, '<=')") == "2");
    CHECK_THAT(db.error("SELECT asof_join('x', NULL, 'd', NULL, 2)"),
               Catch::Contains("x.d must be an INTEGER or REAL"));
    CHECK_THAT(db.error("SELECT asof_join('r', 'n', 'k', 1, 2)"), Catch::Contains("r.k must be an INTEGER or REAL"));
  }
}

TEST_CASE("a match 2^64 away is not within 5") {
  Host db;
  db.run("CREATE TABLE r(t); INSERT INTO r VALUES(-9223372036854775807 - 1)");
  CHECK(db.first("SELECT asof_join('r', NULL, 't', NULL, 9223372036854775807, 5)") == "NULL");
  CHECK(db.first("SELECT asof_join('r', NULL, 't', NULL, 9223372036854775807)") == "1");
}

TEST_CASE("the seed's as-of: duplicate times, strictly before, inclusive tolerance") {
  Host db;
  db.run(
      "CREATE TABLE l(t); INSERT INTO l VALUES(0.030), (0.030); CREATE TABLE r(t); INSERT INTO r VALUES(0.0), (0.030)");
  CHECK(db.run("SELECT right_rowid FROM asof_join('l', 'r', NULL, 't', 0.010)") == Rows{"NULL", "NULL"});
  CHECK(db.run("SELECT right_rowid FROM asof_join('l', 'r', NULL, 't', 0.030)") == Rows{"1", "1"});
}

TEST_CASE("a row whose payload is NULL still wins") {
  Host db;
  db.run(
      "CREATE TABLE r(k, t, v); INSERT INTO r VALUES('a', 1, 42), ('a', 2, NULL); CREATE TABLE l(k, t);"
      "INSERT INTO l VALUES('a', 3)");
  CHECK(db.run("SELECT right_rowid, c1 FROM asof_join('l', 'r', 'k', 't', NULL, '<', '[\"v\"]')") == Rows{"2|NULL"});
}

TEST_CASE("infinite times order like numbers") {
  Host db;
  db.run("CREATE TABLE r(t); INSERT INTO r VALUES(9e999), (5), (-9e999)");
  CHECK(db.first("SELECT asof_join('r', NULL, 't', NULL, 6)") == "2");
  CHECK(db.first("SELECT asof_join('r', NULL, 't', NULL, 6, 100, '>')") == "NULL");
  CHECK(db.first("SELECT asof_join('r', NULL, 't', NULL, 6, NULL, '>')") == "1");
  CHECK(db.first("SELECT asof_join('r', NULL, 't', NULL, 0, NULL, 'nearest')") == "2");
}

TEST_CASE("sources may be qualified, quoted, temporary or attached") {
  Host db;
  db.run(
      "CREATE TABLE \"odd \"\" name.x\"(k, \"a time\"); INSERT INTO \"odd \"\" name.x\" VALUES(1, 10);"
      "ATTACH ':memory:' AS other; CREATE TABLE other.r(k, t); INSERT INTO other.r VALUES(1, 1), (1, 2);"
      "CREATE TABLE r(k, t); INSERT INTO r VALUES(1, 1);"
      "CREATE TEMP TABLE x(k, t); INSERT INTO temp.x VALUES(1, 1), (1, 2), (1, 3)");
  CHECK(db.first("SELECT asof_join('\"odd \"\" name.x\"', 'k', 'a time', 1, 11)") == "1");
  CHECK(db.first("SELECT asof_join('main.[odd \" name.x]', 'K', 'A TIME', 1, 11)") == "1");
  CHECK(db.first("SELECT asof_join('r', 'k', 't', 1, 11)") == "1");
  CHECK(db.first("SELECT asof_join('MAIN.r', 'k', 't', 1, 11)") == "1");
  CHECK(db.first("SELECT asof_join('other.r', 'k', 't', 1, 11)") == "2");
  CHECK(db.first("SELECT asof_join('temp.x', 'k', 't', 1, 11)") == "3");
  CHECK(db.first("SELECT asof_join('`x`', 'k', 't', 1, 11)") == "3");
}

TEST_CASE("a view with a column named rowid is a source") {
  Host db;
  db.run(
      "CREATE TABLE r(k, t, ok); INSERT INTO r VALUES(1, 1, 1), (1, 2, 0), (1, 3, 1);"
      "CREATE VIEW good AS SELECT rowid, k, t FROM r WHERE ok; CREATE VIEW bare AS SELECT k, t FROM r");
  CHECK(db.first("SELECT asof_join('good', 'k', 't', 1, 3)") == "1");
  CHECK(db.error("SELECT asof_join('bare', 'k', 't', 1, 3)") ==
        "asof_join: view bare has no column named rowid: its rows cannot be told apart");
}

TEST_CASE("every misuse is an error that names what is wrong") {
  Host db;
  db.run(
      "CREATE TABLE r(k, t, d); INSERT INTO r VALUES(1, 1, '2026-01-01'); CREATE TABLE w(k PRIMARY KEY, t) WITHOUT "
      "ROWID;"
      "CREATE VIRTUAL TABLE s USING fts5(t)");
  const auto error = [&](const std::string& arguments) { return db.error("SELECT asof_join(" + arguments + ")"); };
  CHECK(error("'q', 'k', 't', 1, 1") == "asof_join: no table or view q; only those are read");
  CHECK(error("'zz.r', 'k', 't', 1, 1") == "asof_join: no table or view zz.r; only those are read");
  CHECK(error("'r', 'kk', 't', 1, 1") == "asof_join: no column kk in r, which has k, t, d");
  CHECK(error("'r', 'k', 'tt', 1, 1") == "asof_join: no column tt in r, which has k, t, d");
  CHECK(error("'w', 'k', 't', 1, 1") == "asof_join: w is WITHOUT ROWID: its rows have no rowid to return");
  CHECK(error("'s', NULL, 't', 1, 1") == "asof_join: 's' is a virtual table; only ordinary tables and views are read");
  CHECK(error("'r', 'k', 'd', 1, 1") ==
        "asof_join: r.d must be an INTEGER or REAL time, got '2026-01-01': CAST(t AS NUMERIC) makes a number of a "
        "numeric "
        "text t, unixepoch(t) + (strftime('%f', t) - strftime('%S', t)) of a date");
  CHECK_THAT(error("'r', 'k', 't', 1, '2026-01-01'"),
             Catch::StartsWith("asof_join: at must be an INTEGER or REAL time"));
  CHECK(error("'r', 'k', 't', 1, 1, -0.5") ==
        "asof_join: tolerance must be a number of 0 or more, or NULL for no limit, got -0.5");
  CHECK(error("'r', 'k', 't', 1, 1, 1, '=='") ==
        "asof_join: match must be '<', '<=', '>', '>=' or 'nearest', got '=='");
  CHECK(error("'r', 'k', 't', 1, 1, 1, NULL") ==
        "asof_join: match must be '<', '<=', '>', '>=' or 'nearest', got NULL");
  CHECK(error("NULL, 'k', 't', 1, 1") == "asof_join: source must be a name, got NULL");
  CHECK(error("'r', 'k', NULL, 1, 1") == "asof_join: time must be a name, got NULL");
  CHECK(error("'\"r', 'k', 't', 1, 1") == "asof_join: '\"r' is not the name of a table");
  CHECK(error("'r; DROP TABLE r', 'k', 't', 1, 1") ==
        "asof_join: no table or view r; DROP TABLE r; only those are read");
}

TEST_CASE("no NULL and no row hides what is wrong with an argument") {
  Host db;
  db.run("CREATE TABLE r(k, t); CREATE TABLE odd(t); INSERT INTO odd VALUES('soon')");
  const char* const wrong[] = {"'nosuch', 'k', 't', %, NULL, '<'", "'r', 'nosuch', 't', %, NULL, '<'",
                               "'r', 'k', 'nosuch', %, NULL, '<'", "NULL, 'k', 't', %, NULL, '<'",
                               "'r', 1, 't', %, NULL, '<'",        "'r', 'k', 't', %, -1, '<'",
                               "'r', 'k', 't', %, 'x', '<'",       "'r', 'k', 't', %, NULL, 'x'"};
  for (std::string arguments : wrong) {
    for (const char* data : {"1, 1", "NULL, NULL", "NULL, 1", "1, NULL"}) {
      std::string call = "SELECT asof_join(" + arguments + ")";
      call.replace(call.find('%'), 1, data);
      INFO(call);
      CHECK_THAT(db.error(call), Catch::StartsWith("asof_join: "));
    }
  }
  CHECK_THAT(db.error("SELECT asof_join('r', 'k', 't', NULL, 'soon')"), Catch::StartsWith("asof_join: at must be"));
  CHECK(db.error("SELECT * FROM asof_join('nosuch', 'odd', NULL, 't')") ==
        "asof_join: no table or view nosuch; only those are read");
  CHECK(db.error("SELECT * FROM asof_join('odd', 'nosuch', NULL, 't')") ==
        "asof_join: no table or view nosuch; only those are read");
  CHECK(db.error("SELECT * FROM asof_join('odd', 'odd', NULL, 'd=t')") == "asof_join: no column d in odd, which has t");
}

TEST_CASE("a time that is no number concerns those alone who ask for its key") {
  Host db;
  db.run(
      "CREATE TABLE r(k, t); INSERT INTO r VALUES('a', 1), ('b', 1), ('b', '1'), (NULL, 'x'), ('c', x'00'), ('c', "
      "NULL);"
      "CREATE TABLE l(k, t); INSERT INTO l VALUES('a', 2), (NULL, 2), ('d', 2), ('b', NULL)");
  for (const char* index : {"SELECT 1", "CREATE INDEX i ON r(k, t)"}) {
    db.run(index);
    CHECK(db.run("SELECT asof_join('r', 'k', 't', k, t) FROM l") == Rows{"1", "NULL", "NULL", "NULL"});
    CHECK(db.run("SELECT right_rowid FROM asof_join('l', 'r', 'k', 't')") == Rows{"1", "NULL", "NULL", "NULL"});
    for (const char* key : {"'b'", "'c'"}) {
      const std::string call = std::string("SELECT asof_join('r', 'k', 't', ") + key + ", 2)";
      CHECK_THAT(db.error(call), Catch::StartsWith("asof_join: r.t must be an INTEGER or REAL time, got "));
      CHECK(db.error(call + " FROM (SELECT 1 UNION ALL SELECT 2 FROM r, r AS x, r AS y)") == db.error(call));
      CHECK(db.error(std::string("SELECT * FROM asof_join('m', 'r', 'k', 't')")) != "");
    }
    CHECK_THAT(db.error("SELECT asof_join('r', NULL, 't', NULL, 2)"), Catch::Contains("got '1'"));
    db.run("DROP TABLE IF EXISTS m; CREATE TABLE m AS SELECT 'b' AS k, 9 AS t");
    CHECK_THAT(db.error("SELECT * FROM asof_join('m', 'r', 'k', 't')"), Catch::Contains("r.t must be"));
  }
  CHECK_THAT(db.error("SELECT * FROM asof_join('r', 'l', 'k', 't')"), Catch::Contains("r.t must be"));
}

TEST_CASE("the message for a text time shows how to lose nothing of it") {
  Host db;
  db.run("CREATE TABLE r(t); INSERT INTO r VALUES('2026-01-02 03:04:05.250'), ('1700000000000000001'), ('12.5')");
  const std::string message = db.error("SELECT asof_join('r', NULL, 't', NULL, 2)");
  const auto between = [&](const std::string& from, const std::string& to) {
    const std::size_t begin = message.find(from) + from.size();
    return message.substr(begin, message.find(to, begin) - begin);
  };
  const std::string numeric = between("': ", " makes");
  const std::string date = between("numeric text t, ", " of a date");
  CHECK(db.run("SELECT " + numeric + " FROM r WHERE rowid > 1") == Rows{"1700000000000000001", "12.5"});
  CHECK(db.first("SELECT abs(" + date + " - 1767323045.25) < 1e-6 FROM r") == "1");
}

TEST_CASE("a table named like one of SQLite's own is no obstacle") {
  Host db;
  db.run(
      "CREATE TABLE r(t); INSERT INTO r VALUES(1); CREATE TABLE pragma_table_xinfo(x); CREATE VIEW pragma_table_info "
      "AS "
      "SELECT 1 AS x; CREATE TABLE pragma_table_list(x); CREATE TABLE pragma_database_list(x); CREATE TABLE "
      "json_each(x);"
      "CREATE TEMP TABLE pragma_table_xinfo(name); INSERT INTO temp.pragma_table_xinfo VALUES('nothing');"
      "CREATE TABLE pragma_function_list(x); CREATE TABLE pragma_module_list(x)");
  CHECK(db.first("SELECT asof_join('r', NULL, 't', NULL, 2)") == "1");
  CHECK(db.first("SELECT c1 FROM asof_join('r', 'r', NULL, 't', NULL, '<=', '[\"t\"]')") == "1");
  db.run("INSERT INTO json_each VALUES(1)");
  CHECK(db.first("SELECT asof_join('json_each', NULL, 'x', NULL, 2)") == "1");
}

TEST_CASE("misuse of the table form names the argument") {
  Host db;
  db.run("CREATE TABLE r(k, t)");
  const auto error = [&](const std::string& rest) { return db.error("SELECT * FROM asof_join" + rest); };
  CHECK_THAT(error(""), Catch::Contains("asof_join: left_source is missing"));
  CHECK_THAT(error("('r', 'r')"), Catch::Contains("asof_join: time is missing"));
  CHECK_THAT(error(" WHERE left_source = 'r' AND right_source = 'r' AND time = 't'"), Catch::Contains("by is missing"));
  CHECK(error("('r', 'q', 'k', 't')") == "asof_join: no table or view q; only those are read");
  CHECK(error("('r', 'r', 'k=z', 't')") == "asof_join: no column z in r, which has k, t");
  CHECK(error("('r', 'r', 'k', 't', 1, '<', '[\"z\"]')") == "asof_join: no column z in r, which has k, t");
  CHECK(error("('r', 'r', 'k', 't', 1, '<', '[1]')") ==
        "asof_join: columns must be a JSON array of up to 8 column names, got '[1]'");
  CHECK_THAT(error("('r', 'r', 'k', 't', 1, '<', '[\"k\",\"k\",\"k\",\"k\",\"k\",\"k\",\"k\",\"k\",\"k\"]')"),
             Catch::Contains("up to 8"));
}

TEST_CASE("joins, ORs and second references get the rows that one scan gets") {
  Host db;
  db.run("CREATE TABLE l(t); INSERT INTO l VALUES(1), (2), (3); CREATE TABLE r(t); INSERT INTO r VALUES(0), (2)");
  const std::string join = "asof_join('l', 'r', NULL, 't')";
  CHECK(db.first("SELECT count(*) FROM " + join + " WHERE right_rowid = 1 OR right_rowid = 2") == "3");
  CHECK(db.first("SELECT count(*) FROM l LEFT JOIN " + join + " AS a ON a.left_rowid = l.rowid WHERE a.gap > 0") ==
        "3");
  if (sqlite3_libversion_number() >= 3039000) {
    CHECK(db.first("SELECT count(*) FROM " + join + " AS a FULL JOIN " + join +
                   " AS b ON a.left_rowid = b.left_rowid") == "3");
  }
  CHECK(db.first("SELECT count(*) FROM " + join + " WHERE match = '<='") == "3");
  CHECK(db.first("SELECT count(*) FROM asof_join('l', 'r', NULL, 't', NULL, '<') WHERE match = '<'") == "3");
  CHECK(db.first("SELECT count(*) FROM asof_join('l', 'r', NULL, 't', NULL, '<') WHERE match = '>'") == "0");
  CHECK(db.first("SELECT count(*) FROM " + join + " WHERE gap < 0") == "0");
  CHECK(db.first("SELECT count(DISTINCT rowid) FROM (SELECT rowid FROM " + join + " UNION ALL SELECT rowid FROM " +
                 join + ")") == "3");
}

TEST_CASE("a TEMP view or trigger may align what SQL could read, a stored one nothing") {
  Host db;
  db.run(
      "CREATE TABLE l(t); INSERT INTO l VALUES(9); CREATE TABLE r(t); INSERT INTO r VALUES(1);"
      "CREATE VIEW v AS SELECT asof_join('r', NULL, 't', NULL, 2) AS a;"
      "CREATE VIEW w AS SELECT right_rowid FROM asof_join('l', 'r', NULL, 't');"
      "CREATE TEMP VIEW tv AS SELECT asof_join('r', NULL, 't', NULL, 2) AS a;"
      "CREATE TEMP VIEW tw AS SELECT right_rowid FROM asof_join('l', 'r', NULL, 't');"
      "CREATE TEMP VIEW over AS SELECT * FROM v;"
      "CREATE TEMP TABLE seen(a);"
      "CREATE TEMP TRIGGER look AFTER INSERT ON l BEGIN INSERT INTO seen SELECT a FROM tv; END;"
      "CREATE VIEW hidden AS SELECT 1 AS rowid, 1 AS t FROM rpcroute_reference;"
      "CREATE VIEW deeper AS SELECT rowid, t FROM hidden WHERE t IN (SELECT t FROM hidden)");
  for (const char* trusted : {"ON", "OFF"}) {
    db.run(std::string("PRAGMA trusted_schema = ") + trusted);
    CHECK(db.error("SELECT * FROM v") == "unsafe use of asof_join()");
    CHECK(db.error("SELECT * FROM w") == "unsafe use of virtual table \"asof_join\"");
    CHECK(db.error("SELECT * FROM over") == "unsafe use of asof_join()");
    CHECK(db.first("SELECT * FROM tv") == "1");
    CHECK(db.first("SELECT * FROM tw") == "1");
    db.run("DELETE FROM seen; INSERT INTO l VALUES(10)");
    CHECK(db.first("SELECT * FROM seen") == "1");
    CHECK(db.error("SELECT asof_join('deeper', NULL, 't', NULL, 2)") ==
          "asof_join: view deeper reads a virtual table; only ordinary tables and views over them are read");
    CHECK(db.error("SELECT asof_join('rpcroute_reference', NULL, 'name', NULL, 2)") ==
          "asof_join: no table or view rpcroute_reference; only those are read");
  }
}

TEST_CASE("whatever a definition writes around a call of asof_join, it is seen, and nothing else is") {
  // Written past SQLite's own checks: newer ones refuse to make such a table, or to read one.
  const auto stored = [](std::string check) {
    Host db;
    for (std::size_t i = 0; (i = check.find('\'', i)) != std::string::npos; i += 2) check.insert(i, "'");
    db.run(
        "CREATE TABLE r(t); INSERT INTO r VALUES(1); CREATE TABLE k(x); PRAGMA writable_schema = ON;"
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE k(x, CHECK(" +
        check + "))' WHERE name = 'k'");
    return db.error("SELECT asof_join('r', NULL, 't', NULL, 9) FROM r");
  };
  const std::string arguments = "('r', NULL, 't', NULL, 9) IS NULL";
  for (const std::string call :
       {"asof_join", "ASOF_Join", "\"asof_join\"", "`asof_join`", "[asof_join]", "asof_join /* a ( */",
        "asof_join -- (\n", "'it''s' IS NULL OR asof_join", "\"\" IS NULL OR asof_join", "x'27' IS NULL OR asof_join",
        "x IS NULL --'\n OR asof_join", "x IS NULL /*'*/ OR asof_join", "0 OR(asof_join"}) {
    INFO(call);
    const bool open = call.find("OR(") != std::string::npos;
    CHECK_THAT(stored(call + arguments + (open ? ")" : "")),
               Catch::StartsWith("asof_join: the definition of k in main calls it"));
  }
  Host db;
  db.run(
      "CREATE TABLE r(t /* what asof_join(r, …) reads */, asof_join, \"asof_join()\" DEFAULT 'asof_join()', "
      "CHECK(asof_join IS NOT 'asof_join(' -- asof_join()\n)); INSERT INTO r(t) VALUES(1);"
      "CREATE VIEW unused AS SELECT asof_join('r', NULL, 't', NULL, 9)");
  CHECK(db.first("SELECT asof_join('r', NULL, 't', NULL, 9) FROM r") == "1");
}

TEST_CASE("a stored call of asof_join is refused where its database is used, and there alone") {
  Host db;
  db.run(
      "CREATE TABLE r(t); INSERT INTO r VALUES(1); CREATE TEMP TABLE mine(x, CHECK(asof_join('r', NULL, 't', NULL, "
      "x)));"
      "ATTACH ':memory:' AS other; CREATE TABLE other.k(x); PRAGMA writable_schema = ON; UPDATE other.sqlite_schema "
      "SET sql = 'CREATE TABLE k(x, CHECK(asof_join(1, NULL, 2, NULL, x)))';"
      "CREATE TABLE other.plain(x); INSERT INTO other.plain VALUES(1)");
  CHECK(db.first("SELECT asof_join('r', NULL, 't', NULL, 9) FROM r") == "1");
  CHECK(db.error("INSERT INTO mine VALUES(9)") == "");
  const std::string refusal =
      "asof_join: the definition of k in other calls it, which only statements, TEMP views and "
      "TEMP triggers may: refused to all that use other";
  CHECK(db.error("SELECT asof_join('r', NULL, 't', NULL, x) FROM other.plain") == refusal);
  CHECK(db.error("DROP TABLE other.k; SELECT asof_join('r', NULL, 't', NULL, x) FROM other.plain") == "");
}

TEST_CASE("nothing stays open behind an asof_join") {
  Host db;
  db.run(
      "ATTACH ':memory:' AS other; CREATE TABLE other.r(k, t); INSERT INTO other.r VALUES(1, 1);"
      "CREATE TABLE l(t); INSERT INTO l VALUES(9)");
  CHECK(db.first("SELECT asof_join('other.r', 'k', 't', 1, 2)") == "1");
  CHECK(db.first("SELECT right_rowid FROM asof_join('l', 'other.r', NULL, 't')") == "1");
  CHECK(db.error("VACUUM; DETACH other; DROP TABLE l") == "");
  CHECK(sqlite3_next_stmt(db.db(), nullptr) == nullptr);
}

TEST_CASE("each execution sees the source anew") {
  Host db;
  db.run("CREATE TABLE r(t); INSERT INTO r VALUES(1)");
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(db.db(), "SELECT asof_join('r', NULL, 't', NULL, 10)", -1, &statement, nullptr);
  REQUIRE(sqlite3_step(statement) == SQLITE_ROW);
  CHECK(sqlite3_column_int64(statement, 0) == 1);
  sqlite3_reset(statement);
  db.run("INSERT INTO r VALUES(2)");
  REQUIRE(sqlite3_step(statement) == SQLITE_ROW);
  CHECK(sqlite3_column_int64(statement, 0) == 2);
  sqlite3_finalize(statement);
}

TEST_CASE("a table aligned with itself can be filled from the alignment") {
  Host db;
  db.run(
      "CREATE TABLE l(t); INSERT INTO l VALUES(1), (2); INSERT INTO l SELECT gap + 10 FROM asof_join('l', 'l', NULL, "
      "'t', NULL, '<=')");
  CHECK(db.first("SELECT count(*) FROM l") == "4");
}

TEST_CASE("each firing of a TEMP trigger sees what is there then") {
  Host db;
  db.run(
      "CREATE TABLE r(k, t); CREATE TABLE seen(scalar, aligned, inner);"
      "CREATE TEMP TRIGGER look AFTER INSERT ON r BEGIN INSERT INTO seen VALUES("
      "asof_join('r', 'k', 't', NEW.k, 99), (SELECT max(right_rowid) FROM asof_join('r', 'r', 'k', 't', NULL, '<=')),"
      "(SELECT count(*) FROM r AS x WHERE asof_join('r', 'k', 't', x.k, 99) IS NOT NULL)); END");
  for (const char* index : {"SELECT 1", "CREATE INDEX i ON r(k, t)"}) {
    db.run(
        std::string(index) +
        "; DELETE FROM r; DELETE FROM seen;"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 4) INSERT INTO r SELECT 'a', i FROM n");
    CHECK(db.run("SELECT * FROM seen") == Rows{"1|1|1", "2|2|2", "3|3|3", "4|4|4"});
  }
}

TEST_CASE("a TEMP view that reads itself through asof_join is an error, one over another is not") {
  Host db;
  db.run(
      "CREATE TABLE r(t); INSERT INTO r VALUES(1), (2);"
      "CREATE TEMP VIEW once AS SELECT rowid, t + 0 * asof_join('r', NULL, 't', NULL, 9) AS t FROM r;"
      "CREATE TEMP VIEW twice AS SELECT rowid, t + 0 * asof_join('once', NULL, 't', NULL, 9) AS t FROM once;"
      "CREATE TEMP VIEW itself AS SELECT rowid, asof_join('itself', NULL, 't', NULL, 9) AS t FROM r;"
      "CREATE TEMP VIEW circle AS SELECT left_rowid AS rowid, gap AS t FROM asof_join('circle', 'r', NULL, 't')");
  CHECK(db.first("SELECT asof_join('twice', NULL, 't', NULL, 9)") == "2");
  CHECK_THAT(db.error("SELECT asof_join('itself', NULL, 't', NULL, 9)"), Catch::Contains("a source reads itself"));
  CHECK(db.error("SELECT asof_join('circle', NULL, 't', NULL, 9)") != "");
  CHECK(db.first("SELECT asof_join('twice', NULL, 't', NULL, 9)") == "2");
}

TEST_CASE("an interrupt ends the reading of a long history") {
  Host db;
  db.run(
      "CREATE TABLE one(x); INSERT INTO one VALUES(1);"
      "CREATE VIEW endless AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
      "SELECT i AS rowid, i AS t FROM n");
  struct Timer {
    sqlite3* handle;
    int ticks = 0;
  } timer{db.db()};
  const auto tick = [](void* data) {
    auto& running = *static_cast<Timer*>(data);
    if (++running.ticks == 50) sqlite3_interrupt(running.handle);
    return 0;
  };
  sqlite3_progress_handler(db.db(), 1000, tick, &timer);
  CHECK(db.error("SELECT asof_join('endless', NULL, 't', NULL, 2)") == "interrupted");
  timer.ticks = 0;
  CHECK(db.error("SELECT * FROM asof_join('endless', 'endless', NULL, 't')") == "interrupted");
  sqlite3_progress_handler(db.db(), 0, nullptr, nullptr);
  CHECK(db.first("SELECT 1") == "1");
}
