#include "transaction/life/wait.hpp"

#include <algorithm>

namespace rpcroute::transaction {

WaitLife::WaitLife(const Surroundings& surroundings, const Fleets::Place& place,
                   const std::optional<ReadTransaction>& read, Record record)
    : Life(surroundings, place.fleet, place.own, std::move(record)) {
  if (read) {
    set_max_fee(read->transaction.max_fee_per_gas.saturated());
    claim_ = claim_of(surroundings_.book, *read, record_, fleet_);
  }
  const auto sent = surroundings_.broadcasts.find(*record_.tx_hash);
  if (!sent) return;
  broadcast_ = sent->started;
  record_.timestamp = sent->timestamp;
  record_.submit_ms = sent->submit_ms;
  record_.submit_head = sent->submit_head;
  record_.propensity = sent->propensity;
  record_.overlap = sent->overlap;
}

void WaitLife::start() {
  if (fleet_ == nullptr) {
    return leave({rpc::ErrorClass::config, "", "there is no provider " + record_.provider_id, {}});
  }
  if (broadcast_ && own_) looking_head_.emplace(conversation_, *fleet_, *own_, surroundings_.plan.call_timeout);
  // One that is overdue is looked for all the same, twice.
  watch(std::max(deadline(), conversation_.now() + 2 * surroundings_.plan.beat()));
}

rpc::Clock::time_point WaitLife::deadline() const {
  const FollowPlan& plan = surroundings_.plan;
  if (broadcast_) return *broadcast_ + plan.timeout();
  const double left = record_.timestamp + plan.timeout_sec - conversation_.unix_now();
  return conversation_.now() + clock_seconds(std::clamp(left, 0.0, plan.timeout_sec));
}

/// A later statement may hear more.
void WaitLife::unheard() {
  leave({rpc::ErrorClass::timeout, "", "no provider answers whether it knows the transaction", {}});
}

void WaitLife::leave(const rpc::Failure& failure) {
  record_.fail(failure);
  finish(State::pending);
}

}  // namespace rpcroute::transaction
