#include <catch2/catch.hpp>
#include <cstdlib>
#include <set>

#include "transaction/draw.hpp"
#include "transaction_bench.hpp"

using namespace rpcroute;
using namespace rpcroute::transaction;
using namespace rpcroute::transaction::test;

TEST_CASE("transactions of one key go one after another, with numbers that follow each other") {
  Bench bench({"a", "b", "c"});
  bench.plan.n = 12;
  const auto records = bench.scan();
  REQUIRE(records.size() == 12);
  std::set<std::string> providers;
  for (std::size_t i = 0; i < records.size(); ++i) {
    CHECK(records[i].state == State::confirmed);
    CHECK(records[i].nonce == i);
    CHECK(records[i].overlap == 0);
    providers.insert(records[i].provider_id);
  }
  CHECK(providers.size() == 3);
  CHECK(bench.world.mined().size() == 12);
}

TEST_CASE("several keys probe side by side, each with one transaction in flight") {
  Bench bench({"a", "b"});
  bench.plan.signer = "env:RPCROUTE_KEY,RPCROUTE_KEY_2";
  bench.plan.n = 8;
  const auto records = bench.scan();
  REQUIRE(records.size() == 8);
  for (const auto& record : records) {
    CHECK(record.state == State::confirmed);
    CHECK(record.overlap == 0);
    CHECK(*record.duration_sec < 1.2);
  }
  CHECK(bench.world.seconds() < 7);
}

TEST_CASE("rows are handed out before the next transaction is sent, so that LIMIT 1 sends one") {
  Bench bench({"a"});
  bench.plan.n = 5;
  const auto scan = bench.scan_of(bench.world.providers(), {});
  REQUIRE(scan->next());
  CHECK(sends(bench.world) == 1);
}

TEST_CASE("draws are uniform and the same under the same seed") {
  Draw one(7);
  Draw two(7);
  std::vector<int> counts(3);
  for (int i = 0; i < 30000; ++i) {
    const auto drawn = one(3);
    REQUIRE(drawn == two(3));
    ++counts[drawn];
  }
  for (const int count : counts) CHECK(std::abs(count - 10000) < 400);
  // mt19937_64's first value under the default seed is fixed by the C++ standard's algorithm.
  CHECK(Draw(5489)(1000) == 14514284786278117030ULL % 1000);
}

TEST_CASE("a seed draws the same providers in whatever order they were found") {
  auto drawn = [](bool reversed) {
    Bench bench({"a", "b", "c", "d"});
    bench.plan.n = 10;
    auto providers = bench.world.providers();
    if (reversed) std::reverse(providers.begin(), providers.end());
    std::string ids;
    for (const auto& record : Bench::all_of(*bench.scan_of(providers))) {
      ids += record.provider_id;
    }
    return ids;
  };
  CHECK(drawn(false) == drawn(true));
}

TEST_CASE("a provider that is down stays in the draw, and its row says why nothing was sent") {
  Bench bench({"a", "b"});
  bench.world.nodes["b"].up = false;
  bench.plan.n = 20;
  int down = 0;
  for (const auto& record : bench.scan()) {
    CHECK(record.propensity == 0.5);
    if (record.provider_id == "a") {
      CHECK(record.state == State::confirmed);
      continue;
    }
    ++down;
    CHECK(record.state == State::rejected);
    CHECK(record.error_class == rpc::ErrorClass::connect);
    CHECK_FALSE(record.tx_hash);
  }
  CHECK(down > 3);
  CHECK(bench.world.mined().size() == 20u - static_cast<unsigned>(down));
}

TEST_CASE("when all providers are down every row says so and nothing is sent") {
  Bench bench({"a", "b"});
  for (auto& [id, node] : bench.world.nodes) node.up = false;
  bench.plan.n = 3;
  const auto records = bench.scan();
  REQUIRE(records.size() == 3);
  for (const auto& record : records) CHECK(record.error_class == rpc::ErrorClass::connect);
  CHECK(sends(bench.world) == 0);
}

