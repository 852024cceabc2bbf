#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "transaction/transaction.hpp"
#include "transaction/draw.hpp"
#include "transaction/nonce/request.hpp"
#include "transaction/life/verdict.hpp"
#include "transaction_world.hpp"

using namespace rpcroute;
using namespace rpcroute::transaction;
using namespace rpcroute::transaction::test;

namespace {

// Accounts of the well-known test mnemonic: they guard nothing.
constexpr const char* first_key = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
constexpr const char* second_key = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";
const std::string first_account = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";

/// A world of honest nodes, and tx_probe pointed at it.
class Bench {
 public:
  explicit Bench(const std::vector<std::string>& ids) {
    setenv("RPCROUTE_KEY", first_key, 1);
    setenv("RPCROUTE_KEY_2", second_key, 1);
    for (const std::string& id : ids) world.nodes[id];
    plan.seed = 7;
    plan.timeout_sec = 60;
    plan.poll_ms = 100;
    plan.signer = "env:RPCROUTE_KEY";
  }
  ~Bench() {
    unsetenv("RPCROUTE_KEY");
    unsetenv("RPCROUTE_KEY_2");
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  std::vector<TransactionRecord> scan() {
    return all_of(TransactionScan(world, world.providers(), plan, "here", {}, {}, book));
  }

  TransactionRecord only() {
    const auto records = scan();
    REQUIRE(records.size() == 1);
    return records.front();
  }

  std::vector<TransactionRecord> send(const std::vector<TransactionRecord>& records) {
    return all_of(TransactionSend(world, references(records), world.providers(), follow, "here", {}, book));
  }

  std::vector<TransactionRecord> wait(const std::vector<TransactionRecord>& records) {
    return all_of(TransactionWait(world, references(records), world.providers(), follow, "here", {}, book));
  }

  template <class Rows>
  static std::vector<TransactionRecord> all_of(Rows&& rows) {
    std::vector<TransactionRecord> records;
    while (auto record = rows.next()) records.push_back(std::move(*record));
    return records;
  }

  static std::vector<TransactionReference> references(const std::vector<TransactionRecord>& records) {
    std::vector<TransactionReference> all;
    for (const auto& record : records) {
      all.push_back({record.provider_id, record.tx_hash.value_or(""), record.raw.value_or(""), record.timestamp});
    }
    return all;
  }

  /// Draws come to this node, and the others only watch.
  World::Node& drawn(const std::string& id) {
    plan.forced_providers = {id};
    return world.nodes.at(id);
  }

  World world;
  BookDirectory directory;
  NonceBook book{directory.path()};
  TransactionPlan plan;
  TransactionFollowPlan follow{60, 100, rpc::Milliseconds(3500)};
};

/// The node does its work, and the answer says something else.
World::Fault after(rpc::Answer answer) {
  return [answer](const auto& honest) {
    honest();
    return answer;
  };
}

/// The node does nothing but answer this.
World::Fault instead(rpc::Answer answer) {
  return [answer](const auto&) { return answer; };
}

int sends(const World& world) {
  int all = 0;
  for (const auto& [id, node] : world.nodes) {
    for (const char* method : {"eth_sendRawTransaction", "eth_sendTransaction"}) {
      const auto found = node.asked.find(method);
      if (found != node.asked.end()) all += found->second;
    }
  }
  return all;
}

const std::string send_raw = "eth_sendRawTransaction";

}  // namespace

TEST_CASE("a probe is timed from its broadcast to the first receipt, and tells how it went") {
  Bench bench({"a", "b"});
  const TransactionRecord record = bench.only();
  CHECK(record.state == TransactionState::confirmed);
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
  const TransactionRecord record = bench.only();
  CHECK(record.state == TransactionState::confirmed);
  CHECK(record.nonce == 0);
  CHECK(bench.world.nodes["a"].asked["eth_sendTransaction"] == 1);
  CHECK(bench.world.mined().at(*record.tx_hash) == 1);
}

TEST_CASE("a node without an unlocked account gives a row that says so") {
  Bench bench({"a"});
  bench.plan.signer = "node";
  const TransactionRecord record = bench.only();
  CHECK(record.state == TransactionState::rejected);
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
  const TransactionRecord record = bench.only();
  CHECK(record.state == TransactionState::confirmed);
  CHECK(bench.world.mined().at(*record.tx_hash) == 1);
  CHECK(sends(bench.world) == 1);
}

TEST_CASE("transactions of one key go one after another, with numbers that follow each other") {
  Bench bench({"a", "b", "c"});
  bench.plan.n = 12;
  const auto records = bench.scan();
  REQUIRE(records.size() == 12);
  std::set<std::string> providers;
  for (std::size_t i = 0; i < records.size(); ++i) {
    CHECK(records[i].state == TransactionState::confirmed);
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
    CHECK(record.state == TransactionState::confirmed);
    CHECK(record.overlap == 0);
    CHECK(*record.duration_sec < 1.2);
  }
  CHECK(bench.world.seconds() < 7);
}

TEST_CASE("while the reader of the rows pauses, no receipt is timed") {
  Bench bench({"a", "b"});
  bench.plan.n = 2;
  bench.plan.signer = "env:RPCROUTE_KEY,RPCROUTE_KEY_2";
  bench.world.nodes.at("b").passes_on = false;
  TransactionScan scan(bench.world, bench.world.providers(), bench.plan, "here", {}, {}, bench.book);
  const auto first = scan.next();
  REQUIRE(first);
  CHECK(first->provider_id == "a");
  CHECK(first->duration_source == "receipt");
  bench.world.nodes.at("b").passes_on = true;
  const double pause = GENERATE(5.0, 0.05);
  bench.world.pass(pause);
  const auto second = scan.next();
  REQUIRE(second);
  CHECK(second->state == TransactionState::confirmed);
  CHECK(second->duration_sec.has_value() == (pause < 0.1));
  CHECK(second->duration_source == (pause < 0.1 ? "receipt" : "block"));
  CHECK(second->block_timestamp);
}

TEST_CASE("rows are handed out before the next transaction is sent, so that LIMIT 1 sends one") {
  Bench bench({"a"});
  bench.plan.n = 5;
  TransactionScan scan(bench.world, bench.world.providers(), bench.plan, "here", {}, {}, bench.book);
  REQUIRE(scan.next());
  CHECK(sends(bench.world) == 1);
}

TEST_CASE("without waiting, rows are pending once acknowledged and the overlap is counted") {
  Bench bench({"a"});
  bench.plan.n = 3;
  bench.plan.wait = false;
  const auto records = bench.scan();
  REQUIRE(records.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(records[i].state == TransactionState::pending);
    CHECK(records[i].nonce == i);
    CHECK(records[i].overlap == static_cast<std::int64_t>(i));
    CHECK(records[i].raw);
    CHECK_FALSE(records[i].duration_sec);
  }
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
    for (const auto& record :
         Bench::all_of(TransactionScan(bench.world, providers, bench.plan, "", {}, {}, bench.book))) {
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
      CHECK(record.state == TransactionState::confirmed);
      continue;
    }
    ++down;
    CHECK(record.state == TransactionState::rejected);
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
    CHECK(records[i].state == TransactionState::confirmed);
    CHECK(records[i].propensity == Approx(1.0 / 3));
    CHECK(records[i].provider_id != "c");
  }
  CHECK(records.back().provider_id == "c");
  CHECK(records.back().state == TransactionState::rejected);
  CHECK(records.back().error_class == rpc::ErrorClass::wrong_chain);
  CHECK(bench.world.nodes["c"].asked[send_raw] == 0);
}

