#include <catch2/catch.hpp>

#include "text/digits.hpp"

using namespace rpcroute::text;

TEST_CASE("Numbers have one form") {
  CHECK(canonical_number("0.0") == "0");
  CHECK(canonical_number("-0") == "0");
  CHECK(canonical_number("1.10") == "1.1");
  CHECK(canonical_number("11e-1") == "1.1");
  CHECK(canonical_number("1E+3") == "1000");
  CHECK(canonical_number("-0.00120") == "-0.0012");
  CHECK(canonical_number("18446744073709551617") == "18446744073709551617");
  CHECK(canonical_number("1e99999") == "1e99999");
  CHECK(canonical_number("10e-99999") == "1e-99998");
  CHECK(canonical_quantity("0X1") == std::nullopt);
  CHECK(canonical_quantity("0x") == std::nullopt);
  CHECK(canonical_quantity("0x000") == "0x0");
  CHECK(canonical_quantity("340282366920938463463374607431768211456") == "0x100000000000000000000000000000000");
}
