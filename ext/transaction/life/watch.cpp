#include "transaction/life/watch.hpp"

#include <algorithm>

#include "transaction/life/verdict.hpp"

namespace rpcroute::transaction {
namespace {

constexpr int silences_that_count = 3;
constexpr int beats_of_rest = 4;
constexpr int sharp_beats = 2;
constexpr rpc::Milliseconds sharp_slack{250};

}  // namespace

rpc::Clock::duration sharp_gap(rpc::Clock::duration beat) {
  return sharp_beats * beat + sharp_slack;
}

Watch::Watch(Exchange& exchange, const Fleet& fleet, std::string tx_hash, std::optional<std::size_t> own,
             rpc::Clock::duration beat, rpc::Milliseconds call_timeout, std::function<void()> changed)
    : conversation_(exchange),
      fleet_(fleet),
      tx_hash_(std::move(tx_hash)),
      own_(own),
      beat_(beat),
      call_timeout_(call_timeout),
      changed_(std::move(changed)) {}

void Watch::start() {
  // In turn within a beat: together they look n times as often as each of them does.
  const std::vector<std::size_t> whom = fleet_.all_asked();
  for (std::size_t k = 0; k < whom.size(); ++k) {
    const auto phase = beat_ * static_cast<rpc::Clock::rep>(k) / static_cast<rpc::Clock::rep>(whom.size());
    conversation_.after(phase, [this, i = whom[k]] { look(i); });
  }
}

void Watch::stop() {
  conversation_.withdraw();
}

void Watch::look(std::size_t i) {
  const auto begun = conversation_.now();
  const auto ready = conversation_.pace(fleet_[i].provider.provider_id).ready();
  if (ready > begun) return conversation_.at(ready, [this, i] { look(i); });
  auto call = call_to(fleet_, i, "eth_getTransactionReceipt", json_strings({tx_hash_}), call_timeout_);
  conversation_.ask(std::move(call), [this, i, begun](const rpc::Answer& answer) {
    conversation_.at(std::max(begun + beat_, conversation_.now()), [this, i] { look(i); });
    hear(i, answer);
    changed_();
  });
}

void Watch::hear(std::size_t i, const rpc::Answer& answer) {
  View& view = views_[i];
  const bool not_yet = answer.failure && is_not_yet(answer);
  if (answer.failure && !not_yet) {
    ++view.silences;
    complaint_ = answer.failure->message;
    return;
  }
  try {
    const auto receipt = not_yet ? std::nullopt : chain::read_receipt(answer.result, tx_hash_);
    view.silences = 0;
    answered_ = answer.finished;
    if (!receipt) return miss(i, answer.finished);
    if (!receipt->block_hash.empty()) return see(i, *receipt, answer);
    preconfirm(answer.finished);
    miss(i, answer.finished);
  } catch (const chain::Misread& misread) {
    ++view.silences;
    complaint_ = misread.message;
  }
}

void Watch::miss(std::size_t i, rpc::Clock::time_point ended) {
  views_[i].receipt.reset();
  unseen_ = std::max(unseen_.value_or(ended), ended);
}

void Watch::see(std::size_t i, const chain::Receipt& receipt, const rpc::Answer& answer) {
  views_[i].receipt = receipt;
  const BlockId block{receipt.block_number, receipt.block_hash};
  const Sight fresh{block, {}, answer.started, answer.finished, {}, unseen_, {}, {}};
  Sighting& sighting = sightings_.try_emplace(block.hash, Sighting{fresh}).first->second;
  Sight& sight = sighting.sight;
  if (answer.finished < sight.first) {
    sight.first = answer.finished;
    sight.looked = answer.started;
  }
  if (i == own_ && !sight.own) sight.own = answer.finished;
  if (!sighting.stands && !sighting.asked) check(sighting);
}

void Watch::check(Sighting& sighting) {
  sighting.asked = true;
  const BlockId& block = sighting.sight.block;
  search_block(conversation_, fleet_, block, call_timeout_, Urgency::usual,
               [this, block_hash = block.hash](const BlockResult& result) {
                 hear_block(block_hash, result);
                 changed_();
               });
}

void Watch::hear_block(const std::string& block_hash, const BlockResult& result) {
  Sighting& sighting = sightings_.at(block_hash);
  Sight& sight = sighting.sight;
  sighting.asked = false;
  sighting.stands = result.stands();
  sight.block_timestamp = result.timestamp;
  sight.base_fee = result.base_fee;
  if (sighting.stands) return;
  if (result.same > 0) return;  // seen differently: the next look asks again
  if (result.different + result.absent == 0) {
    complaint_ = "its receipt was seen, but nobody shows the block";
    return;
  }
  // There was no such block yet: the sight that counts is one that finds it.
  preconfirm(sight.first);
  // That look found none, too; but after a time in which nobody looked it does not tell when the block came.
  const bool was_looking = !sight.unseen || sight.looked - *sight.unseen <= sharp_gap(beat_);
  if (was_looking) unseen_ = std::max(unseen_.value_or(sight.first), sight.first);
  sightings_.erase(block_hash);
}

void Watch::preconfirm(rpc::Clock::time_point moment) {
  preconfirmed_ = std::min(preconfirmed_.value_or(moment), moment);
}

std::optional<Sight> Watch::settled() const {
  std::map<std::string, std::vector<chain::Receipt>> votes;
  for (const auto& [i, view] : views_) {
    const auto sighting = view.receipt ? sightings_.find(view.receipt->block_hash) : sightings_.end();
    if (sighting != sightings_.end() && sighting->second.stands) votes[sighting->first].push_back(*view.receipt);
  }
  // In a fork that providers see differently, the block that most of them show.
  const auto best = std::max_element(votes.begin(), votes.end(),
                                     [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  if (best == votes.end()) return std::nullopt;
  Sight sight = sightings_.at(best->first).sight;
  sight.receipts = best->second;
  return sight;
}

bool Watch::own_is_silent() const {
  if (!own_) return true;
  const auto view = views_.find(*own_);
  if (view == views_.end() || view->second.silences == 0) return false;
  const bool wants_rest =
      conversation_.pace(fleet_[*own_].provider.provider_id).ready() > conversation_.now() + beats_of_rest * beat_;
  return wants_rest || view->second.silences >= silences_that_count;
}

}  // namespace rpcroute::transaction
