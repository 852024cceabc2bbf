// Hundreds of lives against a chain that keeps its own truth, through providers of which each call may go wrong.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "text/hex.hpp"
#include "transaction/draw.hpp"
#include "transaction_bench.hpp"

using namespace rpcroute;
using namespace rpcroute::transaction;
using namespace rpcroute::transaction::test;

namespace {

constexpr std::int64_t usual_lives = 500;
constexpr double beat_sec = 0.25;
constexpr double news_sec = 2 * beat_sec + 0.15;  ///< until a reorganisation can have been told
constexpr double honest_wei = 21000 * 2e9;

/// What the lives came to, over all of them.
struct Tally {
  std::map<std::string, int> states;
  std::map<std::string, int> violations;
  int rows = 0;
  int forgotten = 0;      ///< rows that a killed process never wrote down
  int unmined_after = 0;  ///< confirmed, and undone by a reorganisation afterwards
  int false_gaps = 0;     ///< numbers that a node said it had, and never had
  int timed = 0;
  double latest = 0;  ///< of what was timed, behind the truth, in seconds
  double virtual_sec = 0;
  std::vector<std::string> words;  ///< of the violations
};

/// Reproducible choices.
class Chance {
 public:
  explicit Chance(std::int64_t seed) : draw_(seed) {}
  std::uint64_t below(std::uint64_t n) { return draw_(n); }
  bool one_in(std::uint64_t n) { return draw_(n) == 0; }
  double fraction() { return static_cast<double>(draw_(1'000'000)) / 1e6; }

 private:
  Draw draw_;
};

/// What providers do wrong, one call in ten for each kind.
class Mischief {
 public:
  Mischief(World& world, Chance& chance) : world_(world), chance_(chance) {}

  bool calm = false;
  std::optional<double> reorganises_at;  ///< seconds of the world
  std::set<std::string> never_had;       ///< hashes that a node called already known and had not taken

  rpc::Answer operator()(World::Node& node, const rpc::Call& call, const std::function<rpc::Answer()>& honest) {
    if (calm) return honest();
    if (reorganises_at && world_.seconds() >= *reorganises_at) {
      reorganises_at.reset();
      world_.reorganise();
    }
    node.latency_sec = 0.002 + 0.12 * chance_.fraction();
    const bool is_send = call.method == send_raw;
    if (chance_.one_in(10)) return reset(honest);
    if (chance_.one_in(10)) return rate_limited(call.method);
    if (is_send) return send(call, honest);
    if (chance_.one_in(10)) return late(node, honest);
    if (chance_.one_in(10)) return lie(call, honest);
    return call.method == "eth_blockNumber" && chance_.one_in(10) ? shifted(honest(), -1) : honest();
  }

 private:
  rpc::Answer reset(const std::function<rpc::Answer()>& honest) {
    if (chance_.one_in(2)) honest();
    return failure(rpc::ErrorClass::connect, "reset");
  }

  rpc::Answer rate_limited(const std::string& method) {
    rpc::Answer answer = chance_.one_in(2) ? error(method, -32005, "too many requests") : http_error(429);
    answer.failure->error_class = rpc::ErrorClass::rate_limited;
    if (chance_.one_in(2)) answer.failure->retry_after_sec = 0.2 + 1.5 * chance_.fraction();
    return answer;
  }

  /// Another backend of a balancer, some blocks behind.
  rpc::Answer late(World::Node& node, const std::function<rpc::Answer()>& honest) {
    node.lag = 1 + chance_.below(3);
    node.hears_late = true;
    rpc::Answer answer = honest();
    node.lag = 0;
    node.hears_late = false;
    return answer;
  }

  rpc::Answer send(const rpc::Call& call, const std::function<rpc::Answer()>& honest) {
    if (!chance_.one_in(5)) return honest();
    static const std::vector<std::string> words{"SomeReasonOfOurOwn", "already known", "nonce too low: next nonce 99"};
    const std::string& text = words[chance_.below(words.size())];
    if (chance_.one_in(2)) {
      honest();
    } else if (text == "already known") {
      const auto bytes = text::from_hex(call.params.substr(2, call.params.size() - 4));  // ["0x…"]
      never_had.insert(text::to_hex(chain::keccak256(*bytes)));
    }
    return error(send_raw, -32000, text);
  }

