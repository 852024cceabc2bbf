#include <catch2/catch.hpp>
#include <cstdlib>
#include <set>

#include "transaction/conversation/heads.hpp"
#include "transaction/nonce/counts.hpp"
#include "transaction_bench.hpp"

using namespace rpcroute;
using namespace rpcroute::transaction;
using namespace rpcroute::transaction::test;

TEST_CASE("heights count when another operator comes near them, or when nobody else speaks") {
  auto of_others = [](std::optional<std::uint64_t> own, const std::vector<std::uint64_t>& others) {
    std::vector<rpc::Provider> providers{World::provider("a0")};
    for (std::size_t i = 0; i < others.size(); ++i) providers.push_back(World::provider("b" + std::to_string(i)));
    const Fleet fleet(providers, false);
    Heads heads(fleet, 0);
    heads.add(0, own);
    for (std::size_t i = 0; i < others.size(); ++i) heads.add(i + 1, others[i]);
    return heads.of_others();
  };
  CHECK(of_others(100, {101, 99}) == 101);
  CHECK(of_others(100, {30'000'100, 99}) == 99);
  CHECK(of_others(100, {99}) == 99);
  CHECK_FALSE(of_others(500, {99}));
  CHECK(of_others({}, {30'000'100}) == 30'000'100);
  CHECK(of_others(100, {}) == 100);
  CHECK_FALSE(of_others({}, {}));
  // The chain's own head_max_ahead is 100 here.
  CHECK_FALSE(of_others({}, {1000, 2000}));
  CHECK(of_others({}, {1000, 1100}) == 1100);
}

TEST_CASE("endpoints of one operator do not witness each other's height") {
  std::vector<rpc::Provider> providers{World::provider("a"), World::provider("b"), World::provider("c")};
  providers[1].operator_name = providers[2].operator_name = "one house";
  const Fleet fleet(providers, false);
  Heads heads(fleet, {});
  heads.add(0, 100);
  heads.add(1, 5000);
  heads.add(2, 5001);
  CHECK(heads.of_all() == std::nullopt);
  heads.add(0, 4990);
  CHECK(heads.of_all() == 5001);
}

TEST_CASE("a provider that asks to be left alone is asked no sooner, and one that fails ever later") {
  Pace pace;
  const auto at = [](double seconds) { return rpc::Clock::time_point() + clock_seconds(seconds); };
  const auto hear = [&](rpc::Answer answer, double when) {
    answer.finished = at(when);
    pace.hear(answer);
  };
  auto limited = failure(rpc::ErrorClass::rate_limited);
  limited.failure->retry_after_sec = 60;
  hear(limited, 100);
  CHECK(pace.ready() == at(160));
  limited.failure->retry_after_sec.reset();
  hear(limited, 160);
  CHECK(pace.ready() > at(160.4));
  hear(limited, 161);
  CHECK(pace.ready() > at(161.9));
  for (int i = 0; i < 20; ++i) hear(limited, 200);
  CHECK(pace.ready() == at(230));
  SECTION("until it answers") {
    hear(result("null"), 231);
    CHECK(pace.ready() <= at(231));
  }
  SECTION("until it complains of something else") {
    hear(error("eth_getTransactionReceipt", -32000, "transaction not found"), 231);
    CHECK(pace.ready() <= at(231));
  }
}

TEST_CASE("a count that one provider alone claims is doubtful, unless the book has given as many") {
  const auto counts = [](std::vector<std::uint64_t> all, std::uint64_t given) {
    std::vector<AccountCount> told;
    for (const std::uint64_t count : all) told.push_back({count, count});
    return agree(told, given, true);
  };
  CHECK(counts({5}, 0).pending == 5);
  CHECK(counts({5, 5}, 0).pending == 5);
  CHECK(counts({4, 5, 1000}, 0).pending == 5);
  CHECK(counts({4, 5, 1000}, 0).doubtful);
  CHECK(counts({4, 5}, 5).pending == 5);
  CHECK_FALSE(counts({4, 5}, 5).doubtful);
  CHECK(counts({4, 1000}, 5).pending == 5);
  CHECK(counts({0, 0}, 5).pending == 0);
  CHECK(counts({6}, 5).doubtful);
  CHECK_FALSE(counts({5}, 5).doubtful);
  CHECK(agree({{6, 6}}, 5, false).doubtful);
}

TEST_CASE("a doubtful count is taken again, and of five in a row the lowest is believed") {
  CarefulCount careful;
  for (int look = 0; look < 3; ++look) CHECK_FALSE(careful.hear({9, 9, true}));
  CHECK_FALSE(careful.hear({7, 7, true}));
  CHECK(careful.hear({8, 8, true})->pending == 7);
  SECTION("unless one comes that is not") {
    CarefulCount other;
    CHECK_FALSE(other.hear({9, 9, true}));
    CHECK(other.hear({5, 5, false})->pending == 5);
    CHECK_FALSE(other.hear({9, 9, true}));
    CHECK_FALSE(other.hear({9, 9, true}));
  }
}

TEST_CASE("the book bears out numbers under which bytes were taken, and none behind a gap") {
  const auto up_to = [](std::vector<std::pair<std::uint64_t, BookStage>> all) {
    std::vector<BookEntry> entries;
    for (const auto& [nonce, stage] : all) {
      entries.emplace_back();
      entries.back().nonce = nonce;
      entries.back().stage = stage;
    }
    return taken_up_to(entries);
  };
  using enum BookStage;
  CHECK(up_to({}) == 0);
  CHECK(up_to({{3, mined}, {4, taken}, {5, mined}}) == 6);
  CHECK(up_to({{3, mined}, {4, taken}, {5, sent}}) == 5);
  CHECK(up_to({{3, mined}, {4, prepared}, {5, prepared}}) == 4);
  CHECK(up_to({{3, mined}, {4, free}, {5, taken}}) == 4);
  CHECK(up_to({{0, mined}, {1000, taken}}) == 1);
}
