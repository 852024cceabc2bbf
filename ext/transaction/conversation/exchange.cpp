#include "transaction/conversation/exchange.hpp"

#include <algorithm>
#include <memory>
#include <thread>

namespace rpcroute::transaction {
namespace {

constexpr rpc::Milliseconds shortest_absence{1};
constexpr std::size_t most_absences = 64;

}  // namespace

Transport::Ticket ClientTransport::submit(rpc::Call call) {
  return client_.submit(std::move(call));
}

std::optional<std::pair<Transport::Ticket, rpc::Answer>> ClientTransport::next(rpc::Clock::time_point until,
                                                                               const rpc::Interrupt& interrupt) {
  while (client_.outstanding() == 0) {
    if (interrupt && interrupt()) throw rpc::Interrupted{};
    const auto rest = until - rpc::Clock::now();
    if (rest <= rpc::Clock::duration::zero()) return std::nullopt;
    std::this_thread::sleep_for(std::min<rpc::Clock::duration>(rest, rpc::Milliseconds(20)));
  }
  return client_.next(until, interrupt);
}

void ClientTransport::cancel(Ticket ticket) {
  client_.cancel(ticket);
}

rpc::Clock::time_point ClientTransport::now() const {
  return rpc::Clock::now();
}

double ClientTransport::unix_now() const {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Exchange::~Exchange() {
  for (const auto& [ticket, asked] : asked_) transport_.cancel(ticket);
}

void Exchange::withdraw(Owner owner) {
  std::erase_if(asked_, [&](const auto& entry) {
    const bool own = entry.second.owner == owner;
    if (own) transport_.cancel(entry.first);
    return own;
  });
  std::erase_if(moments_, [&](const auto& entry) { return entry.second.owner == owner; });
}

void Exchange::ask(Owner owner, rpc::Call call, Then then) {
  asked_.emplace(transport_.submit(std::move(call)), Asked{owner, std::move(then)});
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
  if (asked_.empty() && moments_.empty()) return false;
  const auto until = moments_.empty() ? rpc::Clock::time_point::max() : moments_.begin()->first;
  const auto answered = transport_.next(until, interrupt);
  if (!answered) return true;
  const auto node = asked_.extract(answered->first);
  if (node) node.mapped().then(answered->second);
  return true;
}

rpc::Clock::duration clock_seconds(double seconds) {
  return std::chrono::duration_cast<rpc::Clock::duration>(std::chrono::duration<double>(seconds));
}

double seconds_between(rpc::Clock::time_point from, rpc::Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace rpcroute::transaction
