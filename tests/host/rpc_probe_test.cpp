// What SQLite does with rpc_probe: plans, executions, locks, interrupts, strangers.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "counting_server.hpp"
#include "host.hpp"

using rpcroute::test::CountingServer;
using rpcroute::test::Host;
using rpcroute::test::Rows;

namespace {

std::string slurp(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) throw std::runtime_error("cannot open " + path);
  std::string text;
  char chunk[4096];
  for (std::size_t n; (n = std::fread(chunk, 1, sizeof chunk, file)) > 0;) text.append(chunk, n);
  std::fclose(file);
  return text;
}

/// Providers a and b on a chain, each behind a server of its own.
struct Fleet {
  CountingServer a;
  CountingServer b;
  Host host;

  Fleet() {
    host.run(slurp(RPCROUTE_SOURCE_DIR "/sql/schema.sql"));
    host.run("INSERT INTO rpc_providers (provider_id, chain, url) VALUES ('a', 'devnet', '" + a.url() +
             "'), ('b', 'devnet', '" + b.url() +
             "');"
             "CREATE TABLE t (p); INSERT INTO t VALUES ('a'), ('b'), (NULL);"
             "CREATE TABLE n (p COLLATE NOCASE); INSERT INTO n VALUES ('A'), ('B'), ('nobody');"
             "CREATE TABLE m (m, method AS (m)); INSERT INTO m VALUES ('eth_chainId'), ('eth_gasPrice');");
  }
  int requests() const { return a.requests() + b.requests(); }
};

}  // namespace

