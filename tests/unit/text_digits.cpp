#include <catch2/catch.hpp>
#include <string>

#include "text/digits.hpp"

using namespace rpcroute::text;

namespace {

std::string canonical_number(std::string_view number) {
  std::string text;
  append_canonical_number(number, text);
  return text;
}

std::string canonical_quantity(std::string_view number) {
  std::string text;
  return append_canonical_quantity(number, text) ? text : "none" + text;
}

}  // namespace

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
  CHECK(canonical_quantity("0X1") == "none");
  CHECK(canonical_quantity("0x") == "none");
  CHECK(canonical_quantity("0x000") == "0x0");
  CHECK(canonical_quantity("340282366920938463463374607431768211456") == "0x100000000000000000000000000000000");
}
