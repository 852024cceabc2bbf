#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <set>

#include "text/ascii.hpp"
#include "text/hex.hpp"
#include "transaction_bench.hpp"

using namespace rpcroute;
using namespace rpcroute::transaction;
using namespace rpcroute::transaction::test;

TEST_CASE("prepared transactions are sent, and waited for with this process's clock") {
  Bench bench({"a", "b"});
  bench.plan.n = 2;
  bench.plan.send = false;
  const auto prepared = bench.scan();
  const auto sent = bench.send(prepared);
  REQUIRE(sent.size() == 2);
  CHECK(sent[0].state == State::pending);
  CHECK(sent[0].submit_ms);
  CHECK(sent[1].overlap == 1);
  const auto resolved = bench.wait(sent);
  REQUIRE(resolved.size() == 2);
  for (const auto& record : resolved) {
    CHECK(record.state == State::confirmed);
    CHECK(record.duration_source == "receipt");
    CHECK(*record.duration_sec < 1.3);
    CHECK_FALSE(record.raw);
  }
}

TEST_CASE("a rerun after a crash sends the same bytes once, and finds what had been sent") {
  Bench bench({"a", "b"});
  bench.plan.send = false;
  const auto prepared = bench.scan();
  CHECK(bench.send(prepared).at(0).state == State::pending);
  // The process died before it could write that down.
  const auto again = bench.send(prepared);
  CHECK(again.at(0).state == State::pending);
  CHECK(again.at(0).timestamp == prepared.at(0).timestamp);
  CHECK(sends(bench.world) == 1);
}

TEST_CASE("what a provider had before it was sent again is not timed from the second sending") {
  Bench bench({"a", "b"});
  bench.drawn("a");
  bench.plan.send = false;
  const auto prepared = bench.scan();
  World::Node& node = bench.world.nodes.at("a");
  node.passes_on = false;
  CHECK(bench.send(prepared).at(0).state == State::pending);
  // The process died; the next one is told by every backend but the one that has it that nobody knows the transaction.
  node.faults["eth_getTransactionByHash"] = {instead(result("null"))};
  const auto again = Bench::all_of(
      *transaction::send(bench.another_desk(), Bench::references(prepared), bench.world.providers(), bench.follow));
  CHECK(again.at(0).state == State::pending);
  CHECK(again.at(0).timestamp == prepared.at(0).timestamp);
  CHECK_FALSE(again.at(0).submit_ms);
  node.passes_on = true;
  const auto resolved = Bench::all_of(
      *transaction::wait(bench.another_desk(), Bench::references(again), bench.world.providers(), bench.follow));
  CHECK(resolved.at(0).state == State::confirmed);
  CHECK(resolved.at(0).duration_source == "block");
  CHECK_FALSE(resolved.at(0).duration_sec);
}

TEST_CASE("a prepared transaction behind one that was not sent is not sent either") {
  Bench bench({"a", "b"});
  bench.plan.n = 2;
  bench.plan.send = false;
  const auto prepared = bench.scan();
  const auto late = bench.send({prepared.at(1)});
  CHECK(late.at(0).state == State::rejected);
  CHECK(late.at(0).error_class == rpc::ErrorClass::nonce);
  CHECK(sends(bench.world) == 0);
  // Its number is free again, behind the first.
  CHECK(bench.send({prepared.at(0)}).at(0).state == State::pending);
  bench.plan.n = 1;
  CHECK(bench.only().nonce == 1);
}

TEST_CASE("prepared transactions follow each other through nodes that leave the pool out of their pending count") {
  Bench bench({"a", "b"});
  for (auto& [id, node] : bench.world.nodes) {
    node.habits["eth_getTransactionCount"] = [](const auto&) { return result("\"0x0\""); };
  }
  bench.plan.n = 3;
  bench.plan.send = false;
  const auto prepared = bench.scan();
  for (const auto& record : bench.send(prepared)) CHECK(record.state == State::pending);
  CHECK(sends(bench.world) == 3);
}

TEST_CASE("a prepared transaction whose provider is down waits for the next run, until its time is over") {
  Bench bench({"a", "b"});
  bench.drawn("a");
  bench.plan.send = false;
  auto prepared = bench.scan();
  bench.world.nodes["a"].up = false;
  CHECK(bench.send(prepared).at(0).state == State::prepared);
  CHECK(bench.send(prepared).at(0).error_class == rpc::ErrorClass::connect);
  CHECK(bench.book.try_lease(31337, first_account)->find("", 0)->stage == BookStage::free);
  prepared[0].timestamp -= 1000;
  CHECK(bench.send(prepared).at(0).state == State::rejected);
}

TEST_CASE("only probe transfers with the right hash are sent") {
  Bench bench({"a"});
  const auto key = chain::PrivateKey::read(first_key, "the test's key");
  chain::Eip1559Transaction transaction;
  transaction.chain_id = 31337;
  transaction.gas_limit = 21000;
  transaction.to = key.address();
  transaction.value = 1;
  const auto sent = chain::sign(transaction, key);
  auto send = [&](std::string hash, std::string raw) {
    transaction::send(bench.desk(), {{"a", std::move(hash), std::move(raw), {}}}, bench.world.providers(),
                      bench.follow);
  };
  CHECK_THROWS_WITH(send(text::to_hex(sent.hash), text::to_hex(sent.raw)), Catch::Contains("no probe"));
  CHECK_THROWS_WITH(send("0x" + std::string(64, '0'), text::to_hex(sent.raw)), Catch::Contains("another hash"));
  CHECK_THROWS_WITH(send(text::to_hex(sent.hash), "0x02"), Catch::Contains("no signed"));
}