TEST_CASE("each provider is asked once per execution, whatever the plan") {
  struct Shape {
    const char* sql;
    const char* rows;  // what the query returns, as one number
    int requests;
  };
  const auto shape = GENERATE(values<Shape>({
      {"SELECT count(*) FROM rpc_probe", "2", 2},
      {"SELECT count(*) FROM rpc_probe WHERE provider_id = 'a'", "1", 1},
      {"SELECT count(*) FROM rpc_probe WHERE provider_id IN ('a', 'b', 'a')", "2", 2},
      {"SELECT count(*) FROM rpc_probe WHERE provider_id = 'a' OR provider_id = 'b'", "2", 2},
      {"SELECT count(*) FROM rpc_probe WHERE provider_id = 'a' OR latency_ms < 0", "1", 2},
      {"SELECT count(*) FROM rpc_probe WHERE provider_id IN (SELECT p FROM t)", "2", 2},
      {"SELECT count(*) FROM rpc_probe WHERE provider_id NOT IN ('a')", "1", 2},
      {"SELECT count(*) FROM rpc_probe WHERE provider_id IN ()", "0", 0},
      {"SELECT count(*) FROM rpc_probe WHERE provider_id = NULL", "0", 0},
      {"SELECT count(*) FROM rpc_probe WHERE provider_id IS NULL", "0", 0},
      {"SELECT count(*) FROM rpc_probe WHERE provider_id IS NOT NULL AND provider_id IS 'a'", "1", 1},
      {"SELECT count(*) FROM rpc_probe WHERE provider_id = x'61'", "0", 0},
      {"SELECT count(*) FROM rpc_probe WHERE provider_id = 'a' AND provider_id = 'b'", "0", 0},
      {"SELECT count(*) FROM rpc_probe WHERE samples = 1 AND samples = 2", "0", 0},
      {"SELECT count(*) FROM rpc_probe('[]', 'parallel') WHERE mode = 'sequential'", "0", 0},
      {"SELECT count(*) FROM rpc_probe WHERE provider_id = 'A' COLLATE NOCASE", "1", 1},
      {"SELECT count(*) FROM rpc_probe WHERE provider_id COLLATE RTRIM IN ('A', 'b ')", "1", 1},
      {"SELECT count(*) FROM rpc_probe WHERE method = 'ETH_CHAINID' COLLATE NOCASE", "2", 2},
      {"SELECT count(*) FROM rpc_probe WHERE method > 'eth' AND method NOT LIKE '%gas%'", "2", 2},
      {"SELECT count(*) FROM n JOIN rpc_probe r ON n.p = r.provider_id", "2", 2},
      {"SELECT count(*) FROM n LEFT JOIN rpc_probe r ON n.p = r.provider_id", "3", 2},
      {"SELECT count(*) FROM n CROSS JOIN rpc_probe r ON n.p = r.provider_id", "2", 2},
      {"SELECT count(*) FROM m JOIN rpc_probe r ON r.method = m.m", "4", 4},
      {"SELECT count(*) FROM m LEFT JOIN rpc_probe r ON r.method = m.m AND r.provider_id = 'a'", "2", 2},
      {"SELECT count(*) FROM rpc_probe r JOIN m USING (method)", "4", 4},
      {"SELECT count(*) FROM rpc_probe WHERE (provider_id, method) IN (SELECT 'a', m FROM m)", "2", 2},
      {"SELECT count(*) FROM rpc_probe WHERE (method = 'eth_chainId' AND provider_id = 'a') OR (method = "
       "'eth_gasPrice' AND provider_id = 'b')",
       "2", 2},
      {"SELECT count(DISTINCT method) FROM rpc_probe", "1", 2},
      {"SELECT count(*) FROM (SELECT method, count(*) FROM rpc_probe GROUP BY method ORDER BY method)", "1", 2},
      {"SELECT count(*) FROM rpc_probe WHERE provider_id = 'nobody'", "0", 0},
      {"SELECT count(*) FROM rpc_probe x, rpc_probe y", "4", 2},
      {"SELECT count(*) FROM rpc_probe x JOIN rpc_probe y USING (provider_id)", "2", 2},
      {"SELECT count(*) FROM t LEFT JOIN rpc_probe r ON r.provider_id = t.p", "3", 2},
      {"SELECT count(*) FROM t JOIN rpc_probe r ON r.provider_id = t.p", "2", 2},
      {"SELECT count(*) FROM t CROSS JOIN rpc_probe", "6", 2},
      {"SELECT count(*) FROM t LEFT JOIN rpc_probe r ON r.error IS NULL", "6", 2},
      {"SELECT count(*) FROM rpc_probe x FULL JOIN rpc_probe y ON x.provider_id = y.provider_id", "2", 2},
      {"SELECT sum((SELECT count(*) FROM rpc_probe r WHERE r.provider_id = t.p)) FROM t", "2", 2},
      {"SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM rpc_probe r WHERE r.provider_id = t.p AND r.ok)", "2", 2},
      {"WITH p AS (SELECT * FROM rpc_probe) SELECT count(*) FROM p x, p y", "4", 2},
      {"SELECT count(*) FROM (SELECT provider_id FROM rpc_probe UNION ALL SELECT provider_id FROM rpc_probe)", "4", 2},
      {"SELECT count(*) FROM (SELECT provider_id FROM rpc_probe EXCEPT SELECT provider_id FROM rpc_probe)", "0", 2},
      {"WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + (SELECT count(*) FROM rpc_probe) FROM c WHERE n < 9) "
       "SELECT count(*) FROM c",
       "5", 2},
      {"SELECT count(*) FROM rpc_probe WHERE (provider_id = 'a' AND samples = 2) OR (provider_id = 'b' AND samples = "
       "3)",
       "5", 5},
      {"SELECT count(*) FROM rpc_probe WHERE latency_ms < 0", "0", 2},
      {"SELECT count(*) FROM (SELECT * FROM rpc_probe WHERE block_number < 0 LIMIT 1)", "0", 2},
      {"SELECT count(*) FROM rpc_probe WHERE provider_id IN ('a', 'b') AND method IN ('eth_blockNumber', "
       "'eth_chainId')",
       "4", 4},
      {"SELECT count(*) FROM rpc_probe WHERE error = 'x' OR error IS NULL OR error = 'y'", "2", 2},
      {"SELECT count(*) FROM t, rpc_probe r WHERE t.p = 'nope' AND r.provider_id = t.p", "0", 2},
      {"SELECT count(*) FROM rpc_probe x LEFT JOIN rpc_probe y ON x.block_number = y.block_number + 1 "
       "WHERE y.provider_id IS NULL",
       "2", 2},
  }));
  Fleet fleet;
  INFO(shape.sql);
  CHECK(fleet.host.run(shape.sql) == Rows{shape.rows});
  CHECK(fleet.requests() == shape.requests);
}

