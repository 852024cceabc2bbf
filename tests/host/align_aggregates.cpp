// chain_head, percentile, median and weighted_percentile through SQL: groups, windows, NULLs and misuse.
#include <catch2/catch.hpp>
#include <string>

#include "host.hpp"

using rpcroute::test::Host;
using rpcroute::test::Rows;

TEST_CASE("chain_head takes integers and quantities and skips rows with a NULL") {
  Host db;
  CHECK(db.first("SELECT chain_head(column1) FROM (VALUES (5), ('0xa'), (NULL))") == "10");
  CHECK(db.first("SELECT chain_head(column1, 64) FROM (VALUES (1000), ('0x3e9'), (NULL), (90000000))") == "1001");
  CHECK(db.first("SELECT chain_head(column1, 64, column2) FROM (VALUES (1000, 'a'), (1001, 'b'), (5000, NULL), (5000, "
                 "'c'))") == "1001");
  CHECK(db.first("SELECT chain_head(column1, 64, column2) FROM (VALUES (1000, 1), (1000, 1.0))") == "NULL");
  CHECK(db.first("SELECT chain_head(column1, 64, column2) FROM (VALUES (1000, 1), (1000, '1'))") == "1000");
  CHECK(db.first("SELECT chain_head(1, 64) WHERE 0") == "NULL");
  CHECK(db.first("SELECT chain_head(column1, NULL) FROM (VALUES (1), (2))") == "NULL");
}

TEST_CASE("chain_head refuses heights and limits that cannot be") {
  Host db;
  CHECK(db.error("SELECT chain_head(-1)") ==
        "chain_head: block_number must be an integer of 0..9223372036854775807 or a 0x-quantity, got -1");
  CHECK(db.error("SELECT chain_head(1, -1)") == "chain_head: max_ahead must be a number of blocks, 0 or more, got -1");
  CHECK(db.error("SELECT chain_head(column1, column2) FROM (VALUES (1, 3), (1, 5))") ==
        "chain_head: max_ahead must be the same for all rows of a group, got 5 after 3");
  CHECK(db.first("SELECT group_concat(h) FROM (SELECT chain_head(column1, column2) AS h FROM (VALUES (1, 3), (1, 3), "
                 "(7, 5), (8, 5)) "
                 "GROUP BY column2)") == "1,8");
}

TEST_CASE("chain_head over a window is chain_head of the rows in it") {
  Host db;
  db.run(
      "CREATE TABLE m(t REAL, p, b); WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT 300) "
      "INSERT INTO m SELECT i * 1.5, 'p' || (i % 5), CASE WHEN i % 5 = 4 THEN 900000 + i WHEN i % 7 = 0 THEN NULL ELSE "
      "i - (i * 31 % 6) + 6 END FROM n");
  CHECK(db.run("SELECT chain_head(b, 4, p) OVER (ORDER BY t RANGE BETWEEN 12 PRECEDING AND CURRENT ROW), "
               "chain_head(b) OVER (ORDER BY t RANGE BETWEEN 12 PRECEDING AND CURRENT ROW) FROM m ORDER BY t") ==
        db.run("SELECT (SELECT chain_head(b, 4, p) FROM m AS w WHERE w.t BETWEEN m.t - 12 AND m.t), "
               "(SELECT max(b) FROM m AS w WHERE w.t BETWEEN m.t - 12 AND m.t) FROM m ORDER BY t"));
}

TEST_CASE("percentile and median are those of SQLite's extension") {
  Host db;
  const std::string values = " FROM json_each('[12, 13, null, 14, 60]')";
  CHECK(db.first("SELECT percentile(value, 95)" + values) ==
        db.first("SELECT 14.0 + (60.0 - 14.0) * (95 * 3 * 0.01 - 2)"));
  CHECK(db.run("SELECT median(value), percentile(value, 0), percentile(value, '100'), typeof(median(value))" +
               values) == Rows{"13.5|12.0|60.0|real"});
  CHECK(db.first("SELECT median(column1) FROM (VALUES (NULL))") == "NULL");
  CHECK(db.first("SELECT percentile(1, 5) WHERE 0") == "NULL");
  CHECK(db.first("SELECT median(7)") == "7.0");
  CHECK(db.error("SELECT percentile(1, 101)") == "percentile: P must be a number of 0..100, got 101");
  CHECK(db.error("SELECT percentile(1, NULL)") == "percentile: P must be a number of 0..100, got NULL");
  CHECK(db.error("SELECT percentile(1, 'x')") == "percentile: P must be a number of 0..100, got 'x'");
  CHECK(db.error("SELECT percentile(value, key)" + values) == "percentile: P must be the same for all rows, got 1");
  CHECK(db.error("SELECT median('x')") == "median: Y must be a finite number or NULL, got 'x'");
  CHECK_THAT(db.error("SELECT median(9e999)"), Catch::Contains("median: Y must be a finite number"));
}

TEST_CASE("percentiles serve as window functions") {
  Host db;
  CHECK(db.run("SELECT median(value) OVER (ORDER BY key ROWS 2 PRECEDING) FROM json_each('[12, 13, 14, 60, 1]')") ==
        Rows{"12.0", "12.5", "13.0", "14.0", "14.0"});
}

TEST_CASE("weighted_percentile skips what has no weight and refuses what cannot be one") {
  Host db;
  CHECK(db.first("SELECT weighted_percentile(column1, column2, 50) FROM (VALUES (12, 4), (13, 1), (60, 2), (99, NULL), "
                 "(NULL, 9), (1, 0))") == "12.0");
  CHECK(db.first("SELECT weighted_percentile(1, 0, 50)") == "NULL");
  CHECK(db.first("SELECT weighted_percentile(1, 1, 50) WHERE 0") == "NULL");
  CHECK(db.error("SELECT weighted_percentile(1, -1, 50)") == "weighted_percentile: W must be 0 or more, got -1");
  CHECK(db.error("SELECT weighted_percentile(1, 1, -1)") ==
        "weighted_percentile: P must be a number of 0..100, got -1");
}