TEST_CASE("nothing goes to a mainnet unless it is allowed") {
  Bench bench({"a"});
  auto providers = bench.world.providers();
  auto rows = [&] {
    return Bench::all_of(TransactionScan(bench.world, providers, bench.plan, "", {}, {}, bench.book));
  };
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
  CHECK(refused[0].state == TransactionState::rejected);
  CHECK(refused[0].error_class == rpc::ErrorClass::mainnet);
  CHECK(sends(bench.world) == 0);
  bench.plan.allow_mainnet = true;
  CHECK(rows().at(0).state == TransactionState::confirmed);
}

TEST_CASE("providers of several chains need a choice, unless all but one are mainnets") {
  Bench bench({"a", "b"});
  auto providers = bench.world.providers();
  providers[1].chain = "othernet";
  auto scan = [&] { TransactionScan(bench.world, providers, bench.plan, "", {}, {}, bench.book); };
  CHECK_THROWS_WITH(scan(), Catch::Contains("othernet, testnet"));
  SECTION("by its flag") {
    providers[1].is_mainnet = true;
  }
  SECTION("by its id") {
    providers[1].chain_id = 1;
  }
  CHECK_NOTHROW(scan());
  bench.plan.forced_providers = {"b"};
  const auto rows = Bench::all_of(TransactionScan(bench.world, providers, bench.plan, "", {}, {}, bench.book));
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].provider_id == "b");
  CHECK(rows[0].error_class == rpc::ErrorClass::mainnet);
  for (auto& provider : providers) provider.kind = rpc::ChainKind::solana;
  CHECK_THROWS_WITH(scan(), Catch::Contains("EVM chains only"));
}

