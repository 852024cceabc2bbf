#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "text/number.hpp"

using namespace rpcroute::text;

TEST_CASE("A double is an integer when it is whole and no other integer is the same double") {
  CHECK(whole(1000.0) == 1000);
  CHECK(whole(-1000.0) == -1000);
  CHECK(whole(-0.0) == 0);
  CHECK(whole(9007199254740991.0) == 9007199254740991);
  const double none = GENERATE(0.5, 1e-300, 9007199254740992.0, -9007199254740992.0, 9.3e18, 1e300,
                               std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN());
  CHECK_FALSE(whole(none));
}

TEST_CASE("A text is the integer that SQLite reads in all of it") {
  const std::string thousand =
      GENERATE("1000", "+1000", "001000", " 1000 ", "\t1000\n", "1000.0", "1000.", "1e3", "1E+3", "0.1e4", "10000e-1");
  CHECK(integer(thousand) == 1000);
  CHECK(number(thousand) == 1000.0);
  CHECK(integer("-7") == -7);
  CHECK(integer("-0") == 0);
  CHECK(integer("9007199254740993") == 9007199254740993);
  CHECK(integer("9223372036854775807") == INT64_MAX);
  CHECK(integer("-9223372036854775808") == INT64_MIN);
}

TEST_CASE("A text that is a number but no integer is none") {
  const std::string text = GENERATE("0.5", ".5", "1e-3", "9223372036854775808", "9007199254740993.0", "1e300");
  CHECK_FALSE(integer(text));
  CHECK(number(text) == std::stod(text));
}

TEST_CASE("A text that is no number is none") {
  const std::string text = GENERATE(as<std::string>{}, "", " ", "+", "-", ".", "+-1", "--1", "- 1", "0x10", "1 2",
                                    "1,5", "1_000", "1e", "e3", "12a", "inf", "Infinity", "-inf", "nan", "1e999",
                                    "-1e999", std::string("1\0", 2), "\xEF\xBC\x91", "true");
  INFO(text);
  CHECK_FALSE(integer(text));
  CHECK_FALSE(number(text));
}
