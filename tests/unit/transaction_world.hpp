// A chain and its providers in virtual time: what tx_probe meets, without waiting for it.
#pragma once

#include <rapidjson/document.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chain/eip1559.hpp"
#include "chain/evm_signer.hpp"
#include "chain/quantity.hpp"
#include "rpc/classify.hpp"
#include "text/ascii.hpp"
#include "text/hex.hpp"
#include "transaction/scan.hpp"

namespace rpcroute::transaction::test {

using rpc::Clock;
using Seconds = std::chrono::duration<double>;

struct Transfer {
  std::string hash;
  std::string account;
  std::uint64_t nonce = 0;
  std::uint64_t since = 0;  ///< height of the chain when a node took it
};

struct MinedBlock {
  std::string hash;
  std::vector<Transfer> transfers;
  double at = 0;  ///< seconds of the world
};

/// One handing over of signed bytes, as the world saw it.
struct Handed {
  double at = 0;  ///< when they left
  std::string provider;
  std::string hash;
  std::uint64_t nonce = 0;
  bool arrived = false;  ///< at a node that was up
  bool taken = false;    ///< into a pool
};

inline rpc::Answer result(std::string json) {
  rpc::Answer answer;
  answer.result = std::move(json);
  answer.http_status = 200;
  answer.request_left = true;
  return answer;
}

/// What went wrong after the request left.
inline rpc::Answer failure(rpc::ErrorClass error_class, std::string kind = "") {
  rpc::Answer answer;
  answer.request_left = true;
  answer.failure = rpc::Failure{error_class, std::move(kind), "it failed", {}};
  return answer;
}

/// A JSON-RPC error object, judged as the client judges it.
inline rpc::Answer error(const std::string& method, std::int64_t code, const std::string& text) {
  const std::string words = text::lower(text);
  const auto verdict = rpc::classify_error({chain::ChainKind::evm, method, 200, code, words});
  rpc::Answer answer;
  answer.failure = rpc::Failure{verdict.error_class, std::string(verdict.kind), text, {}};
  answer.error_code = code;
  answer.complained = true;
  answer.request_left = true;
  answer.http_status = 200;
  return answer;
}

/// Nothing of the request left.
inline rpc::Answer refused_connection() {
  rpc::Answer answer = failure(rpc::ErrorClass::connect, "refused");
  answer.request_left = false;
  return answer;
}

inline rpc::Answer http_error(long status) {
  rpc::Answer answer = failure(rpc::ErrorClass::http);
  answer.http_status = status;
  return answer;
}

inline std::string json_text(const std::string& text) {
  return '"' + text + '"';
}

class World final : public Wire {
 public:
  /// Given the answer an honest node gives, what this one says; it may not have let the node do its work.
  using Fault = std::function<rpc::Answer(const std::function<rpc::Answer()>& honest)>;
  struct Node;
  /// The same for whatever is asked of any node, unless that has a fault or a habit of its own for it.
  using Mood = std::function<rpc::Answer(Node&, const rpc::Call&, const std::function<rpc::Answer()>& honest)>;

  struct Node {
    double latency_sec = 0.01;
    bool up = true;
    std::uint64_t chain_id = 31337;
    std::uint64_t lag = 0;        ///< blocks
    bool hears_late = false;      ///< of what came to the pools during the last `lag` blocks it knows nothing
    std::string account;          ///< unlocked
    std::vector<Transfer> holds;  ///< taken, and not passed on
    bool passes_on = true;
    std::map<std::string, std::deque<Fault>> faults;  ///< by method, one for each call
    std::map<std::string, Fault> habits;              ///< by method, for every call
    std::map<std::string, int> asked;                 ///< calls by method
    double stalls_sec = 0;                            ///< every answer comes this late, or as a timeout
  };