TEST_CASE("a forced provider is the only one to send, without a propensity, while the others watch") {
  Bench bench({"a", "b"});
  bench.drawn("a").lag = 2;
  const TransactionRecord record = bench.only();
  CHECK(record.provider_id == "a");
  CHECK_FALSE(record.propensity);
  CHECK(record.state == TransactionState::confirmed);
  CHECK(*record.duration_sec < 1.2);
  CHECK(*record.own_receipt_sec > 2);
  CHECK(bench.world.nodes["b"].asked[send_raw] == 0);
}

TEST_CASE("'already known' is success") {
  Bench bench({"a", "b"});
  const std::string text =
      GENERATE("already known", "transaction already imported", "Known transaction: 0xab", "AlreadyKnown");
  bench.drawn("a").faults[send_raw] = {after(error(send_raw, -32000, text))};
  CAPTURE(text);
  const TransactionRecord record = bench.only();
  CHECK(record.state == TransactionState::confirmed);
  CHECK(record.submit_ms);
}

TEST_CASE("words that only look like success are none") {
  const std::string text = GENERATE("Unknown RPC error", "unknown transaction type", "nonce too high",
                                    "unknown account", "transaction type not supported");
  CAPTURE(text);
  CHECK(judge_send(error(send_raw, -32000, text)).acceptance != Acceptance::accepted);
  Bench bench({"a", "b"});
  bench.drawn("a").faults[send_raw] = {instead(error(send_raw, -32000, text))};
  const TransactionRecord record = bench.only();
  CHECK(record.state == TransactionState::rejected);
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
  const TransactionRecord record = bench.only();
  CHECK(record.state == TransactionState::confirmed);
  CHECK_FALSE(record.error_class);
  CHECK_FALSE(record.submit_ms);
  CHECK(*record.duration_sec < 1.2);
  CHECK(sends(bench.world) == 1);
  CHECK(bench.world.mined().at(*record.tx_hash) == 1);
}

TEST_CASE("a transaction that nobody took is rejected with its class, and its number is used by the next") {
  Bench bench({"a", "b"});
  World::Node& node = bench.drawn("a");
  rpc::ErrorClass expected = rpc::ErrorClass::http;
  SECTION("a 5xx before acceptance") {
    node.faults[send_raw] = {instead(http_error(503))};
  }
  SECTION("underpriced") {
    node.faults[send_raw] = {instead(error(send_raw, -32000, "transaction underpriced"))};
    expected = rpc::ErrorClass::underpriced;
  }
  SECTION("no funds") {
    node.faults[send_raw] = {instead(error(send_raw, -32000, "insufficient funds for gas * price + value"))};
    expected = rpc::ErrorClass::funds;
  }
  SECTION("rate limit") {
    node.faults[send_raw] = {instead(failure(rpc::ErrorClass::rate_limited))};
    expected = rpc::ErrorClass::rate_limited;
  }
  SECTION("reset before acceptance") {
    node.faults[send_raw] = {instead(failure(rpc::ErrorClass::connect, "reset"))};
    expected = rpc::ErrorClass::connect;
  }
  bench.plan.n = 2;
  const auto records = bench.scan();
  REQUIRE(records.size() == 2);
  CHECK(records[0].state == TransactionState::rejected);
  CHECK(records[0].error_class == expected);
  CHECK_FALSE(records[0].duration_sec);
  CHECK(records[1].state == TransactionState::confirmed);
  CHECK_FALSE(records[0].tx_hash);
  CHECK(records[1].nonce == 0);
}

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
  const TransactionRecord record = bench.only();
  CHECK(record.state == TransactionState::confirmed);
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
    CHECK(records[i].state == TransactionState::confirmed);
    CHECK(records[i].nonce == i);
    CHECK(records[i].overlap == 0);
  }
}

