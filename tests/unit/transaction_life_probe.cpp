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

namespace {

const std::string receipt_method = "eth_getTransactionReceipt";

/// An honest receipt with something else in it; null stays null.
World::Fault with(std::function<void(std::string&)> change) {
  return [change](const auto& honest) {
    auto answer = honest();
    if (answer.result != "null") change(answer.result);
    return answer;
  };
}

void replace_member(std::string& json, const std::string& name, const std::string& value) {
  const auto at = json.find('"' + name + "\":") + name.size() + 3;
  json.replace(at, json.find_first_of(",}", at) - at, value);
}

}  // namespace

TEST_CASE("pending is pending however it is said") {
  const std::string words = GENERATE("", "a receipt without a block", "transaction not found", "not found",
                                     "unknown transaction", "transaction indexing is in progress", "receipt not found");
  CAPTURE(words);
  Bench bench({"a"});
  bench.world.block_time_sec = 2;
  bench.world.nodes["a"].habits[receipt_method] = [&](const auto& honest) {
    const auto answer = honest();
    if (answer.result != "null" || words.empty() || bench.world.pool.empty()) return answer;
    if (words != "a receipt without a block") return error(receipt_method, -32000, words);
    return result(R"({"transactionHash":")" + bench.world.pool.front().hash +
                  R"(","blockHash":null,"blockNumber":null})");
  };
  SECTION("to one statement") {
    CHECK(*bench.only().duration_sec == Approx(2).margin(0.15));
  }
  SECTION("to the script's statements") {
    bench.plan.send = false;
    const auto resolved = bench.wait(bench.send(bench.scan()));
    CHECK(resolved.at(0).state == State::confirmed);
    REQUIRE(resolved.at(0).duration_sec);
    CHECK(*resolved.at(0).duration_sec == Approx(2).margin(0.15));
  }
}

TEST_CASE("a receipt is not believed without its block") {
  const std::string zero = "0x" + std::string(64, '0');
  const std::string other = "0x" + std::string(64, '7');
  struct Claimed {
    std::string hash;
    std::string number;
  };
  const auto claimed =
      GENERATE_COPY(Claimed{zero, "0x1"}, Claimed{zero, "0x3b9aca00"}, Claimed{other, "0x3b9aca00"},
                    Claimed{other, "0x0"}, Claimed{other, "0x1"}, Claimed{other, "0xffffffffffffffff"});
  CAPTURE(claimed.hash, claimed.number);
  Bench bench({"a", "b"});
  bench.drawn("a");
  bench.plan.follow.timeout_sec = 6;
  bench.world.block_time_sec = 3;
  // It shows one from the moment it has taken the transaction on.
  bool shown = false;
  bench.world.nodes["a"].habits[receipt_method] = [&](const auto& honest) {
    const auto answer = honest();
    if (answer.result != "null" || bench.world.pool.empty()) return answer;
    shown = true;
    return result(R"({"transactionHash":")" + bench.world.pool.front().hash + R"(","blockHash":")" + claimed.hash +
                  R"(","blockNumber":")" + claimed.number + R"(","status":"0x1"})");
  };
  SECTION("when the transaction is mined in the end") {
    const Record record = bench.only();
    CHECK(record.state == State::confirmed);
    CHECK(record.block_number == 1);
    CHECK(*record.duration_sec > 2.8);
    CHECK(*record.duration_sec < 3.3);
  }
  SECTION("when it is dropped") {
    bench.world.on_block = [](World& world) {
      world.blocks.back().transfers.clear();
      world.pool.clear();
    };
    const Record record = bench.only();
    CHECK(record.state == State::timeout);
    CHECK_FALSE(record.block_number);
    CHECK(record.duration_sec == 6);
  }
  CHECK(shown);
}

