#include <catch2/catch.hpp>
#include <cstdlib>
#include <set>

#include "transaction_bench.hpp"

using namespace rpcroute;
using namespace rpcroute::transaction;
using namespace rpcroute::transaction::test;

TEST_CASE("what may have landed keeps its number until its time is over") {
  Bench bench({"a", "b"});
  World::Node& node = bench.drawn("a");
  // It takes the transaction, loses the answer, is gone for ten seconds, and then passes the transaction on.
  node.passes_on = false;
  node.faults[send_raw] = {[&](const auto& honest) {
    honest();
    node.up = false;
    return failure(rpc::ErrorClass::connect, "reset");
  }};
  bench.world.on_block = [&](World& world) {
    if (world.head() == 10) node.up = node.passes_on = true;
  };
  const Record record = bench.only();
  CHECK(record.state == State::confirmed);
  CHECK(*record.duration_sec > 9);
  CHECK(sends(bench.world) == 1);
}

TEST_CASE("a lagging node's stale counts do not give a number away twice") {
  Bench bench({"a", "b"});
  bench.plan.n = 6;
  for (auto& [id, node] : bench.world.nodes) {
    node.habits["eth_getTransactionCount"] = [](const auto&) { return result("\"0x0\""); };
  }
  const auto records = bench.scan();
  REQUIRE(records.size() == 6);
  for (std::size_t i = 0; i < records.size(); ++i) {
    CHECK(records[i].state == State::confirmed);
    CHECK(records[i].nonce == i);
    CHECK(records[i].overlap == 0);
  }
}

TEST_CASE("a chain that began anew is numbered anew") {
  Bench bench({"a"});
  bench.plan.n = 3;
  CHECK(bench.scan().back().nonce == 2);
  bench.world.blocks.resize(1);
  bench.world.forks = 1;
  CHECK(bench.scan().front().nonce == 0);
}

TEST_CASE("two development chains of one id and account do not number each other's transactions") {
  Bench bench({"a"});
  bench.plan.wait = false;
  bench.plan.n = 2;
  CHECK(bench.scan().back().nonce == 1);
  World another;
  another.nodes["b"];
  another.forks = 1;
  another.blocks.front().hash = "0x" + std::string(64, '5');
  bench.plan.n = 1;
  const auto records =
      Bench::all_of(*probe({another, bench.book, bench.broadcasts, "", {}}, another.providers(), bench.plan, {}));
  CHECK(records.at(0).nonce == 0);
}

TEST_CASE("another holder of the account is waited for") {
  Bench bench({"a"});
  std::optional<NonceLease> lease = NonceBook(bench.directory.path()).try_lease(31337, first_account);
  REQUIRE(lease);
  CHECK_FALSE(bench.book.try_lease(31337, first_account));
  CHECK(bench.book.try_lease(31337, "another"));
  bench.world.on_block = [&](World& world) {
    if (world.head() == 3) lease.reset();
  };
  const Record record = bench.only();
  CHECK(record.state == State::confirmed);
  CHECK(record.block_number == 4);
}

TEST_CASE("a holder of the account that never ends is not waited for longer than the time limit") {
  Bench bench({"a"});
  const auto lease = NonceBook(bench.directory.path()).try_lease(31337, first_account);
  const Record record = bench.only();
  CHECK(record.state == State::rejected);
  CHECK(record.error_class == rpc::ErrorClass::nonce);
  CHECK(sends(bench.world) == 0);
  CHECK(bench.world.seconds() < bench.plan.follow.timeout_sec + 1);
}

TEST_CASE("prepared transactions are signed with numbers in a row and nothing is sent") {
  Bench bench({"a", "b"});
  bench.plan.n = 3;
  bench.plan.send = false;
  const auto records = bench.scan();
  REQUIRE(records.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(records[i].state == State::prepared);
    CHECK(records[i].nonce == i);
    CHECK(records[i].raw);
    CHECK(records[i].tx_hash);
  }
  CHECK(sends(bench.world) == 0);
}

TEST_CASE("a number that was prepared and left lying is used by the next transaction that is sent") {
  Bench bench({"a", "b"});
  bench.plan.n = 3;
  bench.plan.send = false;
  CHECK(bench.scan().back().nonce == 2);
  bench.plan.n = 1;
  CHECK(bench.scan().back().nonce == 3);
  bench.plan.send = true;
  const Record record = bench.only();
  CHECK(record.state == State::confirmed);
  CHECK(record.nonce == 0);
}

TEST_CASE("a transaction that is abandoned on its way keeps its number, though nobody knows it yet") {
  Bench bench({"a", "b"});
  for (auto& [id, node] : bench.world.nodes) {
    node.habits["eth_getTransactionByHash"] = instead(result("null"));
    node.habits["eth_getTransactionCount"] = instead(result("\"0x0\""));
  }
  const auto is_sent = [&] { return sends(bench.world) > 0; };
  {
    const auto scan = bench.scan_of(bench.world.providers(), is_sent);
    CHECK_THROWS_AS(scan->next(), rpc::Interrupted);
  }
  CHECK(bench.only().nonce == 1);
}
