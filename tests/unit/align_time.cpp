#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "align/time.hpp"

using rpcroute::align::compare;
using rpcroute::align::difference;
using rpcroute::align::later_is_nearer;
using rpcroute::align::Time;
using rpcroute::align::TimeColumn;
using rpcroute::align::within;

namespace {

constexpr std::int64_t kTwoTo53 = 9007199254740992;
constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Time integer(std::int64_t value) {
  return value;
}

}  // namespace

TEST_CASE("an integer above 2^53 is not mistaken for the real next to it") {
  CHECK((compare(Time(kTwoTo53 + 1), Time(9007199254740992.0)) > 0));
  CHECK((compare(Time(9007199254740994.0), Time(kTwoTo53 + 1)) > 0));
  CHECK((compare(Time(kTwoTo53), Time(9007199254740992.0)) == 0));
  CHECK((compare(Time(kLargest), Time(9223372036854775808.0)) < 0));
  CHECK((compare(Time(kSmallest), Time(-9223372036854775808.0)) == 0));
  CHECK((compare(Time(kLargest), Time(kInfinity)) < 0));
  CHECK((compare(integer(0), Time(-0.5)) > 0));
  CHECK((compare(integer(-1), Time(-0.5)) < 0));
}

TEST_CASE("a tolerance is not fooled by differences that overflow") {
  CHECK_FALSE(within(integer(5), integer(kSmallest), integer(kLargest)));
  CHECK(within(integer(5), integer(kLargest - 5), integer(kLargest)));
  CHECK_FALSE(within(integer(kLargest), integer(-1), integer(kLargest)));
  CHECK(within(integer(kLargest), integer(0), integer(kLargest)));
  CHECK(within(Time(1.9e19), integer(kSmallest), integer(kLargest)));
  CHECK_FALSE(within(Time(1.8e19), integer(kSmallest), integer(kLargest)));
  CHECK_FALSE(within(Time(1e308), Time(-1.7e308), Time(1.7e308)));
  CHECK(within(std::nullopt, integer(kSmallest), integer(kLargest)));
}

TEST_CASE("a tolerance is inclusive to the last bit") {
  CHECK(within(integer(1), integer(kTwoTo53), integer(kTwoTo53 + 1)));
  CHECK_FALSE(within(integer(0), integer(kTwoTo53), integer(kTwoTo53 + 1)));
  CHECK(within(Time(0.5), integer(kTwoTo53), integer(kTwoTo53)));
  CHECK_FALSE(within(Time(0.5), Time(9007199254740992.0), integer(kTwoTo53 + 1)));
  CHECK(within(Time(1.0), Time(9007199254740992.0), integer(kTwoTo53 + 1)));
  // The double nearest to 1 - 2^-60 is 1, yet the distance is less.
  CHECK(within(Time(1.0), Time(std::ldexp(1.0, -60)), Time(1.0)));
  CHECK_FALSE(within(Time(1.0), Time(-std::ldexp(1.0, -60)), Time(1.0)));
  CHECK_FALSE(within(integer(1), Time(-std::ldexp(1.0, -60)), integer(1)));
  // A limit that no double holds.
  CHECK(within(integer(kTwoTo53 + 1), Time(-1.0), Time(9007199254740992.0)));
  CHECK_FALSE(within(integer(kTwoTo53 + 1), Time(-2.0), Time(9007199254740992.0)));
}

TEST_CASE("of two neighbours the later must be strictly nearer to win") {
  CHECK_FALSE(later_is_nearer(integer(0), integer(1), integer(2)));
  CHECK(later_is_nearer(integer(0), integer(2), integer(3)));
  CHECK(later_is_nearer(integer(kSmallest), integer(0), integer(kLargest)));
  CHECK_FALSE(later_is_nearer(integer(kTwoTo53 - 1), Time(9007199254740992.0), integer(kTwoTo53 + 1)));
  CHECK(later_is_nearer(integer(kTwoTo53 - 2), Time(9007199254740992.0), integer(kTwoTo53 + 1)));
  CHECK_FALSE(later_is_nearer(integer(0), integer(1), Time(kInfinity)));
  CHECK(later_is_nearer(Time(-kInfinity), integer(1), integer(kLargest)));
}

TEST_CASE("a gap is an integer as long as one can hold it") {
  CHECK(difference(integer(kTwoTo53 + 1), integer(1)) == Time(kTwoTo53));
  CHECK(difference(integer(kLargest), integer(kSmallest)) == Time(18446744073709551616.0));
  CHECK(difference(integer(3), Time(0.5)) == Time(2.5));
}

TEST_CASE("a column gives back the times put in, whatever their types") {
  TimeColumn reals;
  reals.add(1.5);
  reals.add(2.5);
  CHECK(std::holds_alternative<std::vector<double>>(reals.values()));
  TimeColumn mixed;
  mixed.add(kTwoTo53 + 1);
  mixed.add(2.5);
  mixed.add(integer(3));
  REQUIRE(mixed.size() == 3);
  CHECK(mixed[0] == Time(kTwoTo53 + 1));
  CHECK(mixed[1] == Time(2.5));
  CHECK(mixed[2] == integer(3));
}