  static rpc::Answer shifted(rpc::Answer answer, std::int64_t by) {
    if (answer.failure) return answer;
    const auto value = static_cast<std::int64_t>(chain::read_quantity_result(answer.result));
    answer.result = json_text(chain::quantity(static_cast<std::uint64_t>(std::max<std::int64_t>(0, value + by))));
    return answer;
  }

  static std::string replaced(std::string text, const std::string& name, const std::string& value) {
    const auto at = text.find('"' + name + "\":");
    if (at == std::string::npos) return text;
    const auto from = at + name.size() + 3;
    const auto to = text.find_first_of(",}", from);
    return text.replace(from, to - from, value);
  }

  static rpc::Answer with(rpc::Answer answer, const std::string& name, const std::string& value) {
    answer.result = replaced(answer.result, name, value);
    return answer;
  }

  rpc::Answer lie(const rpc::Call& call, const std::function<rpc::Answer()>& honest) {
    if (call.method == "eth_blockNumber") {
      static const std::vector<std::int64_t> off{5000, 1'000'000'000, -5000};
      return shifted(honest(), off[chance_.below(off.size())]);
    }
    if (call.method == "eth_getTransactionCount") {
      const auto off = static_cast<std::int64_t>(1 + chance_.below(chance_.one_in(2) ? 200 : 100'000));
      return shifted(honest(), chance_.one_in(3) ? -off : off);
    }
    if (call.method == "eth_getTransactionReceipt") return lie_of_receipt(honest());
    return result("null");
  }

  rpc::Answer lie_of_receipt(const rpc::Answer& answer) {
    const std::string other = json_text("0x" + std::string(60, 'd') + std::to_string(1000 + chance_.below(9000)));
    static const std::vector<std::string> odd{
        "null", "\"0x\"", "-1", "1e40", "\"much\"", "[]", "\"0x1\"", "\"0x5209\"", "\"0x7fffffffffffffff\""};
    const std::string& odd_value = odd[chance_.below(odd.size())];
    switch (chance_.below(8)) {
      case 0:
        return with(answer, "blockHash", other);
      case 1:
        return with(answer, "blockHash", json_text("0x" + std::string(64, '0')));
      case 2:
        return with(answer, "blockNumber", "\"0x0\"");
      case 3:
        return with(answer, "blockNumber", "\"0x3b9aca00\"");
      case 4:
        return with(answer, "transactionHash", other);
      case 5:
        return with(with(with(answer, "gasUsed", odd_value), "effectiveGasPrice", odd_value), "status", odd_value);
      case 6:
        return error("eth_getTransactionReceipt", -32000, "transaction not found");
      default:
        return result("null");
    }
  }

  World& world_;
  Chance& chance_;
};

/// What stands in a table for one probe, and what was true when it was written.
struct Row {
  Record record;
  double written = 0;  ///< seconds of the world
};

/// One account on one chain, with the processes that use it one after another.
class ALife {
 public:
  ALife(std::int64_t seed, Tally& tally, bool tells)
      : seed_(seed), tally_(tally), tells_(tells), chance_(seed), mischief_(world_, chance_) {
    setenv("RPCROUTE_KEY", first_key, 1);
    const std::uint64_t count = 2 + chance_.below(3);
    for (std::uint64_t i = 0; i < count; ++i) world_.nodes[std::string(1, static_cast<char>('a' + i))];
    world_.mood = [this](auto& node, const auto& call, const auto& honest) { return mischief_(node, call, honest); };
    world_.on_block = [this](World&) { fate_of_block(); };
    plan_.follow = FollowPlan{8 + 12 * chance_.fraction(), beat_sec * 1000, rpc::Milliseconds(3500)};
    plan_.signer = "env:RPCROUTE_KEY";
    plan_.max_spend_gwei = 1e9;
    begin_process();
  }
  ~ALife() { unsetenv("RPCROUTE_KEY"); }
  ALife(const ALife&) = delete;
  ALife& operator=(const ALife&) = delete;

  void run() {
    const std::uint64_t statements = 3 + chance_.below(4);
    for (std::uint64_t i = 0; i < statements; ++i) statement();
    for (int i = 0; i < 3 && !with_state(State::prepared).empty(); ++i) send(0);
    for (int i = 0; i < 3 && !with_state(State::pending).empty(); ++i) wait(0);
    come_to_rest();
    judge_at_end();
    tally_.virtual_sec += world_.seconds();
  }

 private:
  struct Process {
    explicit Process(const std::string& directory) : book(directory) {}
    NonceBook book;
    Broadcasts broadcasts;
  };

  // The world ---------------------------------------------------------------------------------------------------------

  void fate_of_block() {
    for (auto& [id, node] : world_.nodes) {
      if (mischief_.calm || world_.head() >= up_again_[id]) node.up = true;
      if (mischief_.calm || !chance_.one_in(40)) continue;
      node.up = false;
      up_again_[id] = world_.head() + 1 + chance_.below(5);
    }
    if (world_.head() > 1 && chance_.one_in(20)) mischief_.reorganises_at = world_.seconds() + chance_.fraction();
  }

  std::optional<std::uint64_t> height_of(const std::string& hash) const {
    for (std::uint64_t i = 0; i < world_.blocks.size(); ++i) {
      for (const Transfer& transfer : world_.blocks[i].transfers) {
        if (transfer.hash == hash) return i;
      }
    }
    return std::nullopt;
  }

  bool waits(const std::string& hash) const {
    return std::any_of(world_.pool.begin(), world_.pool.end(), [&](const auto& one) { return one.hash == hash; });
  }

  bool anyone_up() const {
    return std::any_of(world_.nodes.begin(), world_.nodes.end(), [](const auto& node) { return node.second.up; });
  }

  void let_run(int blocks) {
    const auto last = world_.head() + static_cast<std::uint64_t>(blocks);
    while (world_.head() < last && !world_.pool.empty()) world_.pass(1);
  }

  // Processes ---------------------------------------------------------------------------------------------------------

  void begin_process() {
    ++tenure_;
    processes_.push_back(std::make_unique<Process>(directory_.path()));
  }

  /// Of this one nothing is left but what it wrote: its entries are those of a process that is no more.
  void die() {
    const BookWriter self = processes_.back()->book.writer();
    auto lease = processes_.back()->book.try_lease(31337, first_account);
    for (BookEntry entry : lease->from("", 0)) {
      if (entry.writer != self) continue;
      entry.writer.started += 1;
      lease->put(entry);
    }
    lease.reset();
    tell("the process dies");
    begin_process();
  }

  Desk desk() {
    Process& process = *processes_.back();
    return {world_, process.book, process.broadcasts, "here", [this] { return patience_ > 0 && --patience_ == 0; }};
  }

  // Statements --------------------------------------------------------------------------------------------------------

  void statement() {
    const std::uint64_t patience = chance_.one_in(5) ? 1 + chance_.below(200) : 0;
    const bool has_prepared = !with_state(State::prepared).empty();
    const bool has_pending = !with_state(State::pending).empty();
    const auto kind = chance_.below(5);
    if (kind == 0) return probe(true, true, patience);
    if (kind == 1) return probe(false, true, patience);
    if (kind == 2) return probe(true, false, patience);
    if (kind == 3 && has_prepared) return send(patience);
    if (kind == 4 && has_pending) return wait(patience);
    if (has_prepared) return send(patience);
    has_pending ? wait(patience) : probe(true, true, patience);
  }

  void probe(bool waits, bool sends, std::uint64_t patience) {
    plan_.n = 1 + static_cast<std::int64_t>(chance_.below(4));
    plan_.wait = waits;
    plan_.send = sends;
    plan_.seed = static_cast<std::int64_t>(chance_.below(1'000'000));
    tell("tx_probe n=" + std::to_string(plan_.n) + (sends ? (waits ? "" : " wait=0") : " send=0"));
    std::vector<Row> fresh;
    std::size_t mark = world_.handed.size();
    const bool whole = execute(
        patience, [&] { return transaction::probe(desk(), world_.providers(), plan_, {}); },
        [&](Record record) {
          judge_fresh(record, mark);
          mark = world_.handed.size();
          fresh.push_back({std::move(record), world_.seconds()});
        });
    const bool forgotten = !whole && chance_.one_in(2);  // INSERT … SELECT is all or nothing
    tally_.forgotten += forgotten ? static_cast<int>(fresh.size()) : 0;
    for (Row& row : fresh) {
      if (!forgotten) rows_.push_back(std::move(row));
    }
  }

  void send(std::uint64_t patience) {
    follow("tx_send", State::prepared, patience, [&](const std::vector<Record>& records) {
      return transaction::send(desk(), Bench::references(records), world_.providers(), plan_.follow);
    });
  }

  void wait(std::uint64_t patience) {
    follow("tx_wait", State::pending, patience, [&](const std::vector<Record>& records) {
      return transaction::wait(desk(), Bench::references(records), world_.providers(), plan_.follow);
    });
  }

  template <class Start>
  void follow(const std::string& name, State state, std::uint64_t patience, Start&& start) {
    const auto records = with_state(state);
    tell(name + " of " + std::to_string(records.size()));
    std::vector<Row> changed;
    const bool whole = execute(
        patience, [&] { return start(records); },
        [&](Record record) {
          judge_lost(record, *record.tx_hash);
          changed.push_back({std::move(record), world_.seconds()});
        });
    if (!whole && chance_.one_in(2)) return;  // UPDATE … FROM is all or nothing
    for (Row& row : changed) {
      for (Row& before : rows_) {
        if (before.record.tx_hash == row.record.tx_hash) before = row;
      }
    }
  }

  /// False when it was killed or interrupted.
  template <class Start, class Take>
  bool execute(std::uint64_t patience, Start&& start, Take&& take) {
    patience_ = patience;
    bool whole = true;
    try {
      const auto records = start();
      while (auto record = records->next()) {
        tell(*record);
        take(std::move(*record));
      }
    } catch (const rpc::Interrupted&) {
      whole = false;
    }
    patience_ = 0;
    owners_.resize(world_.handed.size(), tenure_);
    if (!whole) ++tenure_;
    if (!whole) tell("interrupted");
    if (!whole && !chance_.one_in(3)) die();
    if (whole && chance_.one_in(4)) begin_process();
    world_.pass(2 * chance_.fraction());
    return whole;
  }

  std::vector<Record> with_state(State state) const {
    std::vector<Record> records;
    for (const Row& row : rows_) {
      if (row.record.state == state && row.record.tx_hash) records.push_back(row.record);
    }
    return records;
  }

  // Judgement ---------------------------------------------------------------------------------------------------------

  void violate(const std::string& kind, const std::string& what) {
    ++tally_.violations[kind];
    std::string words =
        "seed " + std::to_string(seed_) + " at " + std::to_string(world_.seconds()) + ": " + kind + ": " + what;
    tell(words);
    tally_.words.push_back(std::move(words));
  }

  /// A record of tx_probe. One that is rejected has no hash: it is what was handed over since the one before.
  void judge_fresh(const Record& record, std::size_t mark) {
    ++tally_.rows;
    if (record.tx_hash) return judge_lost(record, *record.tx_hash);
    for (std::size_t i = mark; i < world_.handed.size(); ++i) {
      if (world_.handed[i].provider == record.provider_id) judge_lost(record, world_.handed[i].hash);
    }
  }

  /// Nothing that is mined is called lost.
  void judge_lost(const Record& record, const std::string& hash) {
    if (record.state != State::rejected && !record.max_cost_gwei) violate("no max_cost_gwei", hash);
    if (record.state != State::rejected && record.state != State::timeout) return judge_time(record);
    judge_limit(record);
    const auto height = height_of(hash);
    const std::string name(transaction::name(record.state));
    if (height && anyone_up()) {
      const double age = world_.seconds() - world_.blocks[*height].at;
      violate("mined and " + name, hash + " for " + std::to_string(age) + " s: " + record.error);
    }
    if (record.state == State::rejected && waits(hash)) violate("waiting and rejected", hash + ": " + record.error);
  }

  void judge_limit(const Record& record) {
    if (record.state != State::timeout) return;
    const bool unobserved = record.error_class == rpc::ErrorClass::unobserved;
    const bool charged = record.duration_sec == plan_.follow.timeout_sec;
    if (unobserved ? record.duration_sec.has_value() : !charged) violate("timeout not charged", *record.tx_hash);
  }

  /// What was timed is what the world saw, and what was paid is what it cost.
  void judge_time(const Record& record) {
    if (record.state != State::confirmed && record.state != State::reverted) return;
    const auto height = height_of(*record.tx_hash);
    const bool is_there = height && record.block_number == static_cast<std::int64_t>(*height);
    if (!is_there) {
      const bool is_news = was_unmined(*record.tx_hash, world_.seconds() - news_sec);
      if (!is_news) violate("confirmed elsewhere", *record.tx_hash);
      return;
    }
    if (record.state == State::reverted) violate("reverted", *record.tx_hash);
    if (record.gas_used && record.effective_gas_price) {
      const double wei = static_cast<double>(*record.gas_used) * static_cast<double>(*record.effective_gas_price);
      if (wei != honest_wei) violate("wei", *record.tx_hash);
    }
    if (!record.duration_sec || record.duration_source != "receipt") return;
    ++tally_.timed;
    const auto left = std::find_if(world_.handed.begin(), world_.handed.end(),
                                   [&](const Handed& one) { return one.hash == record.tx_hash && one.taken; });
    if (left == world_.handed.end()) return violate("timed and never sent", *record.tx_hash);
    const double truth = world_.blocks[*height].at - left->at;
    const double off = *record.duration_sec - truth;
    tally_.latest = std::max(tally_.latest, off);
    // Backends lag by up to three blocks; one that lags may be all that answers when the others rest as they asked to.
    if (off < -beat_sec || off > 4 * beat_sec + 6) {
      violate("duration",
              *record.tx_hash + " " + std::to_string(*record.duration_sec) + " for " + std::to_string(truth));
    }
  }

  bool was_unmined(const std::string& hash, double after) const {
    return std::any_of(world_.unmined.begin(), world_.unmined.end(),
                       [&](const auto& one) { return one.first == hash && one.second >= after; });
  }

  void come_to_rest() {
    mischief_.calm = true;
    let_run(50);
    if (world_.pool.empty()) return;
    // A number whose bytes a node said to have, and never had, holds up those behind it until another gets it.
    const auto number = world_.mined_count(first_account, world_.head());
    const bool taken = std::any_of(world_.handed.begin(), world_.handed.end(),
                                   [&](const Handed& one) { return one.nonce == number && one.taken; });
    const bool lied = std::any_of(world_.handed.begin(), world_.handed.end(), [&](const Handed& one) {
      return one.nonce == number && mischief_.never_had.contains(one.hash);
    });
    if (lied && !taken) {
      ++tally_.false_gaps;
      tell("a false gap at " + std::to_string(number));
    } else {
      violate("gap", "at " + std::to_string(number) + ", in the pool " + std::to_string(world_.pool.front().nonce));
    }
    for (int i = 0; i < 4 && !world_.pool.empty(); ++i) {
      probe(true, true, 0);
      let_run(5);
    }
    if (!world_.pool.empty()) violate("gap that stays", "at " + std::to_string(number));
  }

  void judge_at_end() {
    std::set<std::string> hashes;
    for (const Row& row : rows_) {
      const Record& record = row.record;
      ++tally_.states[std::string(name(record.state))];
      if (!record.tx_hash) continue;
      if (!hashes.insert(*record.tx_hash).second) violate("two rows of one transaction", *record.tx_hash);
      if (record.state != State::confirmed && record.state != State::reverted) continue;
      const auto height = height_of(*record.tx_hash);
      if (was_unmined(*record.tx_hash, row.written - news_sec)) {
        ++tally_.unmined_after;
      } else if (!height) {
        violate("confirmed and not mined", *record.tx_hash);
      } else if (record.block_number != static_cast<std::int64_t>(*height)) {
        const auto when = std::find_if(world_.unmined.rbegin(), world_.unmined.rend(),
                                       [&](const auto& one) { return one.first == record.tx_hash; });
        violate("confirmed in another block",
                *record.tx_hash + " undone at " +
                    (when == world_.unmined.rend() ? "-" : std::to_string(when->second - row.written)));
      }
    }
    judge_numbers();
    judge_sends();
  }

  /// No number is given to other bytes while a node may still mine the earlier ones.
  void judge_numbers() {
    for (std::size_t i = 0; i < world_.handed.size(); ++i) {
      const Handed& first = world_.handed[i];
      for (std::size_t k = i + 1; k < world_.handed.size(); ++k) {
        const Handed& second = world_.handed[k];
        if (!first.taken || first.nonce != second.nonce || first.hash == second.hash) continue;
        violate("number given twice", std::to_string(first.nonce) + " " + first.hash + " at " +
                                          std::to_string(first.at) + ", " + second.hash + " at " +
                                          std::to_string(second.at));
      }
    }
  }

  /// The same bytes are sent once, unless whoever sent them was interrupted.
  void judge_sends() {
    std::map<std::pair<std::string, std::size_t>, int> times;
    for (std::size_t i = 0; i < world_.handed.size(); ++i) {
      if (!world_.handed[i].arrived) continue;
      if (++times[{world_.handed[i].hash, owners_[i]}] == 2) violate("sent twice", world_.handed[i].hash);
    }
  }

  void tell(const std::string& words) const {
    if (tells_) std::printf("%8.3f %s\n", world_.seconds(), words.c_str());
  }

  void tell(const Record& record) const {
    tell("  " + std::string(name(record.state)) + " " + record.provider_id + " nonce " +
         (record.nonce ? std::to_string(*record.nonce) : "-") + " " + record.tx_hash.value_or("") + " " +
         (record.block_number ? "in block " + std::to_string(*record.block_number) : "") +
         (record.duration_sec ? " after " + std::to_string(*record.duration_sec) : "") + " " + record.error);
  }

  std::int64_t seed_;
  Tally& tally_;
  bool tells_;
  Chance chance_;
  World world_;
  Mischief mischief_;
  BookDirectory directory_;
  Plan plan_;
  std::map<std::string, std::uint64_t> up_again_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::uint64_t patience_ = 0;  ///< looks at the interrupt until it fires; 0: never
  std::vector<Row> rows_;
  std::size_t tenure_ = 0;           ///< of a process, until it ends or a statement of it is interrupted
  std::vector<std::size_t> owners_;  ///< the tenure of each of World::handed
};

std::string figures(const Tally& tally, int count) {
  std::string text = std::to_string(count) + " lives, " + std::to_string(tally.rows) + " records (";
  for (const auto& [state, n] : tally.states) text += state + " " + std::to_string(n) + ", ";
  text += std::to_string(tally.forgotten) + " never written), " + std::to_string(tally.timed) + " timed up to " +
          std::to_string(tally.latest) + " s late, " + std::to_string(tally.unmined_after) + " undone afterwards, " +
          std::to_string(tally.false_gaps) + " gaps behind false acknowledgements, " +
          std::to_string(static_cast<int>(tally.virtual_sec)) + " virtual seconds; violations:";
  for (const auto& [kind, n] : tally.violations) text += " " + kind + " " + std::to_string(n) + ",";
  return text + (tally.violations.empty() ? " none" : "");
}

}  // namespace

TEST_CASE("in five hundred lives every record agrees with what the chain knows") {
  // RPCROUTE_LIVES_SEED=<seed> lives that one alone, and tells it; RPCROUTE_LIVES=<n> lives more.
  const char* only = std::getenv("RPCROUTE_LIVES_SEED");
  const char* many = std::getenv("RPCROUTE_LIVES");
  Tally tally;
  const std::int64_t first = only == nullptr ? 1 : std::strtoll(only, nullptr, 10);
  const std::int64_t last = only != nullptr ? first : many != nullptr ? std::strtoll(many, nullptr, 10) : usual_lives;
  for (std::int64_t seed = first; seed <= last; ++seed) {
    CAPTURE(seed);
    ALife(seed, tally, only != nullptr).run();
  }
  std::printf("%s\n", figures(tally, static_cast<int>(last - first + 1)).c_str());
  for (const std::string& words : tally.words) std::printf("%s\n", words.c_str());
  CHECK(tally.violations.empty());
}
