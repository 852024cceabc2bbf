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
             "CREATE TABLE t (p); INSERT INTO t VALUES ('a'), ('b'), (NULL);");
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
      {"SELECT count(*) FROM rpc_probe WHERE provider_id IS NULL", "0", 2},
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
      {"SELECT count(*) FROM rpc_probe WHERE samples IN (1, 2)", "6", 6},
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