TEST_CASE("the argument of tx_send and tx_wait is read, and faults are named by place") {
  const std::string hash = "0x" + std::string(64, 'A');
  const auto read = parse_references(
      R"([{"provider_id":"a","tx_hash":")" + hash +
      R"(","raw":null,"timestamp":12.5,"state":"prepared"},{"provider_id":"b","tx_hash":")" + hash + R"("}])");
  REQUIRE(read.size() == 1);
  CHECK(read[0].provider_id == "a");
  CHECK(read[0].tx_hash == text::lower(hash));
  CHECK(read[0].timestamp == 12.5);
  CHECK(parse_references("[]").empty());
  for (const char* bad : {"", "{}", "[1]", R"([{"tx_hash":"0x"}])", R"([{"provider_id":"a","tx_hash":"0x12"}])"}) {
    CHECK_THROWS_AS(parse_references(bad), std::invalid_argument);
  }
}

TEST_CASE("a prepared transaction is not sent behind a gap because one provider alone counts past it") {
  Bench bench({"a", "b"});
  bench.plan.n = 2;
  bench.plan.send = false;
  const auto prepared = bench.scan();
  bench.world.nodes["a"].habits["eth_getTransactionCount"] = instead(result("\"0x1\""));
  const auto late = bench.send({prepared.at(1)});
  CHECK(late.at(0).state == State::rejected);
  CHECK(sends(bench.world) == 0);
}

TEST_CASE("what an earlier run has sent keeps its number and is not rejected, whatever hinders the next run") {
  Bench bench({"a", "b"});
  bench.drawn("a");
  bench.plan.send = false;
  auto prepared = bench.scan();
  CHECK(bench.send(prepared).at(0).state == State::pending);
  const auto stage = [&] { return bench.book.try_lease(31337, first_account)->find("", 0)->stage; };
  const auto again = [&] {
    return Bench::all_of(*transaction::send(bench.another_desk(), Bench::references(prepared), bench.world.providers(),
                                            bench.follow))
        .at(0);
  };
  SECTION("no provider answers") {
    for (auto& [id, node] : bench.world.nodes) node.up = false;
    CHECK(again().state == State::pending);
    CHECK(stage() == BookStage::taken);
    prepared[0].timestamp -= 1000;
    CHECK(again().state == State::pending);
    CHECK(stage() == BookStage::taken);
  }
  SECTION("no backend knows it yet, and the gateway turns it away") {
    for (auto& [id, node] : bench.world.nodes) {
      node.habits["eth_getTransactionByHash"] = instead(result("null"));
      node.habits["eth_getTransactionCount"] = instead(result("\"0x0\""));
    }
    bench.world.nodes["a"].faults[send_raw] = {instead(http_error(429))};
    CHECK(again().state == State::pending);
    CHECK(stage() == BookStage::sent);
  }
  SECTION("another row names the same bytes") {
    prepared[0].provider_id = "b";
    CHECK(bench.send(prepared).at(0).state == State::rejected);
    CHECK(stage() == BookStage::taken);
  }
}

TEST_CASE("bytes that were sent for one row are no transaction of another's") {
  Bench bench({"a", "b"});
  bench.plan.send = false;
  const auto prepared = bench.scan();
  const auto sent = bench.send(prepared);
  REQUIRE(sent.at(0).state == State::pending);
  auto row = prepared;
  SECTION("through another provider") {
    row[0].provider_id = row[0].provider_id == "a" ? "b" : "a";
  }
  SECTION("prepared at another moment") {
    row[0].timestamp -= 1;
  }
  const auto again = bench.send(row);
  CHECK(again.at(0).state == State::rejected);
  CHECK(again.at(0).error_class == rpc::ErrorClass::nonce);
  // The row itself may be handed in again, as it was prepared or as it was sent, in the digits that JSON has.
  auto same = prepared;
  same[0].timestamp = std::round(sent[0].timestamp * 1e5) / 1e5;
  CHECK(bench.send(same).at(0).state == State::pending);
  CHECK(bench.send(prepared).at(0).state == State::pending);
  CHECK(sends(bench.world) == 1);
}

TEST_CASE("prepared bytes whose number was given to another transaction are not sent") {
  Bench bench({"a", "b"});
  bench.plan.send = false;
  const auto prepared = bench.scan();
  bench.plan.send = true;
  CHECK(bench.only().nonce == 0);
  const auto late = bench.send(prepared);
  CHECK(late.at(0).state == State::rejected);
  CHECK(late.at(0).error_class == rpc::ErrorClass::nonce);
  CHECK(sends(bench.world) == 1);
}

TEST_CASE("a prepared transaction waits for what an interrupted run sent before it, and does not follow lost bytes") {
  Bench bench({"a", "b"});
  World::Node& node = bench.drawn("a");
  bench.plan.n = 2;
  bench.plan.send = false;
  const auto prepared = bench.scan();
  const auto reset = failure(rpc::ErrorClass::connect, "reset");
  const bool is_lost = GENERATE(false, true);
  node.faults[send_raw] = {is_lost ? instead(reset) : after(reset)};
  const auto first = Bench::references({prepared.at(0)});
  auto sending = transaction::send(bench.desk([&] { return node.asked[send_raw] > 0; }), first, bench.world.providers(),
                                   bench.follow);
  CHECK_THROWS_AS(sending->next(), rpc::Interrupted);
  sending.reset();
  for (auto& [id, any] : bench.world.nodes) any.habits["eth_getTransactionCount"] = instead(result("\"0x0\""));
  const auto second = bench.send({prepared.at(1)});
  CHECK(second.at(0).state == (is_lost ? State::rejected : State::pending));
  CHECK(sends(bench.world) == (is_lost ? 1 : 2));
  CHECK(bench.world.seconds() < 10);
}