  double block_time_sec = 1;
  std::optional<std::uint64_t> base_fee = 1'000'000'000;
  std::uint64_t transfer_gas = 21000;
  std::string balance = "0xde0b6b3a7640000";
  std::map<std::string, Node> nodes;
  std::vector<MinedBlock> blocks{{block_hash(0, 0), {}}};
  std::vector<Transfer> pool;
  bool shows_blocks = true;              ///< eth_getTransactionByHash tells the block
  std::function<void(World&)> on_block;  ///< runs after each new block
  Mood mood;
  int forks = 0;
  bool shows_first_block = true;
  double clock_offset_sec = 0;                          ///< of the wall clock
  std::vector<Handed> handed;                           ///< every broadcast of signed bytes
  std::vector<std::pair<std::string, double>> unmined;  ///< by reorganisations, and when

  // Wire --------------------------------------------------------------------------------------------------------------

  Ticket submit(rpc::Call call) override {
    Node& node = nodes.at(call.provider.provider_id);
    ++node.asked[call.method];
    const auto ticket = ++last_ticket_;
    Flight flight{ticket, now_, call, {}, note_handed(call)};
    const double travel = node.up ? node.latency_sec / 2 : 0.001;
    events_.emplace(now_ + duration(travel), [this, flight]() mutable { arrive(std::move(flight)); });
    outstanding_.push_back(ticket);
    return ticket;
  }

  std::optional<std::pair<Ticket, rpc::Answer>> next(Clock::time_point until,
                                                     const rpc::Interrupt& interrupt) override {
    if (interrupt && interrupt()) throw rpc::Interrupted{};
    while (true) {
      if (!delivered_.empty()) {
        auto first = std::move(delivered_.front());
        delivered_.pop_front();
        if (std::erase(outstanding_, first.first) == 0) continue;
        return first;
      }
      if (!happen(until)) return std::nullopt;
    }
  }

  /// Time goes by while nobody listens: what is answered meanwhile is read afterwards.
  void pass(double seconds) {
    const auto until = now_ + duration(seconds);
    while (happen(until)) continue;
    for (auto& [ticket, answer] : delivered_) answer.finished = now_;
  }

  void cancel(Ticket ticket) override { std::erase(outstanding_, ticket); }
  Clock::time_point now() const override { return now_; }
  double unix_now() const override { return 1'700'000'000 + seconds() + clock_offset_sec; }
  double seconds() const { return Seconds(now_ - epoch_).count(); }

  // The chain ---------------------------------------------------------------------------------------------------------

  std::uint64_t head() const { return blocks.size() - 1; }

  void mine() {
    MinedBlock block{block_hash(blocks.size(), forks), {}, seconds()};
    for (auto& [id, node] : nodes) {
      if (!node.passes_on) continue;
      pool.insert(pool.end(), node.holds.begin(), node.holds.end());
      node.holds.clear();
    }
    std::sort(pool.begin(), pool.end(), [](const auto& a, const auto& b) { return a.nonce < b.nonce; });
    std::vector<Transfer> rest;
    for (const Transfer& transfer : pool) {
      const auto count = mined_count(transfer.account, head()) + count_in(block.transfers, transfer.account);
      (transfer.nonce == count ? block.transfers : rest).push_back(transfer);
    }
    std::erase_if(rest, [&](const Transfer& transfer) {
      return transfer.nonce < mined_count(transfer.account, head()) + count_in(block.transfers, transfer.account);
    });
    pool = rest;
    blocks.push_back(std::move(block));
    if (on_block) on_block(*this);
  }

  /// Undoes the last block; its transfers wait again.
  void reorganise() {
    ++forks;
    for (const Transfer& transfer : blocks.back().transfers) unmined.emplace_back(transfer.hash, seconds());
    pool.insert(pool.end(), blocks.back().transfers.begin(), blocks.back().transfers.end());
    blocks.back() = {block_hash(blocks.size() - 1, forks), {}, seconds()};
  }

  std::uint64_t mined_count(const std::string& account, std::uint64_t height) const {
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i <= height && i < blocks.size(); ++i) count += count_in(blocks[i].transfers, account);
    return count;
  }

