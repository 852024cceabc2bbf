// TransactionScan: the draws, the keys and the budget.
#include <algorithm>
#include <deque>
#include <set>
#include <stdexcept>

#include "chain/evm_signer.hpp"
#include "transaction/transaction.hpp"
#include "transaction/draw.hpp"
#include "transaction/life/probe.hpp"
#include "transaction/reference.hpp"
#include "transaction/conversation/survey.hpp"

namespace rpcroute::transaction {
namespace {

void check(const TransactionPlan& plan) {
  check_range("n", static_cast<double>(plan.n), 1, 100'000);
  check_range("timeout_sec", plan.timeout_sec, 0.1, 86'400);
  check_range("poll_ms", plan.poll_ms, 10, 60'000);
  check_range("max_spend_gwei", plan.max_spend_gwei, 0, 1e18);
  if (!plan.send && plan.signer == "node") {
    throw std::invalid_argument("send = 0 needs a key to sign with; signer = 'node' signs when it sends");
  }
}

chain::FeeWishes wishes_of(const TransactionPlan& plan) {
  chain::FeeWishes wishes;
  if (plan.max_fee_gwei) wishes.max_fee = chain::wei_of_gwei(*plan.max_fee_gwei, "max_fee_gwei");
  if (plan.priority_fee_gwei) wishes.priority_fee = chain::wei_of_gwei(*plan.priority_fee_gwei, "priority_fee_gwei");
  return wishes;
}

}  // namespace

class TransactionScan::Impl {
 public:
  Impl(Transport& transport, std::vector<rpc::Provider> candidates, TransactionPlan plan, std::string region,
       rpc::Interrupt interrupt, TransactionProgressCallback progress, NonceBook& book)
      : plan_(std::move(plan)),
        region_(std::move(region)),
        interrupt_(std::move(interrupt)),
        progress_(std::move(progress)),
        exchange_(transport),
        conversation_(exchange_),
        fleet_(providers_of_one_chain(std::move(candidates), plan_.forced_providers, plan_.allow_mainnet),
               plan_.allow_mainnet),
        draw_(plan_.seed),
        book_(book) {
    if (plan_.signer.empty()) plan_.signer = default_signer();
    check(plan_);
    wishes_ = wishes_of(plan_);
    if (plan_.signer != "node") keys_ = chain::load_keys(plan_.signer);
    lanes_.resize(std::max<std::size_t>(keys_.size(), 1));
  }

  std::optional<TransactionRecord> next() {
    if (fleet_.size() == 0) return std::nullopt;
    if (!surveyed_) run_survey();
    while (true) {
      start_probes();
      if (auto record = take_finished()) return record;
      if (!in_flight()) return next_exclusion();
      exchange_.step(interrupt_);
    }
  }

 private:
  void run_survey() {
    bool done = false;
    survey(conversation_, fleet_, keys_.empty() ? "" : chain::to_hex(keys_.front().address()), wishes_,
           plan_.call_timeout, [&](std::optional<chain::Fees> fees) {
             fees_ = fees;
             done = true;
           });
    while (!done) exchange_.step(interrupt_);
    surveyed_ = true;
  }

  bool in_flight() const {
    return std::any_of(lanes_.begin(), lanes_.end(), [](const auto& probe) { return probe != nullptr; });
  }

  bool is_wanted(std::size_t i) const {
    const auto& forced = plan_.forced_providers;
    return forced.empty() || std::find(forced.begin(), forced.end(), fleet_[i].provider.provider_id) != forced.end();
  }

  std::vector<std::size_t> drawable() const {
    std::vector<std::size_t> indices = fleet_.all_asked();
    std::erase_if(indices, [&](std::size_t i) { return !is_wanted(i); });
    return indices;
  }

  void start_probes() {
    for (std::size_t lane = 0; lane < lanes_.size() && started_ < plan_.n; ++lane) {
      if (lanes_[lane] != nullptr) continue;
      const std::vector<std::size_t> choices = drawable();
      if (choices.empty()) return;
      start_probe(lane, choices);
    }
  }

  void start_probe(std::size_t lane, const std::vector<std::size_t>& choices) {
    const std::size_t own = choices[draw_(choices.size())];
    std::optional<double> propensity;
    if (plan_.forced_providers.empty()) propensity = 1.0 / static_cast<double>(choices.size());
    const ProbeContext context{exchange_, fleet_, book_, plan_, region_, fees_.value_or(chain::Fees())};
    auto probe = std::make_unique<TransactionProbe>(context, keys_.empty() ? nullptr : &keys_[lane], own, propensity);
    ++started_;
    if (!fees_) {
      probe->refuse(fleet_[own].silence.value_or(
          rpc::Failure{rpc::ErrorClass::malformed, "", "no provider tells the latest block", {}}));
    } else if (!fits_budget()) {
      probe->refuse({rpc::ErrorClass::spend_limit, "", "it could cost more than is left of max_spend_gwei", {}});
    } else {
      committed_wei_ += worst_case();
      probe->start();
    }
    lanes_[lane] = std::move(probe);
    tell_progress();
  }

  long double worst_case() const { return static_cast<long double>(chain::worst_case_cost(*fees_)); }

  bool fits_budget() const {
    return committed_wei_ + worst_case() <= static_cast<long double>(plan_.max_spend_gwei) * 1e9L;
  }

  std::optional<TransactionRecord> take_finished() {
    for (auto& probe : lanes_) {
      if (probe == nullptr || !probe->finished()) continue;
      TransactionRecord record = probe->record();
      const bool charged = fees_ && record.error_class != rpc::ErrorClass::spend_limit;
      if (charged && !probe->may_cost()) committed_wei_ -= worst_case();
      probe.reset();
      ++finished_;
      tell_progress();
      return record;
    }
    return std::nullopt;
  }

  /// Providers that were left out are told after the rest, so that the first row is always a transaction's.
  std::optional<TransactionRecord> next_exclusion() {
    for (std::size_t i = 0; i < fleet_.size(); ++i) {
      if (!fleet_[i].excluded || !is_wanted(i) || !told_.insert(i).second) continue;
      TransactionRecord record = record_for(fleet_[i].provider, region_, exchange_.unix_now());
      record.error_class = fleet_[i].excluded->error_class;
      record.error = fleet_[i].excluded->message;
      return record;
    }
    return std::nullopt;
  }

  void tell_progress() const {
    if (progress_) progress_({plan_.n, started_, finished_});
  }

  TransactionPlan plan_;
  std::string region_;
  rpc::Interrupt interrupt_;
  TransactionProgressCallback progress_;
  Exchange exchange_;
  Conversation conversation_;
  Fleet fleet_;
  Draw draw_;
  NonceBook& book_;
  chain::FeeWishes wishes_;
  std::vector<chain::PrivateKey> keys_;
  std::optional<chain::Fees> fees_;
  bool surveyed_ = false;
  std::int64_t started_ = 0;
  std::int64_t finished_ = 0;
  long double committed_wei_ = 0;
  std::set<std::size_t> told_;
  std::vector<std::unique_ptr<TransactionProbe>> lanes_;  ///< one for each key; empty while it rests
};

TransactionScan::TransactionScan(Transport& transport, std::vector<rpc::Provider> candidates, TransactionPlan plan,
                                 std::string region, rpc::Interrupt interrupt, TransactionProgressCallback progress,
                                 NonceBook& book)
    : impl_(std::make_unique<Impl>(transport, std::move(candidates), std::move(plan), std::move(region),
                                   std::move(interrupt), std::move(progress), book)) {}

TransactionScan::~TransactionScan() = default;

std::optional<TransactionRecord> TransactionScan::next() {
  return impl_->next();
}

}  // namespace rpcroute::transaction