TEST_CASE("a chain that began anew is numbered anew") {
  Bench bench({"a"});
  bench.plan.n = 3;
  CHECK(bench.scan().back().nonce == 2);
  bench.world.blocks.resize(1);
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
  const auto records = Bench::all_of(TransactionScan(another, another.providers(), bench.plan, "", {}, {}, bench.book));
  CHECK(records.at(0).nonce == 0);
}

TEST_CASE("a sent transaction that nobody shows is believed for a moment, then unless its provider denies it") {
  BookEntry entry{5, BookStage::sent, "0xab", "a", "", 100, 1000, this_process(), this_process_started()};
  CHECK(is_believed_unseen(entry, 1004, 100, true));
  CHECK_FALSE(is_believed_unseen(entry, 1006, 100, true));
  CHECK(is_believed_unseen(entry, 1050, 100, false));
  CHECK_FALSE(is_believed_unseen(entry, 1061, 100, false));
  CHECK_FALSE(is_believed_unseen(entry, 1004, 99, false));
  entry.stage = BookStage::mined;
  CHECK_FALSE(is_believed_unseen(entry, 1001, 100, false));
  entry.stage = BookStage::prepared;
  CHECK(is_believed_unseen(entry, 1050, 100, true));
  entry.process_started += 1;
  CHECK_FALSE(is_believed_unseen(entry, 1001, 100, false));
}

TEST_CASE("the book survives its process, and lines that are damaged are skipped") {
  const BookDirectory directory;
  const NonceBook book(directory.path());
  const BookEntry entry{5, BookStage::sent, "0xab", "a provider", "0xcd", 100, 1000.25, 7, 8};
  book.try_lease(1, "x")->put(entry);
  const auto file = *std::filesystem::directory_iterator(directory.path());
  CHECK((std::filesystem::status(file).permissions() & std::filesystem::perms::group_all) ==
        std::filesystem::perms::none);
  std::ofstream(file.path(), std::ios::app) << "9 q - 1 1 1 1 0x -\nnonsense\n";
  auto lease = NonceBook(directory.path()).try_lease(1, "x");
  CHECK(lease->entries("0xcd") == std::map<std::uint64_t, BookEntry>{{5, entry}});
  CHECK(lease->entries("") == lease->entries("0xcd"));
  CHECK(lease->entries("0xef").empty());
  lease->erase(5, "0xother");
  CHECK_FALSE(lease->entries("").empty());
  lease->erase(5, "0xab");
  CHECK(lease->entries("").empty());
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
  const TransactionRecord record = bench.only();
  CHECK(record.state == TransactionState::confirmed);
  CHECK(record.block_number == 4);
}

TEST_CASE("a holder of the account that never ends is not waited for longer than the time limit") {
  Bench bench({"a"});
  const auto lease = NonceBook(bench.directory.path()).try_lease(31337, first_account);
  const TransactionRecord record = bench.only();
  CHECK(record.state == TransactionState::rejected);
  CHECK(record.error_class == rpc::ErrorClass::nonce);
  CHECK(sends(bench.world) == 0);
  CHECK(bench.world.seconds() < bench.plan.timeout_sec + 1);
}

TEST_CASE("a book in a directory that others can write is refused") {
  const BookDirectory directory;
  std::filesystem::permissions(directory.path(), std::filesystem::perms::all);
  CHECK_THROWS_WITH(NonceBook(directory.path()).try_lease(1, "a"), Catch::Contains("not ours alone"));
}

TEST_CASE("the next number fills a gap before it goes on") {
  CHECK(choose_nonce(5, {}) == 5);
  CHECK(choose_nonce(5, {{5, true}, {6, true}}) == 7);
  CHECK(choose_nonce(5, {{5, false}, {6, true}}) == 5);
  CHECK(choose_nonce(5, {{4, true}, {6, true}}) == 5);
}

