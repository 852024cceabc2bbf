#include "transaction/conversation/wire.hpp"

#include <algorithm>
#include <thread>

namespace rpcroute::transaction {

Wire::Ticket ClientWire::submit(rpc::Call call) {
  return client_.submit(std::move(call));
}

std::optional<std::pair<Wire::Ticket, rpc::Answer>> ClientWire::next(rpc::Clock::time_point until,
                                                                     const rpc::Interrupt& interrupt) {
  while (client_.outstanding() == 0) {
    if (interrupt && interrupt()) throw rpc::Interrupted{};
    const auto rest = until - rpc::Clock::now();
    if (rest <= rpc::Clock::duration::zero()) return std::nullopt;
    std::this_thread::sleep_for(std::min<rpc::Clock::duration>(rest, rpc::Milliseconds(20)));
  }
  return client_.next(until, interrupt);
}

void ClientWire::cancel(Ticket ticket) {
  client_.cancel(ticket);
}

rpc::Clock::time_point ClientWire::now() const {
  return rpc::Clock::now();
}

double ClientWire::unix_now() const {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

rpc::Clock::duration clock_seconds(double seconds) {
  return std::chrono::duration_cast<rpc::Clock::duration>(std::chrono::duration<double>(seconds));
}

double seconds_between(rpc::Clock::time_point from, rpc::Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

double monotonic_seconds(rpc::Clock::time_point moment) {
  return std::chrono::duration<double>(moment.time_since_epoch()).count();
}

}  // namespace rpcroute::transaction