  /// How often each hash was mined.
  std::map<std::string, int> mined() const {
    std::map<std::string, int> times;
    for (const MinedBlock& block : blocks) {
      for (const Transfer& transfer : block.transfers) ++times[transfer.hash];
    }
    return times;
  }

  std::vector<rpc::Provider> providers() const {
    std::vector<rpc::Provider> all;
    for (const auto& [id, node] : nodes) all.push_back(provider(id));
    return all;
  }

  static rpc::Provider provider(const std::string& id) {
    rpc::Provider provider;
    provider.provider_id = id;
    provider.chain = "testnet";
    provider.chain_id = 31337;
    provider.is_mainnet = false;
    provider.operator_name = id;
    provider.block_time_ms = 1000;
    return provider;
  }

 private:
  struct Flight {
    Ticket ticket;
    Clock::time_point started;
    rpc::Call call;
    rpc::Answer answer;
    std::optional<std::size_t> handed;  ///< its place among those
  };

  std::optional<std::size_t> note_handed(const rpc::Call& call) {
    if (call.method != "eth_sendRawTransaction") return std::nullopt;
    rapidjson::Document params;
    params.Parse(call.params.c_str());
    const auto bytes = text::from_hex(params[0].GetString());
    const auto read = bytes ? chain::read_signed_payload(*bytes) : std::nullopt;
    if (!read) return std::nullopt;
    handed.push_back({seconds(), call.provider.provider_id, text::to_hex(chain::keccak256(*bytes)), read->first.nonce});
    return handed.size() - 1;
  }

