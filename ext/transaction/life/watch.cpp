#include "transaction/life/watch.hpp"

#include <algorithm>

#include "transaction/life/verdict.hpp"

namespace rpcroute::transaction {
namespace {

constexpr int silences_that_count = 3;

}  // namespace

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
    conversation_.at(conversation_.now() + phase, [this, i = whom[k]] { look(i); });
  }
}

void Watch::stop() {
  conversation_.withdraw();
}

void Watch::look(std::size_t i) {
  const auto begun = conversation_.now();
  auto call = call_to(fleet_, i, "eth_getTransactionReceipt", json_strings({tx_hash_}), call_timeout_);
  conversation_.ask(std::move(call), [this, i, begun](const rpc::Answer& answer) {
    conversation_.at(std::max(begun + beat_, conversation_.now()), [this, i] { look(i); });
    hear(i, answer);
    changed_();
  });
}

void Watch::hear(std::size_t i, const rpc::Answer& answer) {
  View& view = views_[i];
  const bool not_yet = answer.failure && is_indexing(*answer.failure);
  if (answer.failure && !not_yet) {
    ++view.silences;
    return;
  }
  try {
    const auto receipt = not_yet ? std::nullopt : chain::read_receipt(answer.result, tx_hash_);
    view.silences = 0;
    if (receipt) return see(i, *receipt, answer.finished);
    view.block_hash.clear();
    view.sightings = 0;
    unseen_ = std::max(unseen_.value_or(answer.started), answer.started);
  } catch (const chain::Misread&) {
    ++view.silences;
  }
}

void Watch::see(std::size_t i, const chain::Receipt& receipt, rpc::Clock::time_point moment) {
  View& view = views_[i];
  view.sightings = view.block_hash == receipt.block_hash ? view.sightings + 1 : 1;
  view.block_hash = receipt.block_hash;
  auto& first = first_sights_.try_emplace(receipt.block_hash, FirstSight{receipt, moment, {}, unseen_}).first->second;
  first.any = std::min(first.any, moment);
  if (i == own_ && !first.own) first.own = moment;
}

std::optional<Sight> Watch::sight_of_views(int least_sightings) const {
  std::map<std::string, std::size_t> votes;
  for (const auto& [i, view] : views_) {
    if (!view.block_hash.empty()) ++votes[view.block_hash];
  }
  // In a fork that providers see differently, the block that most of them show.
  const View* best = nullptr;
  std::size_t shown_by = 0;
  for (const auto& [i, view] : views_) {
    if (view.block_hash.empty() || view.sightings < least_sightings) continue;
    if (best != nullptr && votes[view.block_hash] <= votes[best->block_hash]) continue;
    best = &view;
    shown_by = i;
  }
  if (best == nullptr) return std::nullopt;
  const FirstSight& first = first_sights_.at(best->block_hash);
  return Sight{first.receipt, first.any, first.own, first.unseen, shown_by};
}

std::optional<Sight> Watch::settled() const {
  return sight_of_views(2);
}

std::optional<Sight> Watch::provisional() const {
  return sight_of_views(1);
}

bool Watch::own_is_silent() const {
  if (!own_) return true;
  const auto view = views_.find(*own_);
  return view != views_.end() && view->second.silences >= silences_that_count;
}

}  // namespace rpcroute::transaction
