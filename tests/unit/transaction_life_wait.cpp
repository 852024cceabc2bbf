#include <catch2/catch.hpp>
#include <cstdlib>
#include <set>

#include "transaction_bench.hpp"

using namespace rpcroute;
using namespace rpcroute::transaction;
using namespace rpcroute::transaction::test;

TEST_CASE("another process's transaction is resolved by its block, without a duration") {
  Bench bench({"a", "b"});
  bench.plan.wait = false;
  const auto sent = bench.scan();
  const auto resolved = Bench::all_of(
      *transaction::wait(bench.another_desk(), Bench::references(sent), bench.world.providers(), bench.follow));
  REQUIRE(resolved.size() == 1);
  CHECK(resolved[0].state == State::confirmed);
  CHECK(resolved[0].duration_source == "block");
  CHECK_FALSE(resolved[0].duration_sec);
  CHECK(resolved[0].block_timestamp == 1'700'000'001);
  CHECK(resolved[0].nonce == 0);
}

TEST_CASE("a wait that begins long after the block does not invent a duration") {
  Bench bench({"a"});
  bench.plan.wait = false;
  const auto sent = bench.scan();
  bench.world.next(bench.world.now() + std::chrono::seconds(10), {});
  const auto resolved = bench.wait(sent);
  CHECK(resolved.at(0).duration_source == "block");
  CHECK_FALSE(resolved.at(0).duration_sec);
}

TEST_CASE("an overdue transaction that nobody knows is a timeout, and one that nobody speaks of stays pending") {
  Bench bench({"a", "b"});
  bench.plan.wait = false;
  auto sent = bench.scan();
  bench.world.pool.clear();
  sent[0].timestamp -= 1000;
  auto wait = [&] {
    return Bench::all_of(
               *transaction::wait(bench.another_desk(), Bench::references(sent), bench.world.providers(), bench.follow))
        .at(0);
  };
  for (auto& [id, node] : bench.world.nodes) node.up = false;
  CHECK(wait().state == State::pending);
  for (auto& [id, node] : bench.world.nodes) node.up = true;
  const auto record = wait();
  CHECK(record.state == State::timeout);
  CHECK(record.duration_sec == 60);
}