  /// The next thing that is due by then; false when there is none.
  bool happen(Clock::time_point until) {
    const auto block_due = epoch_ + duration(block_time_sec * static_cast<double>(blocks_made_ + 1));
    const auto event_due = events_.empty() ? Clock::time_point::max() : events_.begin()->first;
    if (until < std::min(block_due, event_due)) {
      now_ = std::max(now_, until);
      return false;
    }
    if (this->seconds() > 100'000) throw std::logic_error("the world has come to no end");
    if (block_due <= event_due) {
      now_ = block_due;
      ++blocks_made_;
      mine();
    } else {
      now_ = event_due;
      auto event = events_.extract(events_.begin());
      event.mapped()();
    }
    return true;
  }

  static Clock::duration duration(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
  }

  static std::string block_hash(std::uint64_t number, int fork) {
    std::string digits = std::to_string(number) + "f" + std::to_string(fork);
    return "0x" + std::string(64 - digits.size(), '0') + digits;
  }

  static std::uint64_t count_in(const std::vector<Transfer>& transfers, const std::string& account) {
    return static_cast<std::uint64_t>(
        std::count_if(transfers.begin(), transfers.end(), [&](const auto& t) { return t.account == account; }));
  }

  void arrive(Flight flight) {
    Node& node = nodes.at(flight.call.provider.provider_id);
    const double rest = node.up ? node.latency_sec / 2 + node.stalls_sec : 0;
    const double limit = Seconds(flight.call.timeout).count() - node.latency_sec / 2;
    arriving_ = node.up ? flight.handed : std::nullopt;
    if (arriving_) handed[*arriving_].arrived = true;
    flight.answer = node.up ? answer(node, flight.call) : refused_connection();
    if (rest > limit) flight.answer = failure(rpc::ErrorClass::timeout);
    events_.emplace(now_ + duration(std::min(rest, limit)), [this, flight]() mutable {
      flight.answer.started = flight.started;
      flight.answer.finished = now_;
      flight.answer.timestamp = unix_now();
      delivered_.emplace_back(flight.ticket, std::move(flight.answer));
    });
  }

  rpc::Answer answer(Node& node, const rpc::Call& call) {
    const std::function<rpc::Answer()> honest = [&] { return honest_answer(node, call); };
    auto& queue = node.faults[call.method];
    if (!queue.empty()) {
      const Fault fault = std::move(queue.front());
      queue.pop_front();
      return fault(honest);
    }
    const auto habit = node.habits.find(call.method);
    if (habit != node.habits.end()) return habit->second(honest);
    return mood ? mood(node, call, honest) : honest();
  }

  std::uint64_t head_of(const Node& node) const { return head() < node.lag ? 0 : head() - node.lag; }

  rpc::Answer honest_answer(Node& node, const rpc::Call& call) {
    rapidjson::Document params;
    params.Parse(call.params.c_str());
    auto text = [&](rapidjson::SizeType i) { return std::string(params[i].GetString()); };
    if (call.method == "eth_chainId") return result(json_text(chain::quantity(node.chain_id)));
    if (call.method == "eth_blockNumber") return result(json_text(chain::quantity(head_of(node))));
    if (call.method == "eth_maxPriorityFeePerGas") return result("\"0x3b9aca00\"");
    if (call.method == "eth_estimateGas") return result(json_text(chain::quantity(transfer_gas)));
    if (call.method == "eth_getBalance") return result(json_text(balance));
    if (call.method == "eth_accounts") return result(node.account.empty() ? "[]" : "[" + json_text(node.account) + "]");
    if (call.method == "eth_getTransactionCount") return count(node, text(0), text(1));
    if (call.method == "eth_getBlockByNumber") return block(node, text(0));
    if (call.method == "eth_getTransactionByHash") return transaction(node, text(0));
    if (call.method == "eth_getTransactionReceipt") return receipt(node, text(0));
    if (call.method == "eth_sendRawTransaction") return take_raw(node, text(0));
    if (call.method == "eth_sendTransaction") return take(node, call.method, node_transfer(params[0]));
    return error(call.method, -32601, "Method not found");
  }

  rpc::Answer count(const Node& node, const std::string& account, const std::string& tag) const {
    std::uint64_t count = mined_count(account, head_of(node));
    if (tag == "pending") {
      for (auto seen = visible(node);; ++count) {
        if (std::none_of(seen.begin(), seen.end(),
                         [&](const auto& t) { return t.account == account && t.nonce == count; }))
          break;
      }
    }
    return result(json_text(chain::quantity(count)));
  }

  /// What waits, as the node knows it. A node that lags takes what it saw mined later for waiting.
  std::vector<Transfer> visible(const Node& node) const {
    std::vector<Transfer> all = pool;
    all.insert(all.end(), node.holds.begin(), node.holds.end());
    for (std::uint64_t i = head_of(node) + 1; i < blocks.size(); ++i) {
      all.insert(all.end(), blocks[i].transfers.begin(), blocks[i].transfers.end());
    }
    if (node.hears_late) std::erase_if(all, [&](const Transfer& transfer) { return transfer.since > head_of(node); });
    return all;
  }

  /// `where`: members that say in which block it is.
  static std::string transfer_json(const Transfer& transfer, const std::string& where = "") {
    return R"({"hash":")" + transfer.hash + R"(","from":")" + transfer.account + R"(","to":")" + transfer.account +
           R"(","value":"0x0","nonce":")" + chain::quantity(transfer.nonce) + '"' + where + "}";
  }

  rpc::Answer block(const Node& node, const std::string& tag) const {
    const bool pending = tag == "pending";
    const std::uint64_t number = tag == "latest" || pending ? head_of(node) : *chain::read_quantity(tag);
    if (number > head_of(node) || (number == 0 && !shows_first_block)) return result("null");
    std::string list;
    for (const Transfer& transfer : pending ? visible(node) : blocks[number].transfers) {
      list += (list.empty() ? "" : ",") + transfer_json(transfer);
    }
    std::string json = R"({"number":")" + chain::quantity(number) + R"(","hash":")" + blocks[number].hash +
                       R"(","timestamp":")" + chain::quantity(1'700'000'000 + number) + R"(","transactions":[)" + list +
                       "]";
    if (base_fee) json += R"(,"baseFeePerGas":")" + chain::quantity(*base_fee) + '"';
    return result(json + "}");
  }