TEST_CASE("a node of another chain is left out with a row of its own, and the others are used") {
  Bench bench({"a", "b", "c", "d"});
  bench.world.nodes["c"].chain_id = 1;
  bench.plan.n = 6;
  const auto records = bench.scan();
  REQUIRE(records.size() == 7);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(records[i].state == State::confirmed);
    CHECK(records[i].propensity == Approx(1.0 / 3));
    CHECK(records[i].provider_id != "c");
  }
  CHECK(records.back().provider_id == "c");
  CHECK(records.back().state == State::rejected);
  CHECK(records.back().error_class == rpc::ErrorClass::wrong_chain);
  CHECK(bench.world.nodes["c"].asked[send_raw] == 0);
}

TEST_CASE("nothing goes to a mainnet unless it is allowed") {
  Bench bench({"a"});
  auto providers = bench.world.providers();
  auto rows = [&] { return Bench::all_of(*bench.scan_of(providers)); };
  SECTION("because the chain says it is one") {
    providers[0].is_mainnet = true;
  }
  SECTION("because its id is 1, whatever else is said") {
    bench.world.nodes["a"].chain_id = 1;
    providers[0].chain_id = 1;
  }
  SECTION("because the node answers 1 and nothing was said") {
    bench.world.nodes["a"].chain_id = 1;
    providers[0].chain_id.reset();
  }
  SECTION("for the node's own account, too") {
    bench.plan.signer = "node";
    bench.world.nodes["a"].account = first_account;
    providers[0].is_mainnet = true;
  }
  const auto refused = rows();
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].state == State::rejected);
  CHECK(refused[0].error_class == rpc::ErrorClass::mainnet);
  CHECK(sends(bench.world) == 0);
  bench.plan.allow_mainnet = true;
  CHECK(rows().at(0).state == State::confirmed);
}

TEST_CASE("providers of several chains need a choice, unless all but one are mainnets") {
  Bench bench({"a", "b"});
  auto providers = bench.world.providers();
  providers[1].chain = "othernet";
  auto scan = [&] { probe(bench.desk(), providers, bench.plan, {}); };
  CHECK_THROWS_WITH(scan(), Catch::Contains("othernet, testnet"));
  SECTION("by its flag") {
    providers[1].is_mainnet = true;
  }
  SECTION("by its id") {
    providers[1].chain_id = 1;
  }
  CHECK_NOTHROW(scan());
  bench.plan.forced_providers = {"b"};
  const auto rows = Bench::all_of(*bench.scan_of(providers));
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].provider_id == "b");
  CHECK(rows[0].error_class == rpc::ErrorClass::mainnet);
  for (auto& provider : providers) provider.kind = chain::ChainKind::solana;
  CHECK_THROWS_WITH(scan(), Catch::Contains("EVM chains only"));
}

TEST_CASE("a forced provider is the only one to send, without a propensity, while the others watch") {
  Bench bench({"a", "b"});
  bench.drawn("a").lag = 2;
  const Record record = bench.only();
  CHECK(record.provider_id == "a");
  CHECK_FALSE(record.propensity);
  CHECK(record.state == State::confirmed);
  CHECK(*record.duration_sec < 1.2);
  CHECK(*record.own_receipt_sec > 2);
  CHECK(bench.world.nodes["b"].asked[send_raw] == 0);
}

TEST_CASE("a spending limit stops the scan before the transaction that would pass it") {
  Bench bench({"a"});
  bench.plan.n = 4;
  // 21000 gas at twice the base fee of 1 gwei plus a tip of 1 gwei.
  bench.plan.max_spend_gwei = 2 * 63000 + 1;
  const auto records = bench.scan();
  REQUIRE(records.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(records[i].state == (i < 2 ? State::confirmed : State::rejected));
    if (i >= 2) CHECK(records[i].error_class == rpc::ErrorClass::spend_limit);
  }
  CHECK(sends(bench.world) == 2);
}

