// Host names to addresses without ever waiting for a resolver that hangs, and without piling up threads behind it.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rpc/failure.hpp"
#include "rpc/wait.hpp"

namespace rpcroute::rpc {

using TcpEndpoints = std::vector<boost::asio::ip::tcp::endpoint>;

/// What a look-up came to.
struct Resolution {
  TcpEndpoints addresses;          ///< in the resolver's order
  std::optional<Failure> failure;  ///< why there are none
  Clock::time_point finished;
  bool out_of_memory = false;  ///< this process is, which says nothing of the host
};

/// The address that `host` is, or nullopt when it is a name.
std::optional<boost::asio::ip::tcp::endpoint> numeric_endpoint(const std::string& host, const std::string& port);

/// Somebody waiting for a look-up; to let go of it is to wait no longer.
using LookUp = std::shared_ptr<const std::function<void(const Resolution&)>>;

/// Calls `done` once, from a thread of the resolver's. getaddrinfo cannot be cancelled: a look-up that hangs keeps its
/// thread, also when nobody waits any more. So there are at most 8 threads in the process, which end when nothing is
/// left to do, and who asks for a host and port that is being looked up waits for that look-up. Nothing is kept: who
/// asks later has it looked up anew. A forked child begins with no threads and no look-ups.
[[nodiscard]] LookUp look_up(const std::string& host, const std::string& port,
                             std::function<void(const Resolution&)> done);

/// The look-up that found nothing of use.
Failure no_addresses();

/// The look-up that did not end before its caller's time was up.
Failure late_look_up();

/// For tests: what is called in the system's place, or nothing to restore that. `finished` is set by the caller.
void replace_system_look_up(std::function<Resolution(const std::string& host, const std::string& port)> other);

}  // namespace rpcroute::rpc