  rpc::Answer transaction(const Node& node, const std::string& hash) const {
    for (const Transfer& transfer : visible(node)) {
      if (transfer.hash == hash) return result(transfer_json(transfer));
    }
    for (std::uint64_t i = 0; i <= head_of(node); ++i) {
      for (const Transfer& transfer : blocks[i].transfers) {
        if (transfer.hash != hash) continue;
        if (!shows_blocks) return result(transfer_json(transfer));
        return result(transfer_json(
            transfer, R"(,"blockHash":")" + blocks[i].hash + R"(","blockNumber":")" + chain::quantity(i) + '"'));
      }
    }
    return result("null");
  }

  rpc::Answer receipt(const Node& node, const std::string& hash) const {
    for (std::uint64_t i = 0; i <= head_of(node); ++i) {
      for (const Transfer& transfer : blocks[i].transfers) {
        if (transfer.hash != hash) continue;
        return result(R"({"transactionHash":")" + hash + R"(","blockHash":")" + blocks[i].hash +
                      R"(","blockNumber":")" + chain::quantity(i) +
                      R"(","status":"0x1","gasUsed":"0x5208","effectiveGasPrice":"0x77359400"})");
      }
    }
    return result("null");
  }

  rpc::Answer take_raw(Node& node, const std::string& raw) {
    const auto bytes = text::from_hex(raw);
    const auto read = bytes ? chain::read_signed_payload(*bytes) : std::nullopt;
    if (!read) return error("eth_sendRawTransaction", -32602, "failed to decode signed transaction");
    const auto sender = chain::recover_sender(read->first, read->second);
    return take(node, "eth_sendRawTransaction",
                {text::to_hex(chain::keccak256(*bytes)), text::to_hex(*sender), read->first.nonce});
  }

  Transfer node_transfer(const rapidjson::Value& object) {
    const std::string from = object["from"].GetString();
    const std::uint64_t nonce = *chain::read_quantity(object["nonce"].GetString());
    const std::string digits = std::to_string(1000 + nonce) + from.substr(2);
    return {"0x" + std::string(64 - digits.size(), 'e') + digits, from, nonce};
  }

  rpc::Answer take(Node& node, const std::string& method, const Transfer& transfer) {
    for (const Transfer& other : visible(node)) {
      if (other.hash == transfer.hash) return error(method, -32000, "already known");
      if (other.account == transfer.account && other.nonce == transfer.nonce) {
        return error(method, -32000, "replacement transaction underpriced");
      }
    }
    if (transfer.nonce < mined_count(transfer.account, head_of(node))) {
      return error(method, -32000, "nonce too low: next nonce higher");
    }
    (node.passes_on ? pool : node.holds).push_back(transfer);
    (node.passes_on ? pool : node.holds).back().since = head();
    if (arriving_) handed[*arriving_].taken = true;
    return result(json_text(transfer.hash));
  }

  const Clock::time_point epoch_{std::chrono::hours(1000)};
  Clock::time_point now_ = epoch_;
  std::uint64_t blocks_made_ = 0;
  Ticket last_ticket_ = 0;
  std::optional<std::size_t> arriving_;  ///< what a node is judging, among `handed`
  std::multimap<Clock::time_point, std::function<void()>> events_;
  std::deque<std::pair<Ticket, rpc::Answer>> delivered_;
  std::vector<Ticket> outstanding_;
};

/// A directory of its own for the nonce book.
class BookDirectory {
 public:
  BookDirectory() {
    if (mkdtemp(path_) == nullptr) abort();
  }
  ~BookDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  BookDirectory(const BookDirectory&) = delete;
  BookDirectory& operator=(const BookDirectory&) = delete;
  std::string path() const { return path_; }

 private:
  char path_[32] = "/tmp/rpcroute-book-XXXXXX";
};

}  // namespace rpcroute::transaction::test
