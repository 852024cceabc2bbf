#include <catch2/catch.hpp>
#include <limits>
#include <stdexcept>
#include <vector>

#include "chain/fees.hpp"

using namespace rpcroute::chain;

namespace {
constexpr std::uint64_t gwei = 1'000'000'000;
using Values = std::vector<std::uint64_t>;
}  // namespace

TEST_CASE("by default the cap is twice the base fee plus the tip that providers suggest") {
  CHECK(choose_fees(Values{10 * gwei}, Values{2 * gwei}, {}) == Fees{22 * gwei, 2 * gwei});
  CHECK(choose_fees(Values{10 * gwei}, Values{}, {}) == Fees{21 * gwei, gwei});
}

TEST_CASE("one provider's nonsense does not move the fees") {
  CHECK(choose_fees(Values{10, 11, 1'000'000 * gwei}, Values{1, 2, 999 * gwei}, {}) == Fees{24, 2});
}

TEST_CASE("what the user fixed is kept, and a contradiction is an error") {
  CHECK(choose_fees(Values{gwei}, Values{5 * gwei}, {3 * gwei, gwei}) == Fees{3 * gwei, gwei});
  CHECK(choose_fees(Values{gwei}, Values{5 * gwei}, {3 * gwei, {}}) == Fees{3 * gwei, 3 * gwei});
  CHECK_THROWS_WITH(choose_fees(Values{1}, Values{}, {gwei, 2 * gwei}), Catch::Contains("priority_fee_gwei"));
}

TEST_CASE("a cap below the base fee is refused, because the transaction would be accepted and stuck") {
  CHECK_THROWS_WITH(choose_fees(Values{2 * gwei}, Values{}, {gwei, 0}), Catch::Contains("base fee of 2 gwei"));
}

TEST_CASE("gwei become wei, and what is no amount is refused by name") {
  CHECK(wei_of_gwei(1.5, "max_fee_gwei") == 1'500'000'000);
  CHECK(wei_of_gwei(0, "max_fee_gwei") == 0);
  for (const double bad : {-1.0, 1e10, std::numeric_limits<double>::quiet_NaN()}) {
    CHECK_THROWS_WITH(wei_of_gwei(bad, "max_fee_gwei"), Catch::StartsWith("max_fee_gwei must be"));
  }
}

TEST_CASE("the worst case of a probe is its gas at its cap, without overflow") {
  CHECK(worst_case_cost({3 * gwei, gwei}) == 63'000 * gwei);
  CHECK(worst_case_cost({std::numeric_limits<std::uint64_t>::max(), 0}) == std::numeric_limits<std::uint64_t>::max());
}
