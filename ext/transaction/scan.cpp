// probe(): the draws, the keys and the budget.
#include "transaction/scan.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <stdexcept>

#include "chain/evm_signer.hpp"
#include "text/hex.hpp"
#include "transaction/conversation/survey.hpp"
#include "transaction/draw.hpp"
#include "transaction/follow.hpp"
#include "transaction/life/probe.hpp"

namespace rpcroute::transaction {
namespace {

void check(const Plan& plan) {
  check_range("n", static_cast<double>(plan.n), 1, 100'000);
  check(plan.follow);
  check_range("max_spend_gwei", plan.max_spend_gwei, 0, most_spend_gwei);
  if (!plan.send && plan.signer == "node") {
    throw std::invalid_argument("send = 0 needs a key to sign with; signer = 'node' signs when it sends");
  }
}

chain::FeeWishes wishes_of(const Plan& plan) {
  chain::FeeWishes wishes;
  if (plan.max_fee_gwei) wishes.max_fee = chain::wei_of_gwei(*plan.max_fee_gwei, "max_fee_gwei");
  if (plan.priority_fee_gwei) wishes.priority_fee = chain::wei_of_gwei(*plan.priority_fee_gwei, "priority_fee_gwei");
  return wishes;
}

class Scan final : public Records {
 public:
  Scan(Desk desk, std::vector<rpc::Provider> candidates, Plan plan, ProgressCallback progress)
      : desk_(std::move(desk)),
        plan_(std::move(plan)),
        progress_(std::move(progress)),
        exchange_(desk_.wire),
        conversation_(exchange_),
        fleet_(providers_of_one_chain(std::move(candidates), plan_.forced_providers, plan_.allow_mainnet),
               plan_.allow_mainnet),
        draw_(plan_.seed) {
    if (plan_.signer.empty()) plan_.signer = default_signer();
    check(plan_);
    wishes_ = wishes_of(plan_);
    if (plan_.signer != "node") keys_ = chain::load_keys(plan_.signer);
    lanes_.resize(std::max<std::size_t>(keys_.size(), 1));
  }

  std::optional<Record> next() override {
    if (fleet_.size() == 0) return std::nullopt;
    if (!surveyed_) run_survey();
    while (true) {
      start_probes();
      if (auto record = take_finished()) return record;
      if (!in_flight()) return next_exclusion();
      exchange_.step(desk_.interrupt);
    }
  }

 private:
  /// One key, and the probe it has in flight.
  struct Lane {
    std::unique_ptr<ProbeLife> life;    ///< null while it rests
    std::optional<AccountState> known;  ///< see NonceWish
  };

  void run_survey() {
    bool done = false;
    survey(conversation_, fleet_, keys_.empty() ? "" : text::to_hex(keys_.front().address()), wishes_,
           plan_.follow.call_timeout, [&](std::optional<chain::Fees> fees) {
             fees_ = fees;
             done = true;
           });
    while (!done) exchange_.step(desk_.interrupt);
    surveyed_ = true;
  }

  bool in_flight() const {
    return std::any_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.life != nullptr; });
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
      if (lanes_[lane].life != nullptr) continue;
      const std::vector<std::size_t> choices = drawable();
      if (choices.empty()) return;
      start_probe(lane, choices);
    }
  }

  void start_probe(std::size_t lane, const std::vector<std::size_t>& choices) {
    const std::size_t own = choices[draw_(choices.size())];
    ProbeWish wish{keys_.empty() ? nullptr : &keys_[lane],
                   fees_.value_or(chain::Fees()),
                   plan_.wait,
                   plan_.send,
                   {},
                   lanes_[lane].known};
    if (plan_.forced_providers.empty()) wish.propensity = 1.0 / static_cast<double>(choices.size());
    const Surroundings surroundings{exchange_, desk_.book, desk_.broadcasts, plan_.follow};
    auto life = std::make_unique<ProbeLife>(surroundings, fleet_, own, desk_.region, std::move(wish));
    ++started_;
    if (!fees_) {
      life->refuse(fleet_[own].silence.value_or(
          rpc::Failure{rpc::ErrorClass::malformed, "", "no provider tells the latest block", {}}));
    } else if (!fits_budget()) {
      life->refuse({rpc::ErrorClass::spend_limit, "", "it could cost more than is left of max_spend_gwei", {}});
    } else {
      *plan_.purse += worst_case();
      life->start();
    }
    lanes_[lane].life = std::move(life);
    tell_progress();
  }

  long double worst_case() const { return static_cast<long double>(chain::worst_case_cost(*fees_)); }

  bool fits_budget() const {
    return *plan_.purse + worst_case() <= static_cast<long double>(plan_.max_spend_gwei) * 1e9L;
  }

  std::optional<Record> take_finished() {
    for (Lane& lane : lanes_) {
      if (lane.life == nullptr || !lane.life->finished()) continue;
      Record record = lane.life->record();
      const bool charged = fees_ && record.error_class != rpc::ErrorClass::spend_limit;
      if (charged && !lane.life->may_cost()) *plan_.purse -= worst_case();
      lane.known = lane.life->known_for_next();
      lane.life.reset();
      ++finished_;
      tell_progress();
      return record;
    }
    return std::nullopt;
  }

  /// Providers that were left out are told after the rest, so that the first row is always a transaction's.
  std::optional<Record> next_exclusion() {
    for (std::size_t i = 0; i < fleet_.size(); ++i) {
      if (!fleet_[i].excluded || !is_wanted(i) || !told_.insert(i).second) continue;
      Record record = record_for(fleet_[i].provider, desk_.region, exchange_.unix_now());
      record.fail(*fleet_[i].excluded);
      return record;
    }
    return std::nullopt;
  }

  void tell_progress() const {
    if (progress_) progress_({plan_.n, started_, finished_});
  }

  Desk desk_;
  Plan plan_;
  ProgressCallback progress_;
  Exchange exchange_;
  Conversation conversation_;
  Fleet fleet_;
  Draw draw_;
  chain::FeeWishes wishes_;
  std::vector<chain::PrivateKey> keys_;
  std::optional<chain::Fees> fees_;
  bool surveyed_ = false;
  std::int64_t started_ = 0;
  std::int64_t finished_ = 0;
  std::set<std::size_t> told_;
  std::vector<Lane> lanes_;  ///< one for each key
};

}  // namespace

std::string default_signer() {
  const char* key = std::getenv("RPCROUTE_KEY");
  return key != nullptr && *key != 0 ? "env:RPCROUTE_KEY" : "node";
}

std::unique_ptr<Records> probe(Desk desk, std::vector<rpc::Provider> candidates, Plan plan, ProgressCallback progress) {
  return std::make_unique<Scan>(std::move(desk), std::move(candidates), std::move(plan), std::move(progress));
}

}  // namespace rpcroute::transaction