TEST_CASE("the moment of a preconfirmation is kept") {
  Bench bench({"a"});
  bench.world.block_time_sec = 2;
  bench.world.nodes["a"].habits[receipt_method] = [&](const auto& honest) {
    auto answer = honest();
    if (answer.result != "null" || bench.world.pool.empty()) return answer;
    return result(R"({"transactionHash":")" + bench.world.pool.front().hash + R"(","blockHash":"0x)" +
                  std::string(64, '0') + R"(","blockNumber":"0x9","status":"0x1"})");
  };
  const Record record = bench.only();
  CHECK(*record.preconfirmed_sec < 0.3);
  CHECK(*record.duration_sec > 1.8);
}

TEST_CASE("an odd optional field voids no receipt") {
  Bench bench({"a"});
  std::optional<std::int64_t> gas = 21000;
  std::optional<std::int64_t> price = 2'000'000'000;
  std::optional<int> status = 1;
  const auto member = [&](const std::string& name, const std::string& value) {
    bench.world.nodes["a"].habits[receipt_method] = with([=](auto& json) { replace_member(json, name, value); });
  };
  SECTION("gas as a number") {
    member("gasUsed", "21000");
  }
  SECTION("a price that is none") {
    member("effectiveGasPrice", "\"0xNaN\"");
    price.reset();
  }
  SECTION("a status as a number") {
    member("status", "1");
  }
  SECTION("gas that is an object") {
    member("gasUsed", "[]");
    gas.reset();
  }
  SECTION("a price that fits in no column") {
    member("effectiveGasPrice", "\"0xffffffffffffffff\"");
    price.reset();
  }
  SECTION("a height as a number") {
    member("blockNumber", "1");
  }
  const Record record = bench.only();
  CHECK(record.state == State::confirmed);
  CHECK(record.block_number == 1);
  CHECK(record.gas_used == gas);
  CHECK(record.effective_gas_price == price);
  CHECK(record.status == status);
}