TEST_CASE("what cannot act before anybody is asked is an error, and nobody is asked") {
  Fleet fleet;
  const auto wrong = GENERATE(values<std::pair<const char*, const char*>>({
      {"SELECT * FROM rpc_probe WHERE samples > 1", "samples is an argument"},
      {"SELECT * FROM rpc_probe WHERE samples IN (1, 2)", "samples is an argument"},
      {"SELECT * FROM rpc_probe WHERE samples IS NULL", "samples is an argument"},
      {"SELECT * FROM rpc_probe WHERE samples BETWEEN 1 AND 2", "samples is an argument"},
      {"SELECT * FROM rpc_probe WHERE samples + 0 = 2", "samples is an argument"},
      {"SELECT samples FROM rpc_probe", "samples is an argument"},
      {"SELECT * FROM rpc_probe WHERE mode LIKE 'para%'", "mode is an argument"},
      {"SELECT * FROM rpc_probe r CROSS JOIN t ON r.mode = t.p", "mode is an argument"},
      {"SELECT * FROM rpc_probe WHERE upper(method) = 'ETH_CHAINID'", "method is compared"},
      {"SELECT * FROM rpc_probe r CROSS JOIN m ON r.method = m.m", "method is compared"},
      {"SELECT * FROM rpc_probe WHERE (provider_id, method) IN (VALUES ('a', 'eth_chainId'), ('b', upper('x')))",
       "method"},
      {"SELECT * FROM rpc_probe x JOIN rpc_probe y USING (method)", "method decides what is asked"},
  }));
  INFO(wrong.first);
  CHECK(fleet.host.error(wrong.first).find(std::string("rpc_probe: ") + wrong.second) == 0);
  CHECK(fleet.requests() == 0);
}

TEST_CASE("a statement that names a method in one branch of an OR only is refused") {
  Fleet fleet;
  for (const char* other : {"provider_id = 'a'", "ok = 1", "ok + 0 = 1"}) {
    const std::string sql = std::string("SELECT * FROM rpc_probe WHERE method = 'eth_chainId' OR ") + other;
    CHECK(fleet.host.error(sql).find("rpc_probe: method is compared") == 0);
  }
}

TEST_CASE("an execution has its own rows while another statement holds a cursor that was never scanned") {
  Fleet fleet;
  sqlite3_stmt* holder = nullptr;
  REQUIRE(sqlite3_prepare_v2(fleet.host.db(),
                             "SELECT 1 UNION ALL SELECT samples FROM (SELECT count(*) AS samples FROM "
                             "t LEFT JOIN rpc_probe r ON r.provider_id = 'nobody' WHERE t.p IS NULL)",
                             -1, &holder, nullptr) == SQLITE_OK);
  sqlite3_stmt* other = nullptr;
  REQUIRE(sqlite3_prepare_v2(fleet.host.db(), "SELECT 1 FROM t LEFT JOIN rpc_probe ON t.p = 'z' AND error = t.p", -1,
                             &other, nullptr) == SQLITE_OK);
  REQUIRE(sqlite3_step(holder) == SQLITE_ROW);
  REQUIRE(sqlite3_step(other) == SQLITE_ROW);
  const int before = fleet.requests();
  sqlite3_stmt* statement = nullptr;
  REQUIRE(sqlite3_prepare_v2(fleet.host.db(), "SELECT count(*) FROM rpc_probe x, rpc_probe y", -1, &statement,
                             nullptr) == SQLITE_OK);
  for (int execution = 1; execution <= 4; ++execution) {
    if (execution == 3) fleet.host.run("CREATE TABLE another (x)");  // SQLite prepares it anew
    REQUIRE(sqlite3_step(statement) == SQLITE_ROW);
    sqlite3_reset(statement);
    CHECK(fleet.requests() - before == 2 * execution);
  }
  for (sqlite3_stmt* each : {holder, other, statement}) sqlite3_finalize(each);
}

namespace {

/// A host's function that runs a statement of its own and gives its first value.
void run_inside(sqlite3_context* context, int, sqlite3_value**) {
  auto* statement = static_cast<sqlite3_stmt*>(sqlite3_user_data(context));
  if (sqlite3_step(statement) == SQLITE_ROW) sqlite3_result_int(context, sqlite3_column_int(statement, 0));
  sqlite3_reset(statement);
}

}  // namespace

