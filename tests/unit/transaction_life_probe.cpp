#include <catch2/catch.hpp>
#include <cstdlib>
#include <set>

#include "transaction/life/verdict.hpp"
#include "transaction_bench.hpp"

using namespace rpcroute;
using namespace rpcroute::transaction;
using namespace rpcroute::transaction::test;

TEST_CASE("a probe is timed from its broadcast to the first receipt, and tells how it went") {
  Bench bench({"a", "b"});
  const Record record = bench.only();
  CHECK(record.state == State::confirmed);
  CHECK(record.status == 1);
  CHECK(record.nonce == 0);
  CHECK(record.overlap == 0);
  CHECK(record.propensity == 0.5);
  CHECK(record.region == "here");
  CHECK(record.chain == "testnet");
  CHECK(record.block_number == 1);
  CHECK(record.submit_head == 0);
  CHECK(record.blocks_waited == 1);
  CHECK(record.block_timestamp == 1'700'000'001);
  CHECK(record.gas_used == 21000);
  CHECK(record.effective_gas_price == 2'000'000'000);
  CHECK(record.duration_source == "receipt");
  CHECK(record.submit_ms == Approx(10));
  CHECK_FALSE(record.raw);
  CHECK_FALSE(record.error_class);
  const double mined_at = 1'700'000'001;
  CHECK(record.timestamp + *record.duration_sec >= mined_at);
  CHECK(record.timestamp + *record.duration_sec <= mined_at + 0.12);
  CHECK(bench.world.mined().at(*record.tx_hash) == 1);
}

TEST_CASE("a node that holds the account signs and sends by itself") {
  Bench bench({"a"});
  bench.plan.signer = "node";
  bench.world.nodes["a"].account = first_account;
  const Record record = bench.only();
  CHECK(record.state == State::confirmed);
  CHECK(record.nonce == 0);
  CHECK(bench.world.nodes["a"].asked["eth_sendTransaction"] == 1);
  CHECK(bench.world.mined().at(*record.tx_hash) == 1);
}

TEST_CASE("a node without an unlocked account gives a row that says so") {
  Bench bench({"a"});
  bench.plan.signer = "node";
  const Record record = bench.only();
  CHECK(record.state == State::rejected);
  CHECK(record.error.find("no account") != std::string::npos);
  CHECK(sends(bench.world) == 0);
}

TEST_CASE("a node's answer that is lost is found again by account and number, and nothing is sent twice") {
  Bench bench({"a", "b"});
  bench.plan.signer = "node";
  for (const char* id : {"a", "b"}) {
    bench.world.nodes[id].account = first_account;
    bench.world.nodes[id].faults["eth_sendTransaction"] = {after(failure(rpc::ErrorClass::connect, "reset"))};
  }
  const Record record = bench.only();
  CHECK(record.state == State::confirmed);
  CHECK(bench.world.mined().at(*record.tx_hash) == 1);
  CHECK(sends(bench.world) == 1);
}

TEST_CASE("while the reader of the rows pauses, no receipt is timed") {
  Bench bench({"a", "b"});
  bench.plan.n = 2;
  bench.plan.signer = "env:RPCROUTE_KEY,RPCROUTE_KEY_2";
  bench.world.nodes.at("b").passes_on = false;
  const auto scan = bench.scan_of(bench.world.providers(), {});
  const auto first = scan->next();
  REQUIRE(first);
  CHECK(first->provider_id == "a");
  CHECK(first->duration_source == "receipt");
  bench.world.nodes.at("b").passes_on = true;
  const double pause = GENERATE(5.0, 0.05);
  bench.world.pass(pause);
  const auto second = scan->next();
  REQUIRE(second);
  CHECK(second->state == State::confirmed);
  CHECK(second->duration_sec.has_value() == (pause < 0.1));
  CHECK(second->duration_source == (pause < 0.1 ? "receipt" : "block"));
  CHECK(second->block_timestamp);
}

TEST_CASE("without waiting, rows are pending once acknowledged and the overlap is counted") {
  Bench bench({"a"});
  bench.plan.n = 3;
  bench.plan.wait = false;
  const auto records = bench.scan();
  REQUIRE(records.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(records[i].state == State::pending);
    CHECK(records[i].nonce == i);
    CHECK(records[i].overlap == static_cast<std::int64_t>(i));
    CHECK(records[i].raw);
    CHECK_FALSE(records[i].duration_sec);
  }
}

TEST_CASE("'already known' is success") {
  Bench bench({"a", "b"});
  const std::string text =
      GENERATE("already known", "transaction already imported", "Known transaction: 0xab", "AlreadyKnown");
  bench.drawn("a").faults[send_raw] = {after(error(send_raw, -32000, text))};
  CAPTURE(text);
  const Record record = bench.only();
  CHECK(record.state == State::confirmed);
  CHECK(record.submit_ms);
}

TEST_CASE("words that only look like success are none") {
  const std::string text = GENERATE("Unknown RPC error", "unknown transaction type", "nonce too high",
                                    "unknown account", "transaction type not supported");
  CAPTURE(text);
  CHECK(judge_send(error(send_raw, -32000, text)) != Acceptance::accepted);
  Bench bench({"a", "b"});
  bench.drawn("a").faults[send_raw] = {instead(error(send_raw, -32000, text))};
  const Record record = bench.only();
  CHECK(record.state == State::rejected);
  CHECK(record.error == text);
  CHECK(record.error_class);
  CHECK(bench.world.mined().empty());
}

TEST_CASE("a transaction that landed although the answer was bad is accepted, and sent once") {
  Bench bench({"a", "b"});
  World::Node& node = bench.drawn("a");
  SECTION("nonce too low") {
    node.faults[send_raw] = {after(error(send_raw, -32003, "nonce too low"))};
  }
  SECTION("replacement underpriced, yet mined") {
    node.faults[send_raw] = {after(error(send_raw, -32000, "replacement transaction underpriced"))};
  }
  SECTION("a 5xx after acceptance") {
    node.faults[send_raw] = {after(http_error(502))};
  }
  SECTION("a reset after acceptance") {
    node.faults[send_raw] = {after(failure(rpc::ErrorClass::connect, "reset"))};
  }
  SECTION("a timeout after acceptance") {
    node.faults[send_raw] = {after(failure(rpc::ErrorClass::timeout))};
  }
  SECTION("garbage after acceptance") {
    node.faults[send_raw] = {after(result("\"0x1234\""))};
  }
  SECTION("an internal error after acceptance") {
    node.faults[send_raw] = {after(error(send_raw, -32603, "internal error"))};
  }
  const Record record = bench.only();
  CHECK(record.state == State::confirmed);
  CHECK_FALSE(record.error_class);
  CHECK_FALSE(record.submit_ms);
  CHECK(*record.duration_sec < 1.2);
  CHECK(sends(bench.world) == 1);
  CHECK(bench.world.mined().at(*record.tx_hash) == 1);
}

TEST_CASE("a transaction that nobody took is rejected with its class, and its number is used by the next") {
  Bench bench({"a", "b"});
  World::Node& node = bench.drawn("a");
  auto expected = rpc::ErrorClass::underpriced;
  SECTION("underpriced") {
    node.faults[send_raw] = {instead(error(send_raw, -32000, "transaction underpriced"))};
  }
  SECTION("no funds") {
    node.faults[send_raw] = {instead(error(send_raw, -32000, "insufficient funds for gas * price + value"))};
    expected = rpc::ErrorClass::funds;
  }
  SECTION("turned away by a gateway") {
    auto answer = failure(rpc::ErrorClass::rate_limited);
    answer.http_status = 429;
    node.faults[send_raw] = {instead(answer)};
    expected = rpc::ErrorClass::rate_limited;
  }
  SECTION("a connection that was refused") {
    node.faults[send_raw] = {instead(refused_connection())};
    expected = rpc::ErrorClass::connect;
  }
  SECTION("a complaint in words that nobody knows") {
    node.faults[send_raw] = {instead(error(send_raw, -32000, "SomeReasonOfOurOwn"))};
    expected = rpc::ErrorClass::rpc;
  }
  bench.plan.n = 2;
  const auto records = bench.scan();
  REQUIRE(records.size() == 2);
  CHECK(records[0].state == State::rejected);
  CHECK(records[0].error_class == expected);
  CHECK_FALSE(records[0].duration_sec);
  CHECK_FALSE(records[0].tx_hash);
  CHECK_FALSE(records[0].max_cost_gwei);
  CHECK(records[1].state == State::confirmed);
  CHECK(records[1].nonce == 0);
  CHECK(bench.world.seconds() < 10);
}

TEST_CASE("what left and was lost is a timeout, whatever went wrong with its answer") {
  Bench bench({"a", "b"});
  World::Node& node = bench.drawn("a");
  SECTION("reset") {
    node.faults[send_raw] = {instead(failure(rpc::ErrorClass::connect, "reset"))};
  }
  SECTION("5xx") {
    node.faults[send_raw] = {instead(http_error(503))};
  }
  SECTION("too large") {
    node.faults[send_raw] = {instead(failure(rpc::ErrorClass::too_large))};
  }
  SECTION("not HTTP") {
    node.faults[send_raw] = {instead(failure(rpc::ErrorClass::malformed))};
  }
  SECTION("cannot be unpacked") {
    node.faults[send_raw] = {instead(failure(rpc::ErrorClass::connect))};
  }
  bench.plan.n = 2;
  bench.plan.follow.timeout_sec = 10;
  const auto records = bench.scan();
  REQUIRE(records.size() == 2);
  CHECK(records[0].state == State::timeout);
  CHECK(records[0].error_class);
  CHECK(records[0].duration_sec == 10);
  CHECK(records[0].tx_hash);
  CHECK(records[0].max_cost_gwei == 63000);
  CHECK(records[1].state == State::confirmed);
  CHECK(records[1].nonce == 0);
  // Of one number two transactions may be out; two rows are never one transaction.
  CHECK(records[1].tx_hash != records[0].tx_hash);
}

TEST_CASE("an account that cannot pay sends nothing") {
  Bench bench({"a"});
  bench.world.balance = "0x1";
  const Record record = bench.only();
  CHECK(record.state == State::rejected);
  CHECK(record.error_class == rpc::ErrorClass::funds);
  CHECK(sends(bench.world) == 0);
}

TEST_CASE("a transaction that never comes is charged its limit, and its number is free again") {
  Bench bench({"a", "b"});
  bench.drawn("a");
  bench.plan.n = 2;
  bench.plan.follow.timeout_sec = 4;
  bool dropped = false;
  bench.world.nodes["a"].faults[send_raw] = {[&](const auto& honest) {
    const auto answer = honest();
    bench.world.pool.clear();
    dropped = true;
    return answer;
  }};
  const auto records = bench.scan();
  REQUIRE(dropped);
  REQUIRE(records.size() == 2);
  CHECK(records[0].state == State::timeout);
  CHECK(records[0].duration_sec == 4);
  CHECK_FALSE(records[0].duration_source);
  CHECK(records[0].submit_ms);
  CHECK(records[1].state == State::confirmed);
  CHECK(records[1].nonce == records[0].nonce);
}

TEST_CASE("a transaction that is still in the pool at its limit keeps its number") {
  Bench bench({"a"});
  bench.plan.n = 2;
  bench.plan.follow.timeout_sec = 5;
  bench.world.block_time_sec = 7;
  const auto records = bench.scan();
  CHECK(records[0].state == State::timeout);
  CHECK(records[1].nonce == 1);
  CHECK(records[1].overlap == 1);
}

TEST_CASE("a receipt that vanishes in a reorganisation is followed to its last block") {
  Bench bench({"a"});
  bench.world.block_time_sec = 12;
  bool reorganised = false;
  for (auto& [id, node] : bench.world.nodes) {
    node.habits["eth_getTransactionReceipt"] = [&](const auto& honest) {
      const auto answer = honest();
      // Just after the first sight, the block is replaced by one without the transaction.
      if (!reorganised && answer.result != "null") {
        bench.world.reorganise();
        reorganised = true;
      }
      return answer;
    };
  }
  const Record record = bench.only();
  REQUIRE(reorganised);
  CHECK(record.state == State::confirmed);
  CHECK(record.block_number == 2);
  CHECK(*record.duration_sec > 20);
}

TEST_CASE("a receipt that vanishes for good is a timeout") {
  Bench bench({"a"});
  bench.plan.follow.timeout_sec = 5;
  bool vanished = false;
  bench.world.nodes["a"].habits["eth_getTransactionReceipt"] = [&](const auto& honest) {
    const auto answer = honest();
    if (!vanished && answer.result != "null") {
      bench.world.reorganise();
      bench.world.pool.clear();
      vanished = true;
    }
    return answer;
  };
  const Record record = bench.only();
  REQUIRE(vanished);
  CHECK(record.state == State::timeout);
  CHECK(record.duration_sec == 5);
  CHECK_FALSE(record.block_number);
}

TEST_CASE("a receipt that is being indexed is not there yet") {
  Bench bench({"a", "b"});
  bench.drawn("a");
  const auto indexing = error("eth_getTransactionReceipt", -32000, "transaction indexing is in progress");
  bench.world.nodes["a"].habits["eth_getTransactionReceipt"] = [&](const auto& honest) {
    return bench.world.head() < 5 ? indexing : honest();
  };
  const Record record = bench.only();
  CHECK(record.state == State::confirmed);
  CHECK(record.block_number == 1);
  CHECK(*record.duration_sec < 1.2);
  CHECK(*record.own_receipt_sec > 4.9);
}

TEST_CASE("a provider that stalls delays nobody's receipt") {
  Bench bench({"a", "b", "c"});
  bench.drawn("a");
  bench.world.on_block = [](World& world) { world.nodes["c"].stalls_sec = 100; };
  bench.plan.n = 2;
  for (const auto& record : bench.scan()) {
    CHECK(record.state == State::confirmed);
    CHECK(std::abs(record.timestamp + *record.duration_sec - (1'700'000'000 + double(*record.block_number))) < 0.12);
  }
}

TEST_CASE("a provider that lies about the height does not become the head at the broadcast") {
  Bench bench({"a", "b", "c"});
  bench.drawn("a");
  bench.world.nodes["c"].habits["eth_blockNumber"] = [](const auto&) { return result("\"0x1c9c380\""); };
  bench.world.nodes["b"].lag = 0;
  CHECK_FALSE(bench.only().submit_head == 30'000'000);
}

TEST_CASE("a transaction that one answer denies at its limit, and the next one shows, keeps its number") {
  Bench bench({"a"});
  bench.plan.n = 2;
  bench.plan.follow.timeout_sec = 5;
  bench.world.block_time_sec = 7;
  bench.world.nodes["a"].habits["eth_getTransactionCount"] = instead(result("\"0x0\""));
  bench.world.nodes["a"].faults["eth_getTransactionByHash"] = {instead(result("null"))};
  const auto records = bench.scan();
  CHECK(records[0].state == State::timeout);
  CHECK(records[0].duration_sec == 5);
  CHECK(records[1].nonce == 1);
}
