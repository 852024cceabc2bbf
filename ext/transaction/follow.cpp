// send() and wait(): transactions that are named by their hashes.
#include "transaction/follow.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>

#include "transaction/life/send.hpp"
#include "transaction/life/wait.hpp"
#include "transaction/scan.hpp"

namespace rpcroute::transaction {
namespace {

/// A record that says what the reference says.
Record record_for(const Reference& reference, const std::optional<ReadTransaction>& read, const Fleets::Place& place,
                  const std::string& region, double unix_now) {
  Record record;
  if (place.own) record.chain = (*place.fleet)[*place.own].provider.chain;
  record.provider_id = reference.provider_id;
  record.region = region;
  record.timestamp = reference.timestamp.value_or(unix_now);
  record.tx_hash = reference.tx_hash;
  if (!reference.raw.empty()) record.raw = reference.raw;
  if (read) record.nonce = read->transaction.nonce;
  return record;
}

/// A transaction that waits for its turn.
struct Waiting {
  Reference reference;
  std::optional<ReadTransaction> read;
  std::uint64_t turn = 0;  ///< its number, where those of an account follow each other
};

/// Makes its life: the door it enters by.
using Door = std::function<std::unique_ptr<Life>(const Surroundings&, const Fleets::Place&, Waiting, Record)>;

/// Lives that end one by one, begun when the fleets are verified: all at once, or those of an account in turn.
class Following final : public Records {
 public:
  Following(Desk desk, const std::vector<rpc::Provider>& providers, FollowPlan plan, std::vector<Waiting> waiting,
            Door door, bool in_turn)
      : desk_(std::move(desk)),
        plan_(plan),
        waiting_(std::move(waiting)),
        door_(std::move(door)),
        in_turn_(in_turn),
        exchange_(desk_.wire),
        conversation_(exchange_),
        fleets_(providers) {}

  std::optional<Record> next() override {
    if (waiting_.empty() && living_.empty()) return std::nullopt;
    if (!verified_) verify();
    while (true) {
      start_lives();
      const auto done =
          std::find_if(living_.begin(), living_.end(), [](const Living& one) { return one.life->finished(); });
      if (done != living_.end()) {
        Record record = done->life->record();
        living_.erase(done);
        return record;
      }
      if (living_.empty()) return std::nullopt;
      exchange_.step(desk_.interrupt);
    }
  }

 private:
  struct Living {
    std::unique_ptr<Life> life;
    std::string account;  ///< that it keeps busy; empty where all begin at once
  };

  /// Asks each provider for its chain, and for the chain's first block.
  void verify() {
    std::size_t missing = 0;
    for (Fleet* fleet : fleets_.all()) {
      ++missing;
      const auto whom = fleet->all_asked();
      auto calls = calls_to(*fleet, whom, "eth_chainId", "[]", plan_.call_timeout);
      append(calls, calls_to(*fleet, whom, "eth_getBlockByNumber", R"(["0x0",false])", plan_.call_timeout));
      conversation_.ask_all(std::move(calls), [&missing, fleet, whom](const std::vector<rpc::Answer>& answers) {
        fleet->hear_chain_ids(whom, std::span(answers).first(whom.size()));
        fleet->hear_genesis(whom, std::span(answers).last(whom.size()));
        --missing;
      });
    }
    while (missing > 0) exchange_.step(desk_.interrupt);
    verified_ = true;
  }

  void start_lives() {
    std::set<std::string> busy;
    for (const Living& one : living_) busy.insert(one.account);
    for (auto next = waiting_.begin(); next != waiting_.end();) {
      const std::string account = in_turn_ ? next->read->account : "";
      if (in_turn_ && !busy.insert(account).second) {
        ++next;
        continue;
      }
      const auto chain_id = next->read ? std::optional(next->read->transaction.chain_id) : std::nullopt;
      const Fleets::Place place = fleets_.find(next->reference.provider_id, chain_id);
      Record record = record_for(next->reference, next->read, place, desk_.region, exchange_.unix_now());
      const Surroundings surroundings{exchange_, desk_.book, desk_.broadcasts, plan_};
      living_.push_back({door_(surroundings, place, std::move(*next), std::move(record)), account});
      living_.back().life->start();
      next = waiting_.erase(next);
    }
  }

  Desk desk_;
  FollowPlan plan_;
  std::vector<Waiting> waiting_;
  Door door_;
  bool in_turn_;
  Exchange exchange_;
  Conversation conversation_;
  Fleets fleets_;
  bool verified_ = false;
  std::vector<Living> living_;
};

}  // namespace

void check_range(const char* argument, double value, double least, double most) {
  if (value >= least && value <= most) return;
  std::ostringstream text;
  text << argument << " must be " << least << ".." << most << ", got " << value;
  throw std::invalid_argument(text.str());
}

void check(const FollowPlan& plan) {
  check_range("timeout_sec", plan.timeout_sec, 0.1, 86'400);
  check_range("poll_ms", plan.poll_ms, 10, 60'000);
}

std::unique_ptr<Records> send(Desk desk, const std::vector<Reference>& transactions,
                              const std::vector<rpc::Provider>& providers, FollowPlan plan) {
  check(plan);
  std::vector<Waiting> waiting;
  for (const Reference& reference : transactions) {
    ReadTransaction read = read_reference(reference);
    const std::uint64_t turn = read.transaction.nonce;
    waiting.push_back({reference, std::move(read), turn});
  }
  std::stable_sort(waiting.begin(), waiting.end(), [](const auto& a, const auto& b) { return a.turn < b.turn; });
  const Door door = [](const Surroundings& surroundings, const Fleets::Place& place, Waiting one, Record record) {
    return std::make_unique<SendLife>(surroundings, place, std::move(*one.read), std::move(record),
                                      one.reference.timestamp.has_value());
  };
  return std::make_unique<Following>(std::move(desk), providers, plan, std::move(waiting), door, true);
}

std::unique_ptr<Records> wait(Desk desk, const std::vector<Reference>& transactions,
                              const std::vector<rpc::Provider>& providers, FollowPlan plan) {
  check(plan);
  std::vector<Waiting> waiting;
  for (const Reference& reference : transactions) {
    waiting.push_back({reference, reference.raw.empty() ? std::nullopt : std::optional(read_reference(reference)), 0});
  }
  const Door door = [](const Surroundings& surroundings, const Fleets::Place& place, Waiting one, Record record) {
    return std::make_unique<WaitLife>(surroundings, place, one.read, std::move(record));
  };
  return std::make_unique<Following>(std::move(desk), providers, plan, std::move(waiting), door, false);
}

}  // namespace rpcroute::transaction
