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
  for (const std::string million : {"1e6", "1.0e+06", "1000000", "1000000.000", "0.001e9", "100000e1"}) {
    CHECK(canonical_number(million) == "1000000");
  }
  CHECK(canonical_number("1e20") == "1" + std::string(20, '0'));
  for (const std::string& far : {std::string("1e21"), "1" + std::string(21, '0'), std::string("0.1e22")}) {
    CHECK(canonical_number(far) == "1e21");
  }
  for (const std::string& near : {std::string("12e-23"), "0." + std::string(21, '0') + "12"}) {
    CHECK(canonical_number(near) == "12e-23");
  }
  CHECK(canonical_number("0.12345678901234567890123") == "0.12345678901234567890123");
  CHECK(canonical_number("-1e-999999999") == "-1e-999999999");
  CHECK(canonical_number("0e99999999999999999999") == "0");
  CHECK(canonical_number("-2E+99999999999999999999") == "-2e99999999999999999999");
  CHECK(canonical_number(std::string(1'000'000, '7')) == std::string(1'000'000, '7'));
}

TEST_CASE("Quantities have one form, whether they are written in hexadecimal or in decimal") {
  CHECK(canonical_quantity("0x00fF") == "0xff");
  CHECK(canonical_quantity("255") == "0xff");
  CHECK(canonical_quantity("1e30") == "0xc9f2c9cd04674edea40000000");
  CHECK(canonical_quantity("18446744073709551616") == "0x10000000000000000");
  CHECK(canonical_quantity("0x10g") == "none");
  CHECK(canonical_quantity("-1") == "none");
  CHECK(canonical_quantity("1.5") == "none");
  CHECK(canonical_quantity(std::string(155, '9')).size() == 131);
  CHECK(canonical_quantity(std::string(156, '9')) == "none");
  CHECK(canonical_quantity("0X1") == "none");
  CHECK(canonical_quantity("0x") == "none");
  CHECK(canonical_quantity("0x000") == "0x0");
  CHECK(canonical_quantity("340282366920938463463374607431768211456") == "0x100000000000000000000000000000000");
}
