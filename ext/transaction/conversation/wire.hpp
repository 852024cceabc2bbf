// The world as a transaction meets it: calls, and the two clocks. Tests put a scripted one in its place.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "rpc/client.hpp"

namespace rpcroute::transaction {

class Wire {
 public:
  using Ticket = std::uint64_t;

  Wire() = default;
  virtual ~Wire() = default;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  virtual Ticket submit(rpc::Call call) = 0;

  /// Waits for one answer until `until`, also when nothing is outstanding. Throws rpc::Interrupted.
  virtual std::optional<std::pair<Ticket, rpc::Answer>> next(rpc::Clock::time_point until,
                                                             const rpc::Interrupt& interrupt) = 0;
  virtual void cancel(Ticket ticket) = 0;
  virtual rpc::Clock::time_point now() const = 0;
  virtual double unix_now() const = 0;
};

/// The real world. Borrows the client.
class ClientWire final : public Wire {
 public:
  explicit ClientWire(rpc::RpcClient& client) : client_(client) {}

  Ticket submit(rpc::Call call) override;
  std::optional<std::pair<Ticket, rpc::Answer>> next(rpc::Clock::time_point until,
                                                     const rpc::Interrupt& interrupt) override;
  void cancel(Ticket ticket) override;
  rpc::Clock::time_point now() const override;
  double unix_now() const override;

 private:
  rpc::RpcClient& client_;
};

/// `seconds` as the clock counts.
rpc::Clock::duration clock_seconds(double seconds);

/// The seconds between two moments.
double seconds_between(rpc::Clock::time_point from, rpc::Clock::time_point to);

/// A moment as seconds of the monotonic clock, which all processes of this boot share.
double monotonic_seconds(rpc::Clock::time_point moment);

}  // namespace rpcroute::transaction
