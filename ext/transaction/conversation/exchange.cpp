#include "transaction/conversation/exchange.hpp"

#include <algorithm>
#include <memory>

namespace rpcroute::transaction {
namespace {

constexpr rpc::Milliseconds shortest_absence{1};
constexpr std::size_t most_absences = 64;

}  // namespace

Exchange::~Exchange() {
  for (const auto& [ticket, expected] : expected_) wire_.cancel(ticket);
}

void Exchange::withdraw(Owner owner) {
  std::erase_if(expected_, [&](const auto& entry) {
    const bool own = entry.second.owner == owner;
    if (own) wire_.cancel(entry.first);
    return own;
  });
  std::erase_if(moments_, [&](const auto& entry) { return entry.second.owner == owner; });
}

void Exchange::ask(Owner owner, rpc::Call call, Then then) {
  std::string provider_id = call.provider.provider_id;
  expected_.emplace(wire_.submit(std::move(call)), Expected{owner, std::move(provider_id), std::move(then)});
}

void Exchange::ask_all(Owner owner, std::vector<rpc::Call> calls, ThenAll then) {
  struct Gathering {
    std::vector<rpc::Answer> answers;
    std::size_t missing;
    ThenAll then;
  };
  if (calls.empty()) {
    at(owner, now(), [then = std::move(then)] { then({}); });
    return;
  }
  const auto gathering =
      std::make_shared<Gathering>(Gathering{std::vector<rpc::Answer>(calls.size()), calls.size(), std::move(then)});
  for (std::size_t i = 0; i < calls.size(); ++i) {
    ask(owner, std::move(calls[i]), [gathering, i](const rpc::Answer& answer) {
      gathering->answers[i] = answer;
      if (--gathering->missing == 0) gathering->then(gathering->answers);
    });
  }
}

void Exchange::at(Owner owner, rpc::Clock::time_point moment, std::function<void()> then) {
  moments_.emplace(moment, Moment{owner, std::move(then)});
}

bool Exchange::run_due_moment() {
  if (moments_.empty() || moments_.begin()->first > now()) return false;
  // Taken out first: the continuation may withdraw its owner, and itself with it.
  const auto node = moments_.extract(moments_.begin());
  node.mapped().then();
  return true;
}

void Exchange::come_back() {
  const auto back = now();
  if (left_ && back - *left_ > shortest_absence) absences_.push_back({*left_, back});
  if (absences_.size() > most_absences) absences_.pop_front();
}

rpc::Clock::duration Exchange::absent_between(rpc::Clock::time_point from, rpc::Clock::time_point to) const {
  rpc::Clock::duration absent{0};
  for (const Absence& absence : absences_) {
    absent += std::max(rpc::Clock::duration(0), std::min(to, absence.to) - std::max(from, absence.from));
  }
  return absent;
}

bool Exchange::step(const rpc::Interrupt& interrupt) {
  come_back();
  const bool goes_on = run_due_moment() || hear_next(interrupt);
  left_ = now();
  return goes_on;
}

bool Exchange::hear_next(const rpc::Interrupt& interrupt) {
  if (expected_.empty() && moments_.empty()) return false;
  const auto until = moments_.empty() ? rpc::Clock::time_point::max() : moments_.begin()->first;
  const auto answered = wire_.next(until, interrupt);
  if (!answered) return true;
  const auto node = expected_.extract(answered->first);
  if (!node) return true;
  paces_[node.mapped().provider_id].hear(answered->second);
  node.mapped().then(answered->second);
  return true;
}

Pace Exchange::pace(const std::string& provider_id) const {
  const auto pace = paces_.find(provider_id);
  return pace == paces_.end() ? Pace() : pace->second;
}

}  // namespace rpcroute::transaction
