// send() and wait(): transactions that are named by their hashes.
#include "transaction/follow.hpp"

#include <algorithm>
#include <set>
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

/// What both have: fleets that are verified before the first life begins.
class Following : public Records {
 public:
  Following(Desk desk, const std::vector<rpc::Provider>& providers, FollowPlan plan)
      : desk_(std::move(desk)), plan_(plan), exchange_(desk_.wire), conversation_(exchange_), fleets_(providers) {
    check(plan_);
  }

 protected:
  /// Asks each provider for its chain, and for the chain's first block.
  void verify() {
    std::size_t missing = 0;
    for (Fleet* fleet : fleets_.all()) {
      ++missing;
      const auto whom = fleet->all_asked();
      auto calls = calls_to(*fleet, whom, "eth_chainId", "[]", plan_.call_timeout);
      for (auto& call : calls_to(*fleet, whom, "eth_getBlockByNumber", R"(["0x0",false])", plan_.call_timeout)) {
        calls.push_back(std::move(call));
      }
      conversation_.ask_all(std::move(calls), [&missing, fleet, whom](const std::vector<rpc::Answer>& answers) {
        const auto middle = answers.begin() + static_cast<std::ptrdiff_t>(whom.size());
        fleet->hear_chain_ids(whom, {answers.begin(), middle});
        fleet->hear_genesis(whom, {middle, answers.end()});
        --missing;
      });
    }
    while (missing > 0) exchange_.step(desk_.interrupt);
  }

  Surroundings surroundings() { return {exchange_, desk_.book, desk_.broadcasts, plan_}; }

  Desk desk_;
  FollowPlan plan_;
  Exchange exchange_;
  Conversation conversation_;
  Fleets fleets_;
};

class Sending final : public Following {
 public:
  Sending(Desk desk, const std::vector<Reference>& transactions, const std::vector<rpc::Provider>& providers,
          FollowPlan plan)
      : Following(std::move(desk), providers, plan) {
    for (const Reference& reference : transactions) waiting_.push_back({reference, read_reference(reference)});
    std::stable_sort(waiting_.begin(), waiting_.end(), [](const Waiting& a, const Waiting& b) {
      return a.read.transaction.nonce < b.read.transaction.nonce;
    });
  }

  std::optional<Record> next() override {
    if (waiting_.empty() && lives_.empty()) return std::nullopt;
    if (!verified_) verify();
    verified_ = true;
    while (true) {
      start_lives();
      for (auto life = lives_.begin(); life != lives_.end(); ++life) {
        if (!(*life)->finished()) continue;
        Record record = (*life)->record();
        lives_.erase(life);
        return record;
      }
      if (lives_.empty()) return std::nullopt;
      exchange_.step(desk_.interrupt);
    }
  }

 private:
  struct Waiting {
    Reference reference;
    ReadTransaction read;
  };

  /// One at a time for each account, in the order of their numbers.
  void start_lives() {
    std::set<std::string> busy;
    for (const auto& life : lives_) busy.insert(life->account());
    for (auto next = waiting_.begin(); next != waiting_.end();) {
      if (!busy.insert(next->read.account).second) {
        ++next;
        continue;
      }
      const Reference& reference = next->reference;
      const Fleets::Place place = fleets_.find(reference.provider_id, next->read.transaction.chain_id);
      Record record = record_for(reference, next->read, place, desk_.region, exchange_.unix_now());
      lives_.push_back(std::make_unique<SendLife>(surroundings(), place, std::move(next->read), std::move(record),
                                                  reference.timestamp.has_value()));
      lives_.back()->start();
      next = waiting_.erase(next);
    }
  }

  bool verified_ = false;
  std::vector<Waiting> waiting_;  ///< by nonce
  std::vector<std::unique_ptr<SendLife>> lives_;
};

class Waiting final : public Following {
 public:
  Waiting(Desk desk, const std::vector<Reference>& transactions, const std::vector<rpc::Provider>& providers,
          FollowPlan plan)
      : Following(std::move(desk), providers, plan) {
    for (const Reference& reference : transactions) {
      std::optional<ReadTransaction> read;
      if (!reference.raw.empty()) read = read_reference(reference);
      references_.emplace_back(reference, std::move(read));
    }
  }

  std::optional<Record> next() override {
    if (!started_) start();
    while (!lives_.empty()) {
      const auto done = std::find_if(lives_.begin(), lives_.end(), [](const auto& life) { return life->finished(); });
      if (done != lives_.end()) {
        Record record = (*done)->record();
        lives_.erase(done);
        return record;
      }
      exchange_.step(desk_.interrupt);
    }
    return std::nullopt;
  }

 private:
  void start() {
    started_ = true;
    if (!references_.empty()) verify();
    for (const auto& [reference, read] : references_) {
      const auto chain_id = read ? std::optional(read->transaction.chain_id) : std::nullopt;
      const Fleets::Place place = fleets_.find(reference.provider_id, chain_id);
      Record record = record_for(reference, read, place, desk_.region, exchange_.unix_now());
      lives_.push_back(std::make_unique<WaitLife>(surroundings(), place, read, std::move(record)));
      lives_.back()->start();
    }
  }

  bool started_ = false;
  std::vector<std::pair<Reference, std::optional<ReadTransaction>>> references_;
  std::vector<std::unique_ptr<WaitLife>> lives_;
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
  return std::make_unique<Sending>(std::move(desk), transactions, providers, plan);
}

std::unique_ptr<Records> wait(Desk desk, const std::vector<Reference>& transactions,
                              const std::vector<rpc::Provider>& providers, FollowPlan plan) {
  return std::make_unique<Waiting>(std::move(desk), transactions, providers, plan);
}

}  // namespace rpcroute::transaction
