// Numbers as hosts of other languages bind them: all of JavaScript's are REAL, all of Perl's are text.
#include <catch2/catch.hpp>
#include <string>

#include "counting_server.hpp"
#include "host.hpp"

using rpcroute::test::CountingServer;
using rpcroute::test::Host;
using rpcroute::test::Rows;

TEST_CASE("heights and limits are integers in every storage class") {
  Host db;
  const std::string thousand =
      GENERATE("1000", "1000.0", "'1000'", "'1000.0'", "'1e3'", "' 1000 '", "'0x3e8'", "'0x03E8'");
  INFO(thousand);
  CHECK(db.first("SELECT block_lag(" + thousand + ", 1003), block_lag(900, " + thousand + ")") == "3|100");
  CHECK(db.first("SELECT chain_head(" + thousand + ")") == "1000");
  CHECK(db.first("SELECT chain_head(column1, 64) FROM (VALUES (1000), (" + thousand + "), (1e6))") == "1000");
  const std::string limit = GENERATE("64", "64.0", "'64'", "'64.0'", "'6.4e1'", "' 64'");
  INFO(limit);
  CHECK(db.first("SELECT block_lag(1064, 1000, " + limit + "), block_lag(1065, 1000, " + limit + ")") == "0|NULL");
  CHECK(db.first("SELECT chain_head(column1, " + limit + ") FROM (VALUES (1000), (1064), (2000))") == "1064");
  CHECK(db.first("SELECT chain_head(column1, column2) FROM (VALUES (1000, 64), (1064, " + limit + "))") == "1064");
}

TEST_CASE("what is no integer is refused where one is asked, as it was given") {
  Host db;
  const std::string wrong = GENERATE("1.5", "-1", "-1.0", "9e999", "-9e999", "1e300", "9007199254740992.0", "'1.5'",
                                     "'-1'", "''", "' '", "'x'", "'12x'", "'inf'", "'nan'", "'9223372036854775808'",
                                     "'9007199254740993.0'", "'0x'", "'0x1g'", "'0x10000000000000000'", "x'31'");
  INFO(wrong);
  const std::string shown = wrong == "x'31'" ? "a BLOB" : wrong[0] == '\'' ? wrong : db.first("SELECT " + wrong);
  const std::string height = " must be an integer of 0..9223372036854775807 or a 0x-quantity, got " + shown;
  CHECK(db.error("SELECT block_lag(" + wrong + ", 1)") == "block_lag: block_number" + height);
  CHECK(db.error("SELECT block_lag(1, " + wrong + ")") == "block_lag: head" + height);
  CHECK(db.error("SELECT chain_head(" + wrong + ")") == "chain_head: block_number" + height);
  const std::string limit = ": max_ahead must be a number of blocks, 0 or more, got " + shown;
  CHECK(db.error("SELECT block_lag(1, 1, " + wrong + ")") == "block_lag" + limit);
  CHECK(db.error("SELECT chain_head(1, " + wrong + ")") == "chain_head" + limit);
}

TEST_CASE("an option that may be a fraction is a number in every storage class") {
  Host db;
  const std::string percent = GENERATE("12.5", "'12.5'", "'1.25e1'", "' 12.5 '");
  CHECK(db.first("SELECT percentile(value, " + percent + ") FROM json_each('[0, 8]')") == "1.0");
  CHECK(db.first("SELECT weighted_percentile(value, 1, " + percent + ") FROM json_each('[3, 8]')") == "3.0");
  const std::string wrong = GENERATE("'x'", "'12.5%'", "''", "'0x10'", "'nan'", "'1e999'", "9e999", "100.5", "'-1'");
  CHECK_THAT(db.error("SELECT percentile(1, " + wrong + ")"),
             Catch::StartsWith("percentile: P must be a number of 0..100, got "));
  CHECK_THAT(db.error("SELECT weighted_percentile(1, 1, " + wrong + ")"),
             Catch::StartsWith("weighted_percentile: P must be a number of 0..100, got "));
}

TEST_CASE("a text that is read as a number stays what it is for the rest of the statement") {
  Host db;
  CHECK(db.first("SELECT block_lag(x, '1003'), typeof(x), chain_head(x), percentile(1, x), typeof(x) "
                 "FROM (SELECT '50' AS x)") == "953|text|50|1.0|text");
}

TEST_CASE("data is not read as a number: a text among it is a mistake") {
  Host db;
  CHECK(db.error("SELECT median('1')") == "median: Y must be a finite number or NULL, got '1'");
  CHECK(db.error("SELECT weighted_percentile(1, '1', 50)") ==
        "weighted_percentile: W must be a finite number or NULL, got '1'");
}

TEST_CASE("an inline provider takes its numbers as a host binds them, and no key that it has not") {
  const CountingServer server;
  Host db;
  const std::string entry = "json_object('provider_id', 'a', 'url', '" + server.url() + "', ";
  const std::string id = GENERATE("31337", "31337.0", "'31337'", "'0x7a69'");
  CHECK(db.first("SELECT ok FROM rpc_probe(json_array(" + entry + "'chain_id', " + id + ")))") == "1");
  CHECK(server.requests() == 1);
  CHECK_THAT(db.error("SELECT ok FROM rpc_probe(json_array(" + entry + "'urll', 'x')))"),
             Catch::StartsWith("rpc_probe: entry 1 of providers has unknown key 'urll'; known are url, ws_url, "));
  CHECK(db.run("SELECT ok FROM rpc_probe(json_array(" + entry + "'enabled', 0.0)))") == Rows{});
  CHECK(server.requests() == 1);
}