TEST_CASE("a spending limit below one transaction sends nothing") {
  Bench bench({"a"});
  bench.plan.max_spend_gwei = 62999;
  CHECK(bench.only().error_class == rpc::ErrorClass::spend_limit);
  CHECK(sends(bench.world) == 0);
}

TEST_CASE("a chain that cannot be probed is refused in words") {
  Bench bench({"a"});
  SECTION("no base fee") {
    bench.world.base_fee.reset();
    CHECK_THROWS_WITH(bench.scan(), Catch::Contains("no base fee"));
  }
  SECTION("dearer transfers") {
    bench.world.transfer_gas = 25000;
    CHECK_THROWS_WITH(bench.scan(), Catch::Contains("needs 25000 gas"));
  }
  SECTION("a cap below the base fee") {
    bench.plan.max_fee_gwei = 0.5;
    CHECK_THROWS_WITH(bench.scan(), Catch::Contains("below the chain's base fee"));
  }
  CHECK(sends(bench.world) == 0);
}

TEST_CASE("an estimate one too high, as hardhat gives, is no dearer transfer") {
  Bench bench({"a"});
  bench.world.transfer_gas = 21001;
  CHECK(bench.only().state == State::confirmed);
}

TEST_CASE("arguments out of range are named") {
  Bench bench({"a"});
  auto message = [&](auto change) {
    Plan plan = bench.plan;
    change(plan);
    try {
      probe(bench.desk(), bench.world.providers(), plan, {});
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(message([](auto& plan) { plan.n = 0; }).starts_with("n must be 1.."));
  CHECK(message([](auto& plan) { plan.follow.poll_ms = 1; }).starts_with("poll_ms must be"));
  CHECK(message([](auto& plan) { plan.follow.timeout_sec = 0; }).starts_with("timeout_sec must be"));
  CHECK(message([](auto& plan) { plan.max_fee_gwei = -1; }).starts_with("max_fee_gwei must be"));
  CHECK(message([](auto& plan) { plan.max_spend_gwei = -1; }).starts_with("max_spend_gwei must be"));
  CHECK(message([](auto& plan) { plan.signer = "key"; }).starts_with("signer:"));
  CHECK(message([](auto& plan) {
          plan.signer = "node";
          plan.send = false;
        }).starts_with("send = 0"));
}

TEST_CASE("an interrupt ends the wait") {
  Bench bench({"a"});
  int asked = 0;
  const auto scan = bench.scan_of(bench.world.providers(), [&] { return ++asked > 20; });
  CHECK_THROWS_AS(scan->next(), rpc::Interrupted);
}

TEST_CASE("in five hundred probes with faults every transaction is accounted for once, without gap or double number") {
  Bench bench({"a", "b", "c", "d"});
  bench.plan.n = 500;
  bench.plan.max_spend_gwei = 1e9;
  bench.plan.signer = "env:RPCROUTE_KEY,RPCROUTE_KEY_2";
  Draw dice(11);
  std::vector<World::Fault> kinds{after(failure(rpc::ErrorClass::connect, "reset")), after(http_error(502)),
                                  after(error(send_raw, -32000, "already known")), instead(http_error(503)),
                                  after(error(send_raw, -32000, "nonce too low"))};
  for (auto& [id, node] : bench.world.nodes) {
    node.habits[send_raw] = [&](const auto& honest) {
      return dice(10) == 0 ? kinds[dice(kinds.size())](honest) : honest();
    };
    node.habits["eth_getTransactionCount"] = [&](const auto& honest) {
      return dice(10) == 0 ? result("\"0x0\"") : honest();
    };
  }
  const auto records = bench.scan();
  REQUIRE(records.size() == 500);
  std::set<std::string> confirmed;
  for (const auto& record : records) {
    if (record.state == State::confirmed) CHECK(confirmed.insert(*record.tx_hash).second);
    CHECK((record.state == State::confirmed || record.error_class == rpc::ErrorClass::http));
  }
  CHECK(confirmed.size() > 470);
  CHECK(bench.world.mined().size() == confirmed.size());
  CHECK(bench.world.pool.empty());
  CHECK(sends(bench.world) == 500);
}
