// Calls whose answers, and moments whose arrival, run a continuation.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "transaction/conversation/pace.hpp"
#include "transaction/conversation/wire.hpp"

namespace rpcroute::transaction {

/// Everything asked belongs to an owner that can withdraw all of it at once. Not thread-safe.
class Exchange {
 public:
  using Owner = std::uint64_t;
  using Then = std::function<void(const rpc::Answer&)>;
  using ThenAll = std::function<void(const std::vector<rpc::Answer>&)>;

  explicit Exchange(Wire& wire) : wire_(wire) {}
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// A new owner.
  Owner enter() { return ++last_owner_; }

  /// Withdraws all that `owner` asked: none of its continuations runs any more.
  void withdraw(Owner owner);

  void ask(Owner owner, rpc::Call call, Then then);

  /// Asks all at once and continues, in the same order, when all have answered. With no calls it continues at once.
  void ask_all(Owner owner, std::vector<rpc::Call> calls, ThenAll then);

  void at(Owner owner, rpc::Clock::time_point moment, std::function<void()> then);

  /// Waits for the next answer or moment and runs its continuation. False when nothing is to be waited for. Throws
  /// rpc::Interrupted.
  bool step(const rpc::Interrupt& interrupt);

  /// How long of that time nobody was in step(): whoever reads the rows took their time. What was heard afterwards may
  /// have waited that long. The last few dozen pauses are remembered.
  rpc::Clock::duration absent_between(rpc::Clock::time_point from, rpc::Clock::time_point to) const;

  /// How soon that provider may be asked again, by its answers to anybody.
  Pace pace(const std::string& provider_id) const;

  rpc::Clock::time_point now() const { return wire_.now(); }
  double unix_now() const { return wire_.unix_now(); }

 private:
  struct Expected {
    Owner owner;
    std::string provider_id;
    Then then;
  };
  struct Moment {
    Owner owner;
    std::function<void()> then;
  };

  struct Absence {
    rpc::Clock::time_point from;
    rpc::Clock::time_point to;
  };

  bool run_due_moment();
  bool hear_next(const rpc::Interrupt& interrupt);
  void come_back();

  Wire& wire_;
  Owner last_owner_ = 0;
  std::map<Wire::Ticket, Expected> expected_;
  std::multimap<rpc::Clock::time_point, Moment> moments_;
  std::map<std::string, Pace> paces_;
  std::optional<rpc::Clock::time_point> left_;  ///< when the last step ended
  std::deque<Absence> absences_;
};

/// An owner that withdraws when it goes.
class Conversation {
 public:
  explicit Conversation(Exchange& exchange) : exchange_(exchange), owner_(exchange.enter()) {}
  ~Conversation() { exchange_.withdraw(owner_); }
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  void ask(rpc::Call call, Exchange::Then then) { exchange_.ask(owner_, std::move(call), std::move(then)); }
  void ask_all(std::vector<rpc::Call> calls, Exchange::ThenAll then) {
    exchange_.ask_all(owner_, std::move(calls), std::move(then));
  }
  void at(rpc::Clock::time_point moment, std::function<void()> then) { exchange_.at(owner_, moment, std::move(then)); }
  void after(rpc::Clock::duration pause, std::function<void()> then) { at(now() + pause, std::move(then)); }
  void withdraw() { exchange_.withdraw(owner_); }
  rpc::Clock::time_point now() const { return exchange_.now(); }
  double unix_now() const { return exchange_.unix_now(); }
  Pace pace(const std::string& provider_id) const { return exchange_.pace(provider_id); }
  rpc::Clock::duration absent_between(rpc::Clock::time_point from, rpc::Clock::time_point to) const {
    return exchange_.absent_between(from, to);
  }

 private:
  Exchange& exchange_;
  Exchange::Owner owner_;
};

}  // namespace rpcroute::transaction
