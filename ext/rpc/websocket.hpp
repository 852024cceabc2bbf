// WebSocket evidence: how long it takes to connect, and from a subscription to its first head.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rpc/endpoint.hpp"
#include "rpc/failure.hpp"
#include "rpc/provider.hpp"
#include "rpc/wait.hpp"

namespace rpcroute::rpc {

/// One subscription on a connection of its own to the provider's `ws_url`.
struct HeadRequest {
  Provider provider;
  std::string method;          ///< the subscribing method
  std::string params = "[]";   ///< JSON array text
  Milliseconds timeout{4000};  ///< from the start, the resolver's time included
  std::size_t max_message_bytes = std::size_t{8} << 20;
};

/// What came of it. The times of the connection are there as soon as it stood, whatever came after.
struct HeadAnswer {
  double timestamp = 0;                    ///< Unix seconds, UTC, at the first head or the failure
  std::optional<double> setup_ms;          ///< resolving the host name
  std::optional<double> latency_ms;        ///< TCP + TLS + upgrade
  std::optional<double> total_ms;          ///< both
  std::optional<double> first_message_ms;  ///< from sending the subscription to its first notification
  std::optional<long> http_status;         ///< 101 when the upgrade was accepted
  std::int64_t response_bytes = 0;         ///< of messages
  std::string head;                        ///< raw JSON of the first notification's `params.result`
  std::optional<Failure> failure;
};

/// Runs the requests, all at once, on a thread of its own from construction on, so that their clocks do not wait for
/// anybody. Destruction gives up what is unanswered at once, also while a resolver hangs.
class HeadWatch {
 public:
  HeadWatch(std::vector<HeadRequest> requests, const Environment& environment);
  ~HeadWatch();
  HeadWatch(const HeadWatch&) = delete;
  HeadWatch& operator=(const HeadWatch&) = delete;

  /// Waits until every request has its answer or `until` passed; the answers in the order of the requests, nullopt for
  /// the unanswered. Throws Interrupted.
  std::vector<std::optional<HeadAnswer>> wait(Clock::time_point until, const Interrupt& interrupt);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcroute::rpc