TEST_CASE("a spending limit stops the scan before the transaction that would pass it") {
  Bench bench({"a"});
  bench.plan.n = 4;
  // 21000 gas at twice the base fee of 1 gwei plus a tip of 1 gwei.
  bench.plan.max_spend_gwei = 2 * 63000 + 1;
  const auto records = bench.scan();
  REQUIRE(records.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(records[i].state == (i < 2 ? TransactionState::confirmed : TransactionState::rejected));
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

TEST_CASE("an account that cannot pay sends nothing") {
  Bench bench({"a"});
  bench.world.balance = "0x1";
  const TransactionRecord record = bench.only();
  CHECK(record.state == TransactionState::rejected);
  CHECK(record.error_class == rpc::ErrorClass::funds);
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
  CHECK(bench.only().state == TransactionState::confirmed);
}

TEST_CASE("arguments out of range are named") {
  Bench bench({"a"});
  auto message = [&](auto change) {
    TransactionPlan plan = bench.plan;
    change(plan);
    try {
      TransactionScan(bench.world, bench.world.providers(), plan, "", {}, {}, bench.book);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(message([](auto& plan) { plan.n = 0; }).starts_with("n must be 1.."));
  CHECK(message([](auto& plan) { plan.poll_ms = 1; }).starts_with("poll_ms must be"));
  CHECK(message([](auto& plan) { plan.timeout_sec = 0; }).starts_with("timeout_sec must be"));
  CHECK(message([](auto& plan) { plan.max_fee_gwei = -1; }).starts_with("max_fee_gwei must be"));
  CHECK(message([](auto& plan) { plan.max_spend_gwei = -1; }).starts_with("max_spend_gwei must be"));
  CHECK(message([](auto& plan) { plan.signer = "key"; }).starts_with("signer:"));
  CHECK(message([](auto& plan) {
          plan.signer = "node";
          plan.send = false;
        }).starts_with("send = 0"));
}

TEST_CASE("a transaction that never comes is charged its limit, and its number is free again") {
  Bench bench({"a", "b"});
  bench.drawn("a");
  bench.plan.n = 2;
  bench.plan.timeout_sec = 4;
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
  CHECK(records[0].state == TransactionState::timeout);
  CHECK(records[0].duration_sec == 4);
  CHECK_FALSE(records[0].duration_source);
  CHECK(records[0].submit_ms);
  CHECK(records[1].state == TransactionState::confirmed);
  CHECK(records[1].nonce == records[0].nonce);
}

TEST_CASE("a transaction that is still in the pool at its limit keeps its number") {
  Bench bench({"a"});
  bench.plan.n = 2;
  bench.plan.timeout_sec = 5;
  bench.world.block_time_sec = 7;
  const auto records = bench.scan();
  CHECK(records[0].state == TransactionState::timeout);
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
  const TransactionRecord record = bench.only();
  REQUIRE(reorganised);
  CHECK(record.state == TransactionState::confirmed);
  CHECK(record.block_number == 2);
  CHECK(*record.duration_sec > 20);
}

TEST_CASE("a receipt that vanishes for good is a timeout") {
  Bench bench({"a"});
  bench.plan.timeout_sec = 5;
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
  const TransactionRecord record = bench.only();
  REQUIRE(vanished);
  CHECK(record.state == TransactionState::timeout);
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
  const TransactionRecord record = bench.only();
  CHECK(record.state == TransactionState::confirmed);
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
    CHECK(record.state == TransactionState::confirmed);
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

TEST_CASE("heights count when another provider comes near them") {
  auto of_others = [](std::optional<std::uint64_t> own, std::vector<std::uint64_t> others) {
    Heads heads;
    heads.add(own, true);
    for (const std::uint64_t head : others) heads.add(head, false);
    return heads.of_others();
  };
  CHECK(of_others(100, {101, 99}) == 101);
  CHECK(of_others(100, {30'000'100, 99}) == 99);
  CHECK(of_others(100, {99}) == 99);
  CHECK_FALSE(of_others(100, {30'000'100}));
  CHECK(of_others({}, {30'000'100}) == 30'000'100);
  CHECK(of_others(100, {}) == 100);
  CHECK_FALSE(of_others({}, {}));
}

TEST_CASE("prepared transactions are signed with numbers in a row and nothing is sent") {
  Bench bench({"a", "b"});
  bench.plan.n = 3;
  bench.plan.send = false;
  const auto records = bench.scan();
  REQUIRE(records.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(records[i].state == TransactionState::prepared);
    CHECK(records[i].nonce == i);
    CHECK(records[i].raw);
    CHECK(records[i].tx_hash);
  }
  CHECK(sends(bench.world) == 0);
}

TEST_CASE("prepared transactions are sent, and waited for with this process's clock") {
  Bench bench({"a", "b"});
  bench.plan.n = 2;
  bench.plan.send = false;
  const auto prepared = bench.scan();
  const auto sent = bench.send(prepared);
  REQUIRE(sent.size() == 2);
  CHECK(sent[0].state == TransactionState::pending);
  CHECK(sent[0].submit_ms);
  CHECK(sent[1].overlap == 1);
  const auto resolved = bench.wait(sent);
  REQUIRE(resolved.size() == 2);
  for (const auto& record : resolved) {
    CHECK(record.state == TransactionState::confirmed);
    CHECK(record.duration_source == "receipt");
    CHECK(*record.duration_sec < 1.3);
    CHECK_FALSE(record.raw);
  }
}

TEST_CASE("a rerun after a crash sends the same bytes once, and finds what had been sent") {
  Bench bench({"a", "b"});
  bench.plan.send = false;
  const auto prepared = bench.scan();
  CHECK(bench.send(prepared).at(0).state == TransactionState::pending);
  // The process died before it could write that down.
  const auto again = bench.send(prepared);
  CHECK(again.at(0).state == TransactionState::pending);
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
  CHECK(bench.send(prepared).at(0).state == TransactionState::pending);
  // The process died; the next one is told by every backend but the one that has it that nobody knows the transaction.
  node.faults["eth_getTransactionByHash"] = {instead(result("null"))};
  NonceBook another(bench.directory.path());
  const auto again = Bench::all_of(TransactionSend(bench.world, Bench::references(prepared), bench.world.providers(),
                                                   bench.follow, "here", {}, another));
  CHECK(again.at(0).state == TransactionState::pending);
  CHECK(again.at(0).timestamp == prepared.at(0).timestamp);
  CHECK_FALSE(again.at(0).submit_ms);
  node.passes_on = true;
  const auto resolved = Bench::all_of(TransactionWait(bench.world, Bench::references(again), bench.world.providers(),
                                                      bench.follow, "here", {}, another));
  CHECK(resolved.at(0).state == TransactionState::confirmed);
  CHECK(resolved.at(0).duration_source == "block");
  CHECK_FALSE(resolved.at(0).duration_sec);
}

TEST_CASE("a prepared transaction behind one that was not sent is not sent either") {
  Bench bench({"a", "b"});
  bench.plan.n = 2;
  bench.plan.send = false;
  const auto prepared = bench.scan();
  const auto late = bench.send({prepared.at(1)});
  CHECK(late.at(0).state == TransactionState::rejected);
  CHECK(late.at(0).error_class == rpc::ErrorClass::nonce);
  CHECK(sends(bench.world) == 0);
  // Its number is free again, behind the first.
  CHECK(bench.send({prepared.at(0)}).at(0).state == TransactionState::pending);
  bench.plan.n = 1;
  CHECK(bench.only().nonce == 1);
}

TEST_CASE("a number that was prepared and left lying is used by the next transaction that is sent") {
  Bench bench({"a", "b"});
  bench.plan.n = 3;
  bench.plan.send = false;
  CHECK(bench.scan().back().nonce == 2);
  bench.plan.n = 1;
  CHECK(bench.scan().back().nonce == 3);
  bench.plan.send = true;
  const TransactionRecord record = bench.only();
  CHECK(record.state == TransactionState::confirmed);
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
    TransactionScan scan(bench.world, bench.world.providers(), bench.plan, "here", is_sent, {}, bench.book);
    CHECK_THROWS_AS(scan.next(), rpc::Interrupted);
  }
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
  for (const auto& record : bench.send(prepared)) CHECK(record.state == TransactionState::pending);
  CHECK(sends(bench.world) == 3);
}

TEST_CASE("another process's transaction is resolved by its block, without a duration") {
  Bench bench({"a", "b"});
  bench.plan.wait = false;
  const auto sent = bench.scan();
  NonceBook another(bench.directory.path());
  const auto resolved = Bench::all_of(TransactionWait(bench.world, Bench::references(sent), bench.world.providers(),
                                                      bench.follow, "here", {}, another));
  REQUIRE(resolved.size() == 1);
  CHECK(resolved[0].state == TransactionState::confirmed);
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
  NonceBook another(bench.directory.path());
  auto wait = [&] {
    return Bench::all_of(TransactionWait(bench.world, Bench::references(sent), bench.world.providers(), bench.follow,
                                         "here", {}, another))
        .at(0);
  };
  for (auto& [id, node] : bench.world.nodes) node.up = false;
  CHECK(wait().state == TransactionState::pending);
  for (auto& [id, node] : bench.world.nodes) node.up = true;
  const auto record = wait();
  CHECK(record.state == TransactionState::timeout);
  CHECK(record.duration_sec == 60);
}

TEST_CASE("a prepared transaction whose provider is down waits for the next run, until its time is over") {
  Bench bench({"a", "b"});
  bench.drawn("a");
  bench.plan.send = false;
  auto prepared = bench.scan();
  bench.world.nodes["a"].up = false;
  CHECK(bench.send(prepared).at(0).state == TransactionState::prepared);
  CHECK(bench.send(prepared).at(0).error_class == rpc::ErrorClass::connect);
  CHECK(bench.book.try_lease(31337, first_account)->entries("").empty());
  prepared[0].timestamp -= 1000;
  CHECK(bench.send(prepared).at(0).state == TransactionState::rejected);
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
    TransactionSend(bench.world, {{"a", std::move(hash), std::move(raw), {}}}, bench.world.providers(), bench.follow,
                    "", {}, bench.book);
  };
  CHECK_THROWS_WITH(send(chain::to_hex(sent.hash), chain::to_hex(sent.raw)), Catch::Contains("no probe"));
  CHECK_THROWS_WITH(send("0x" + std::string(64, '0'), chain::to_hex(sent.raw)), Catch::Contains("another hash"));
  CHECK_THROWS_WITH(send(chain::to_hex(sent.hash), "0x02"), Catch::Contains("no signed"));
}

TEST_CASE("the argument of tx_send and tx_wait is read, and faults are named by place") {
  const std::string hash = "0x" + std::string(64, 'A');
  const auto read = parse_transaction_references(
      R"([{"provider_id":"a","tx_hash":")" + hash +
      R"(","raw":null,"timestamp":12.5,"more":1},{"provider_id":"b","tx_hash":")" + hash + R"("}])");
  REQUIRE(read.size() == 1);
  CHECK(read[0].provider_id == "a");
  CHECK(read[0].tx_hash == rpc::lower(hash));
  CHECK(read[0].timestamp == 12.5);
  CHECK(parse_transaction_references("[]").empty());
  for (const char* bad : {"", "{}", "[1]", R"([{"tx_hash":"0x"}])", R"([{"provider_id":"a","tx_hash":"0x12"}])"}) {
    CHECK_THROWS_AS(parse_transaction_references(bad), std::invalid_argument);
  }
}

TEST_CASE("an interrupt ends the wait") {
  Bench bench({"a"});
  int asked = 0;
  TransactionScan scan(
      bench.world, bench.world.providers(), bench.plan, "", [&] { return ++asked > 20; }, {}, bench.book);
  CHECK_THROWS_AS(scan.next(), rpc::Interrupted);
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
    if (record.state == TransactionState::confirmed) CHECK(confirmed.insert(*record.tx_hash).second);
    CHECK((record.state == TransactionState::confirmed || record.error_class == rpc::ErrorClass::http));
  }
  CHECK(confirmed.size() > 470);
  CHECK(bench.world.mined().size() == confirmed.size());
  CHECK(bench.world.pool.empty());
  CHECK(sends(bench.world) == 500);
}
