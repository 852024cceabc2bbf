#include <catch2/catch.hpp>
#include <limits>

#include "chain/quantity.hpp"

using rpcroute::chain::quantity;
using rpcroute::chain::read_quantity;
using rpcroute::chain::read_quantity256;
using rpcroute::chain::Uint256;

TEST_CASE("a quantity with leading zeros or capital digits is read, as nodes do send them") {
  CHECK(read_quantity("0x00a1") == 161);
  CHECK(read_quantity("0x0000000000000000") == 0);
  CHECK(read_quantity("0xABCDEF") == 0xabcdef);
  CHECK(read_quantity("0x" + std::string(100, '0') + "7") == 7);
}

TEST_CASE("what is no quantity is nothing, never zero") {
  for (const char* text : {"", "0", "0x", "0xZZ", " 0x1", "0x1 ", "0X10", "12", "-0x1", "0x-1", "0x1.5", "null"}) {
    CAPTURE(text);
    CHECK_FALSE(read_quantity(text));
    CHECK_FALSE(read_quantity256(text));
  }
}

TEST_CASE("a quantity beyond the width is refused instead of cut") {
  CHECK(read_quantity("0xffffffffffffffff") == std::numeric_limits<std::uint64_t>::max());
  CHECK_FALSE(read_quantity("0x10000000000000000"));
  CHECK(read_quantity256("0x" + std::string(64, 'f')));
  CHECK_FALSE(read_quantity256("0x1" + std::string(64, '0')));
}

TEST_CASE("a quantity is written with minimal digits, since geth refuses leading zeros") {
  CHECK(quantity(0) == "0x0");
  CHECK(quantity(0x07d6d1) == "0x7d6d1");
  CHECK(quantity(std::numeric_limits<std::uint64_t>::max()) == "0xffffffffffffffff");
}

TEST_CASE("256-bit integers drop their leading zeros and saturate when narrowed") {
  CHECK(Uint256().minimal().empty());
  CHECK(Uint256(0x100).minimal().size() == 2);
  CHECK(Uint256(77).saturated() == 77);
  CHECK(read_quantity256("0x10000000000000000")->saturated() == std::numeric_limits<std::uint64_t>::max());
}