TEST_CASE("a statement that a host's function runs inside another is an execution of its own each time") {
  Fleet fleet;
  sqlite3_stmt* polls = nullptr;
  REQUIRE(
      sqlite3_prepare_v2(fleet.host.db(),
                         "SELECT count(*) FROM rpc_probe x JOIN rpc_probe y ON x.provider_id = "
                         "y.provider_id WHERE (SELECT count(*) FROM rpc_probe z WHERE z.provider_id = x.provider_id)",
                         -1, &polls, nullptr) == SQLITE_OK);
  sqlite3_create_function(fleet.host.db(), "polled", 0, SQLITE_UTF8, polls, run_inside, nullptr, nullptr);
  for (int time = 1; time <= 2; ++time) {
    const int before = fleet.requests();
    CHECK(fleet.host.run("SELECT sum(polled()) FROM t, rpc_probe r WHERE r.provider_id = 'a'") == Rows{"6"});
    CHECK(fleet.requests() - before == 1 + 3 * 2);
    fleet.host.run("CREATE TABLE another" + std::to_string(time) + " (x)");  // both are prepared anew
  }
  sqlite3_finalize(polls);
}

TEST_CASE("every execution polls anew, also of one prepared statement") {
  Fleet fleet;
  sqlite3_stmt* statement = nullptr;
  REQUIRE(sqlite3_prepare_v2(fleet.host.db(), "SELECT count(*) FROM rpc_probe", -1, &statement, nullptr) == SQLITE_OK);
  for (int execution = 1; execution <= 3; ++execution) {
    REQUIRE(sqlite3_step(statement) == SQLITE_ROW);
    sqlite3_reset(statement);
    CHECK(fleet.requests() == 2 * execution);
  }
  sqlite3_finalize(statement);
}

TEST_CASE("two statements in progress at once share nothing") {
  Fleet fleet;
  sqlite3_stmt* first = nullptr;
  sqlite3_stmt* second = nullptr;
  REQUIRE(sqlite3_prepare_v2(fleet.host.db(), "SELECT * FROM rpc_probe", -1, &first, nullptr) == SQLITE_OK);
  REQUIRE(sqlite3_prepare_v2(fleet.host.db(), "SELECT * FROM rpc_probe", -1, &second, nullptr) == SQLITE_OK);
  REQUIRE(sqlite3_step(first) == SQLITE_ROW);
  REQUIRE(sqlite3_step(second) == SQLITE_ROW);
  CHECK(fleet.requests() == 4);
  sqlite3_finalize(first);
  sqlite3_finalize(second);
}

TEST_CASE("EXPLAIN and preparing ask nobody") {
  Fleet fleet;
  fleet.host.run("EXPLAIN SELECT * FROM rpc_probe; EXPLAIN QUERY PLAN SELECT * FROM rpc_probe");
  CHECK(fleet.requests() == 0);
}

TEST_CASE("wrong arguments are SQL errors that name function, argument and range") {
  Fleet fleet;
  const auto error = [&](const std::string& where) {
    return fleet.host.error("SELECT * FROM rpc_probe WHERE " + where);
  };
  CHECK(error("timeout_ms = -5") == "rpc_probe: timeout_ms must be 1..600000, got -5");
  CHECK(error("timeout_ms = NULL") == "rpc_probe: timeout_ms must be 1..600000, got NULL");
  CHECK(error("samples = 'x'") == "rpc_probe: samples must be 1..1000, got 'x'");
  CHECK(error("mode = 'both'") == "rpc_probe: mode must be 'parallel' or 'sequential', got 'both'");
  CHECK(error("method = 'eth_sendRawTransaction'") ==
        "rpc_probe: method must be 'ws' or a method that only reads, got 'eth_sendRawTransaction'");
  CHECK_THAT(error("providers = '{'"), Catch::StartsWith("rpc_probe: providers"));
  CHECK_THAT(fleet.host.error("SELECT * FROM rpc_probe(NULL, 'parallel', NULL)"), Catch::Contains("got NULL"));
  CHECK(fleet.requests() == 0);
}

