// Many conversations with many providers from one thread: what a probe says next depends on what it heard.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rpc/client.hpp"

namespace rpcroute::transaction {

/// The world as a probe sees it: calls, and the two clocks. Tests put a scripted one in its place.
class Transport {
 public:
  using Ticket = std::uint64_t;

  Transport() = default;
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  virtual Ticket submit(rpc::Call call) = 0;

  /// Waits for one answer until `until`, also when nothing is outstanding. Throws rpc::Interrupted.
  virtual std::optional<std::pair<Ticket, rpc::Answer>> next(rpc::Clock::time_point until,
                                                             const rpc::Interrupt& interrupt) = 0;
  virtual void cancel(Ticket ticket) = 0;
  virtual rpc::Clock::time_point now() const = 0;
  virtual double unix_now() const = 0;
};

/// The real world. Borrows the client.
class ClientTransport final : public Transport {
 public:
  explicit ClientTransport(rpc::RpcClient& client) : client_(client) {}

  Ticket submit(rpc::Call call) override;
  std::optional<std::pair<Ticket, rpc::Answer>> next(rpc::Clock::time_point until,
                                                     const rpc::Interrupt& interrupt) override;
  void cancel(Ticket ticket) override;
  rpc::Clock::time_point now() const override;
  double unix_now() const override;

 private:
  rpc::RpcClient& client_;
};

/// Calls whose answers, and moments whose arrival, run a continuation. Everything asked belongs to an owner that can
/// withdraw all of it at once. Not thread-safe.
class Exchange {
 public:
  using Owner = std::uint64_t;
  using Then = std::function<void(const rpc::Answer&)>;
  using ThenAll = std::function<void(const std::vector<rpc::Answer>&)>;

  explicit Exchange(Transport& transport) : transport_(transport) {}
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

  rpc::Clock::time_point now() const { return transport_.now(); }
  double unix_now() const { return transport_.unix_now(); }

 private:
  struct Asked {
    Owner owner;
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

  Transport& transport_;
  Owner last_owner_ = 0;
  std::map<Transport::Ticket, Asked> asked_;
  std::multimap<rpc::Clock::time_point, Moment> moments_;
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
  void withdraw() { exchange_.withdraw(owner_); }
  rpc::Clock::time_point now() const { return exchange_.now(); }
  double unix_now() const { return exchange_.unix_now(); }
  rpc::Clock::duration absent_between(rpc::Clock::time_point from, rpc::Clock::time_point to) const {
    return exchange_.absent_between(from, to);
  }

 private:
  Exchange& exchange_;
  Exchange::Owner owner_;
};

/// `seconds` as the clock counts.
rpc::Clock::duration clock_seconds(double seconds);

/// The seconds between two moments.
double seconds_between(rpc::Clock::time_point from, rpc::Clock::time_point to);

}  // namespace rpcroute::transaction
