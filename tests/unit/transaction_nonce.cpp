#include <array>
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

TEST_CASE("the word of one provider while the others are silent makes no gap") {
  Bench bench({"a", "b"});
  CHECK(bench.only().nonce == 0);
  for (auto& [id, node] : bench.world.nodes) {
    node.habits["eth_getTransactionCount"] = id == "a" ? World::Fault([](const auto& honest) { return honest(); })
                                                       : instead(failure(rpc::ErrorClass::connect, "reset"));
  }
  bench.world.nodes["a"].faults["eth_getTransactionCount"] = {instead(result("\"0x3e8\""))};
  CHECK(bench.only().nonce == 1);
  SECTION("yet it is believed when it stays with it") {
    bench.world.nodes["a"].habits["eth_getTransactionCount"] = instead(result("\"0x5\""));
    bench.plan.wait = false;
    CHECK(bench.only().nonce == 5);
  }
}

TEST_CASE("three hundred prepared transactions have three hundred numbers in a row") {
  Bench bench({"a", "b"});
  bench.plan.n = 300;
  bench.plan.send = false;
  bench.plan.max_spend_gwei = 1e9;
  const auto records = bench.scan();
  REQUIRE(records.size() == 300);
  for (std::size_t i = 0; i < records.size(); ++i) CHECK(records[i].nonce == i);
}

TEST_CASE("ten thousand prepared transactions cost two dozen requests") {
  Bench bench({"a", "b"});
  bench.plan.n = 10'000;
  bench.plan.send = false;
  bench.plan.max_spend_gwei = 1e9;
  const auto records = bench.scan();
  REQUIRE(records.size() == 10'000);
  CHECK(records.back().nonce == 9'999);
  int asked = 0;
  for (const auto& [id, node] : bench.world.nodes) {
    for (const auto& [method, times] : node.asked) asked += times;
  }
  CHECK(asked <= 24);
}

namespace {

/// n in one scan, or as many scans of one.
std::vector<std::uint64_t> numbers_of(Bench& bench, int n, bool one_by_one) {
  std::vector<std::uint64_t> numbers;
  bench.plan.n = one_by_one ? 1 : n;
  for (int scans = one_by_one ? n : 1; scans > 0; --scans) {
    for (const auto& record : bench.scan()) numbers.push_back(record.nonce.value_or(999));
  }
  return numbers;
}

}  // namespace

TEST_CASE("a balancer whose heights go back and forth numbers in a row") {
  Bench bench({"a"});
  bench.world.pass(5);
  int calls = 0;
  bench.world.nodes["a"].habits["eth_blockNumber"] = [&](const auto&) {
    constexpr std::array<int, 4> steps{0, 1, -1, 2};
    const auto height = static_cast<int>(bench.world.head()) + steps[static_cast<std::size_t>(calls++ % 4)];
    return result(json_text(chain::quantity(static_cast<std::uint64_t>(height))));
  };
  const bool one_by_one = GENERATE(false, true);
  bench.plan.send = GENERATE(false, true);
  CHECK(numbers_of(bench, 4, one_by_one) == std::vector<std::uint64_t>{0, 1, 2, 3});
}

TEST_CASE("reads that are a block behind the sends number in a row") {
  Bench bench({"a", "b"});
  bench.world.pass(5);
  for (auto& [id, node] : bench.world.nodes) {
    node.lag = 1;
    node.hears_late = true;
  }
  bench.plan.wait = GENERATE(false, true);
  CHECK(numbers_of(bench, 4, true) == std::vector<std::uint64_t>{0, 1, 2, 3});
  CHECK(sends(bench.world) == 4);
}

TEST_CASE("a wall clock that jumps between scans changes no number") {
  Bench bench({"a", "b"});
  bench.plan.n = 2;
  bench.plan.send = false;
  const double jump = GENERATE(300.0, -300.0, 86'400.0, -86'400.0);
  std::uint64_t next = 0;
  for (int i = 0; i < 3; ++i) {
    for (const auto& record : bench.scan()) CHECK(record.nonce == next++);
    bench.world.clock_offset_sec += jump;
    bench.world.pass(1);
  }
}

TEST_CASE("two chains of one id that show no first block number their own, alternating on one book") {
  Bench bench({"a"});
  World another;
  another.nodes["a"];
  another.forks = 1;
  for (World* world : {&bench.world, &another}) {
    world->shows_first_block = false;
    world->pass(3);
  }
  for (std::uint64_t i = 0; i < 3; ++i) {
    for (World* world : {&bench.world, &another}) {
      CAPTURE(i, world == &another);
      const auto records =
          Bench::all_of(*probe({*world, bench.book, bench.broadcasts, "", {}}, world->providers(), bench.plan, {}));
      CHECK(records.at(0).state == State::confirmed);
      CHECK(records.at(0).nonce == i);
    }
  }
}

TEST_CASE("what is prepared after bytes that got lost on their way has their number, not the one behind") {
  Bench bench({"a", "b"});
  bench.drawn("a").faults[send_raw] = {instead(failure(rpc::ErrorClass::connect, "reset"))};
  {
    const auto scan = bench.scan_of(bench.world.providers(), [&] { return sends(bench.world) > 0; });
    CHECK_THROWS_AS(scan->next(), rpc::Interrupted);
  }
  bench.plan.send = false;
  CHECK(bench.only().nonce == 0);
}

TEST_CASE("of two chains of one id that show no first block, none sends behind a number that only the other has used") {
  Bench bench({"a"});
  World another;
  another.nodes["a"];
  another.forks = 1;
  for (World* world : {&bench.world, &another}) {
    world->shows_first_block = false;
    world->pass(3);
  }
  const auto desk = [&](World& world) { return Desk{world, bench.book, bench.broadcasts, "", {}}; };
  const auto prepare = [&](World& world) {
    return Bench::references(Bench::all_of(*probe(desk(world), world.providers(), bench.plan, {})));
  };
  const auto send = [&](World& world, const std::vector<Reference>& references) {
    return Bench::all_of(*transaction::send(desk(world), references, world.providers(), bench.follow)).at(0);
  };
  bench.plan.send = false;
  const auto first = prepare(bench.world);
  const auto second = prepare(another);
  const bool first_leaves = GENERATE(false, true);
  CAPTURE(first_leaves);
  if (first_leaves) {
    CHECK(send(bench.world, first).state == State::pending);
    bench.world.pass(2);
  }
  // The book cannot tell whose chain the first is of, but what it says is looked up before anything follows it.
  const Record record = send(another, second);
  if (record.nonce != 0) {
    CHECK(record.state == State::rejected);
    CHECK(record.error_class == rpc::ErrorClass::nonce);
    CHECK(another.handed.empty());
  }
  // Books of their own tell them apart.
  const BookDirectory directory;
  const NonceBook book(directory.path());
  const auto alone =
      Bench::all_of(*probe({another, book, bench.broadcasts, "", {}}, another.providers(), bench.plan, {}));
  CHECK(alone.at(0).nonce == 0);
}