TEST_CASE("without rpc_providers the error names the script, and inline providers need no table") {
  CountingServer server;
  Host host;
  CHECK(host.error("SELECT * FROM rpc_probe") ==
        "rpc_probe: no table rpc_providers in this database: run sql/schema.sql first");
  CHECK(host.run("SELECT provider_id, ok, block_number, error FROM rpc_probe('[{\"provider_id\":\"x\",\"url\":\"" +
                 server.url() + "\"}]')") == Rows{"x|1|16|NULL"});
}

TEST_CASE("what is wrong with one provider is that provider's row") {
  Fleet fleet;
  fleet.host.run(
      "INSERT INTO rpc_providers (provider_id, chain, url) VALUES ('c-file', 'devnet', 'file:///etc/passwd'), "
      "('d-unset', 'devnet', 'http://127.0.0.1/${RPCROUTE_NOT_SET}'), ('e-chain', 'atlantis', 'http://127.0.0.1:1'), "
      "('f-none', 'devnet', NULL), ('g-nul', 'devnet', 'http://127.0.0.1' || char(0) || '@evil')");
  CHECK(fleet.host.run("SELECT provider_id, ok, error_class FROM rpc_probe") ==
        Rows{"a|1|NULL", "b|1|NULL", "c-file|0|config", "d-unset|0|config", "e-chain|0|config", "f-none|0|config",
             "g-nul|0|config"});
  CHECK(fleet.requests() == 2);
}

TEST_CASE("polling through a TEMP virtual table works, one in the file is refused") {
  Fleet fleet;
  CHECK(fleet.host.run("CREATE VIRTUAL TABLE temp.p USING rpc_probe; SELECT count(*) FROM temp.p; "
                       "ALTER TABLE temp.p RENAME TO q; SELECT count(*) FROM temp.q; DROP TABLE temp.q") ==
        Rows{"2", "2"});
  CHECK_THAT(fleet.host.error("CREATE VIRTUAL TABLE main.p USING rpc_probe"), Catch::Contains("TEMP only"));
}

TEST_CASE("a stranger's database reaches nobody through views and triggers") {
  const auto trusted = GENERATE(as<std::string>{}, "ON", "OFF");
  Fleet fleet;
  fleet.host.run("PRAGMA trusted_schema = " + trusted);
  fleet.host.run(
      "CREATE VIEW v AS SELECT * FROM rpc_probe; CREATE TABLE log (x);"
      "CREATE TRIGGER tr AFTER INSERT ON log BEGIN SELECT count(*) FROM rpc_probe; END;");
  CHECK_THAT(fleet.host.error("SELECT * FROM v"), Catch::Contains("unsafe use"));
  CHECK_THAT(fleet.host.error("INSERT INTO log VALUES (1)"), Catch::Contains("unsafe use"));
  CHECK(fleet.requests() == 0);
  CHECK(fleet.host.run("CREATE TEMP VIEW mine AS SELECT count(*) FROM rpc_probe; SELECT * FROM mine") == Rows{"2"});
}

TEST_CASE("sqlite3_interrupt ends a poll") {
  Fleet fleet;
  std::atomic<bool> asked{false};
  std::atomic<bool> release{false};
  fleet.a.before_answer = [&] {
    asked = true;
    while (!release) std::this_thread::yield();
  };
  std::thread interrupter([&] {
    while (!asked) std::this_thread::yield();
    sqlite3_interrupt(fleet.host.db());
  });
  CHECK(fleet.host.error("SELECT * FROM rpc_probe WHERE timeout_ms = 600000") == "interrupted");
  interrupter.join();
  release = true;
  CHECK(fleet.host.run("SELECT count(*) FROM rpc_probe WHERE provider_id = 'b'") == Rows{"1"});
}

TEST_CASE("closing the database in the middle of a scan is clean once the statement is finalized") {
  Fleet fleet;
  sqlite3_stmt* statement = nullptr;
  REQUIRE(sqlite3_prepare_v2(fleet.host.db(), "SELECT * FROM rpc_probe", -1, &statement, nullptr) == SQLITE_OK);
  REQUIRE(sqlite3_step(statement) == SQLITE_ROW);
  CHECK(fleet.host.close() == SQLITE_BUSY);
  sqlite3_finalize(statement);
  CHECK(fleet.host.close() == SQLITE_OK);
}