TEST_CASE("one that nodes show in a block is confirmed though its receipt never comes") {
  Bench bench({"a", "b"});
  bench.plan.follow.timeout_sec = 5;
  rpc::Answer answer = result("null");
  SECTION("as null") {}
  SECTION("as something unreadable") {
    answer = result("[]");
  }
  SECTION("as a rate limit") {
    answer = error(receipt_method, 429, "too many requests");
  }
  for (auto& [id, node] : bench.world.nodes) node.habits[receipt_method] = instead(answer);
  const Record record = bench.only();
  CHECK(record.state == State::confirmed);
  CHECK(record.duration_source == "block");
  CHECK_FALSE(record.duration_sec);
  CHECK(record.block_number == 1);
  CHECK(record.block_timestamp == 1'700'000'001);
  CHECK_FALSE(record.error_class);
}

TEST_CASE("one whose receipt nobody was willing to speak of is not charged") {
  Bench bench({"a", "b"});
  bench.world.shows_blocks = false;
  bench.plan.follow.timeout_sec = 5;
  bench.plan.n = 2;
  for (auto& [id, node] : bench.world.nodes) {
    node.habits[receipt_method] = instead(error(receipt_method, 429, "too many requests"));
  }
  const Record record = bench.scan().at(0);
  CHECK(record.state == State::timeout);
  CHECK(record.error_class == rpc::ErrorClass::unobserved);
  CHECK(record.error.find("too many requests") != std::string::npos);
  CHECK_FALSE(record.duration_sec);
  CHECK(record.tx_hash);
}

TEST_CASE("a provider that asks to be left alone is, and one that fails is asked ever less") {
  Bench bench({"a"});
  bench.plan.follow.timeout_sec = 50;
  bench.world.shows_blocks = false;
  auto limited = error(receipt_method, 429, "too many requests");
  SECTION("for as long as it says") {
    limited.failure->retry_after_sec = 20;
    bench.world.nodes["a"].habits[receipt_method] = instead(limited);
    bench.only();
    CHECK(bench.world.nodes["a"].asked[receipt_method] <= 4);
  }
  SECTION("without a word for how long") {
    bench.world.nodes["a"].habits[receipt_method] = instead(limited);
    bench.only();
    CHECK(bench.world.nodes["a"].asked[receipt_method] < 12);
  }
}

TEST_CASE("a complaint in any words ends as a rejection within a few blocks, also in the script's statements") {
  const std::string words =
      GENERATE("SomeNameOfAnEnum", "internal error", "gas price below minimum: have 1, want 2", "nonce too low");
  CAPTURE(words);
  Bench bench({"a", "b"});
  bench.world.block_time_sec = GENERATE(1.0, 12.0);
  auto providers = bench.world.providers();
  bench.drawn("a").faults[send_raw] = {instead(error(send_raw, -32000, words))};
  SECTION("to one statement") {
    const Record record = bench.only();
    CHECK(record.state == State::rejected);
    CHECK(record.error == words);
  }
  SECTION("to the script's") {
    bench.plan.send = false;
    const auto sent = bench.send(bench.scan());
    CHECK(sent.at(0).state == State::rejected);
    CHECK(sent.at(0).error == words);
  }
  CHECK(bench.world.seconds() < 4.5 * bench.world.block_time_sec + 1);
}

TEST_CASE("a node's answers that say nothing leave the reason in the row") {
  Bench bench({"a"});
  bench.plan.follow.timeout_sec = 3;
  bench.world.nodes["a"].habits[receipt_method] = instead(result("[]"));
  bench.world.nodes["a"].habits["eth_getTransactionByHash"] = instead(result("[]"));
  const Record record = bench.only();
  CHECK(record.error_class == rpc::ErrorClass::unobserved);
  CHECK(record.error.find("receipt") != std::string::npos);
}

TEST_CASE("no receipt makes a transaction cheaper or dearer than its bytes and its block allow") {
  struct Claimed {
    std::string member;
    std::string value;
  };
  // 21000 gas, below a cap of 3 gwei, in a block whose base fee is 1 gwei.
  const auto claimed =
      GENERATE(Claimed{"gasUsed", "\"0x5209\""}, Claimed{"gasUsed", "\"0x7fffffffffffffff\""},
               Claimed{"gasUsed", "\"0x5207\""}, Claimed{"gasUsed", "\"0x0\""},
               Claimed{"effectiveGasPrice", "\"0xb2d05e01\""}, Claimed{"effectiveGasPrice", "\"0x7fffffffffffffff\""},
               Claimed{"effectiveGasPrice", "\"0x3b9ac9ff\""}, Claimed{"effectiveGasPrice", "\"0x0\""});
  CAPTURE(claimed.member, claimed.value);
  Bench bench({"a"});
  bench.world.nodes["a"].habits[receipt_method] =
      with([=](auto& json) { replace_member(json, claimed.member, claimed.value); });
  std::optional<Record> record;
  SECTION("to one statement") {
    record = bench.only();
  }
  SECTION("to the script's") {
    bench.plan.send = false;
    record = bench.wait(bench.send(bench.scan())).at(0);
  }
  CHECK(record->state == State::confirmed);
  CHECK(record->max_cost_gwei == 63000);
  CHECK(record->gas_used.has_value() == (claimed.member != "gasUsed"));
  CHECK(record->effective_gas_price.has_value() == (claimed.member != "effectiveGasPrice"));
}

TEST_CASE("a receipt's optional fields are what most providers say that show its block") {
  struct Liar {
    std::string member;
    std::string value;
  };
  const auto lie = GENERATE(Liar{"effectiveGasPrice", "\"0x9502f900\""}, Liar{"status", "\"0x0\""});
  const bool has_majority = GENERATE(false, true);
  CAPTURE(lie.member, has_majority);
  Bench bench({"a", "b"});
  if (has_majority) bench.world.nodes["c"];
  bench.drawn("a");
  // It shows its receipt last, when the others have shown theirs.
  const auto lying = with([=](auto& json) { replace_member(json, lie.member, lie.value); });
  bench.world.nodes["a"].habits[receipt_method] = [&](const auto& honest) {
    return bench.world.seconds() < 1.5 ? result("null") : lying(honest);
  };
  const Record record = bench.only();
  CHECK(record.state == State::confirmed);
  CHECK(record.gas_used == 21000);
  const bool is_price = lie.member == "effectiveGasPrice";
  CHECK(record.effective_gas_price.has_value() == (has_majority || !is_price));
  if (record.effective_gas_price) CHECK(record.effective_gas_price == 2'000'000'000);
  CHECK(record.status.has_value() == (has_majority || is_price));
}

namespace {

/// A node that signs by itself, and whose acknowledgement gets lost.
void sign_by_node(Bench& bench, const World::Fault& acknowledgement) {
  bench.plan.signer = "node";
  bench.plan.follow.poll_ms = 500;
  bench.plan.follow.timeout_sec = 10;
  for (auto& [id, node] : bench.world.nodes) {
    node.account = first_account;
    node.faults["eth_sendTransaction"] = {acknowledgement};
  }
}

}  // namespace

TEST_CASE("what a node signed and nobody can find any more is not charged, and keeps its number") {
  Bench bench({"a", "b"});
  const auto reset = failure(rpc::ErrorClass::connect, "reset");
  SECTION("for its block came and went between two looks") {
    bench.world.block_time_sec = 0.002;
    sign_by_node(bench, after(reset));
  }
  SECTION("for nobody answers") {
    sign_by_node(bench, [&](const auto& honest) {
      honest();
      for (auto& [id, node] : bench.world.nodes) node.up = false;
      return reset;
    });
  }
  const Record record = bench.only();
  CHECK(record.state == State::timeout);
  CHECK(record.error_class == rpc::ErrorClass::unobserved);
  CHECK_FALSE(record.error.empty());
  CHECK_FALSE(record.duration_sec);
  CHECK_FALSE(record.tx_hash);
  CHECK(record.nonce == 0);
  CHECK(record.max_cost_gwei == 63000);
  CHECK(bench.world.seconds() < 15);
  for (auto& [id, node] : bench.world.nodes) {
    node.up = true;
    node.faults.clear();
  }
  bench.world.block_time_sec = 1;
  CHECK(bench.only().nonce == 1);
}

TEST_CASE("what a node signed and lost is charged, on however fast a chain, and its number is given again") {
  Bench bench({"a", "b"});
  bench.world.block_time_sec = GENERATE(0.002, 1.0);
  sign_by_node(bench, instead(failure(rpc::ErrorClass::connect, "reset")));
  const Record record = bench.only();
  CHECK(record.state == State::timeout);
  CHECK(record.error_class == rpc::ErrorClass::connect);
  CHECK(record.duration_sec == 10);
  for (auto& [id, node] : bench.world.nodes) node.faults.clear();
  bench.plan.n = 2;
  const auto records = bench.scan();
  CHECK(records.at(0).nonce == 0);
  CHECK(records.at(1).nonce == 1);
}

namespace {

/// Providers whose rows say twelve seconds a block, as the chain has it.
std::vector<rpc::Provider> slow(Bench& bench) {
  bench.world.block_time_sec = 12;
  auto providers = bench.world.providers();
  for (rpc::Provider& provider : providers) provider.block_time_ms = 12'000;
  return providers;
}

/// A bench with the usual pace, and a time limit that is shorter than anybody's patience.
void hurry(Bench& bench, double timeout_sec) {
  bench.plan.follow.poll_ms = bench.follow.poll_ms = 500;
  bench.plan.follow.timeout_sec = bench.follow.timeout_sec = timeout_sec;
}

constexpr double last_words_sec = 15;  ///< beyond the limit, as the README has it

}  // namespace

TEST_CASE("a refusal is a rejection however short the time limit is") {
  const std::string words = GENERATE("transaction underpriced", "SomeNameOfAnEnum");
  const double latency = GENERATE(0.01, 0.45, 0.9);
  const double timeout = GENERATE(1.0, 2.0, 5.0);
  CAPTURE(words, latency, timeout);
  Bench bench({"a", "b"});
  const auto providers = slow(bench);
  hurry(bench, timeout);
  for (auto& [id, node] : bench.world.nodes) node.latency_sec = latency;
  bench.drawn("a").habits[send_raw] = instead(error(send_raw, -32000, words));
  const double begun = bench.world.seconds();
  const auto records = Bench::all_of(*bench.scan_of(providers));
  REQUIRE(records.size() == 1);
  CHECK(records[0].state == State::rejected);
  CHECK(records[0].error == words);
  CHECK_FALSE(records[0].duration_sec);
  CHECK(bench.world.seconds() - begun < timeout + last_words_sec);
}

TEST_CASE("a refusal is a rejection within a short time limit for those that do not wait, too") {
  const std::string words = GENERATE("transaction underpriced", "SomeNameOfAnEnum");
  const double timeout = GENERATE(1.0, 2.0, 5.0);
  CAPTURE(words, timeout);
  Bench bench({"a", "b"});
  const auto providers = slow(bench);
  hurry(bench, timeout);
  bench.drawn("a").habits[send_raw] = instead(error(send_raw, -32000, words));
  const double begun = bench.world.seconds();
  std::vector<Record> records;
  SECTION("a probe") {
    bench.plan.wait = false;
    records = Bench::all_of(*bench.scan_of(providers));
  }
  SECTION("prepared bytes") {
    bench.plan.send = false;
    const auto prepared = Bench::references(Bench::all_of(*bench.scan_of(providers)));
    records = Bench::all_of(*transaction::send(bench.desk(), prepared, providers, bench.follow));
  }
  REQUIRE(records.size() == 1);
  CHECK(records[0].state == State::rejected);
  CHECK(records[0].error == words);
  CHECK(bench.world.seconds() - begun < timeout + 1);
}

TEST_CASE("whoever was answered at first and by nobody at the end is not charged, however short the time limit is") {
  const double timeout = GENERATE(1.0, 2.0, 3.0, 4.0, 5.0);
  const bool stalls = GENERATE(false, true);
  CAPTURE(timeout, stalls);
  Bench bench({"a", "b"});
  hurry(bench, timeout);
  bench.world.block_time_sec = 0.3;
  bench.world.on_block = [&](World& world) {
    world.blocks.back().transfers.clear();
    world.pool.clear();
    for (auto& [id, node] : world.nodes) {
      node.up = stalls;
      node.stalls_sec = 100;
    }
  };
  const Record record = bench.only();
  CHECK(record.state == State::timeout);
  CHECK(record.submit_ms);
  CHECK(record.error_class == rpc::ErrorClass::unobserved);
  CHECK_FALSE(record.duration_sec);
  CHECK(bench.world.seconds() < timeout + last_words_sec);
}

TEST_CASE("nothing is waited for longer than its time limit and the last words") {
  const double timeout = GENERATE(1.0, 2.0, 3.0, 4.0, 5.0);
  CAPTURE(timeout);
  Bench bench({"a", "b"});
  const auto providers = slow(bench);
  hurry(bench, timeout);
  const double stalls = GENERATE(0.0, 1.5, 3.0, 100.0);
  for (auto& [id, node] : bench.world.nodes) {
    node.habits[send_raw] = [&](const auto& honest) {
      for (auto& [name, any] : bench.world.nodes) any.stalls_sec = stalls;
      honest();
      return failure(rpc::ErrorClass::connect, "reset");
    };
  }
  SECTION("a probe") {
    const auto records = Bench::all_of(*bench.scan_of(providers));
    CHECK(records.at(0).state == State::timeout);
    CHECK(records.at(0).duration_sec.has_value() == (stalls < 3.5));
    CHECK(bench.world.seconds() < timeout + last_words_sec);
  }
  SECTION("prepared bytes") {
    bench.plan.send = false;
    const auto prepared = Bench::references(Bench::all_of(*bench.scan_of(providers)));
    const auto sent = Bench::all_of(*transaction::send(bench.desk(), prepared, providers, bench.follow));
    CHECK(sent.at(0).state == State::pending);
    CHECK(bench.world.seconds() < timeout + 1);
    const auto resolved =
        Bench::all_of(*transaction::wait(bench.desk(), Bench::references(sent), providers, bench.follow));
    CHECK(resolved.at(0).state == (stalls < 3.5 ? State::timeout : State::pending));
    CHECK(bench.world.seconds() < timeout + last_words_sec);
  }
}
