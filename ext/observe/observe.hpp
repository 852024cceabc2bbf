// One round of polls: every provider, method and sample once, each an observation, whatever became of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chain/identity.hpp"
#include "rpc/client.hpp"
#include "rpc/failure.hpp"
#include "rpc/provider.hpp"
#include "rpc/wait.hpp"

namespace rpcroute::observe {

/// The pseudo-method that records WebSocket evidence against `ws_url`.
constexpr std::string_view websocket_method = "ws";

/// One row of `rpc_probe`. Times in milliseconds, nullopt unless a whole answer arrived.
struct Observation {
  double timestamp = 0;  ///< Unix seconds, UTC, at which the answer or the failure was complete
  std::string provider_id;
  std::string chain;
  std::string region;
  std::string method;
  int sample = 1;  ///< from 1
  bool ok = false;
  std::optional<double> latency_ms;  ///< of 'ws': TCP + TLS + upgrade, kept when no head came
  std::optional<double> setup_ms;    ///< of 'ws': the resolver's time
  std::optional<double> total_ms;
  std::optional<double> first_message_ms;  ///< of 'ws': from sending the subscription to its first notification
  std::optional<std::int64_t> block_number;
  chain::Identity identity;
  std::optional<long> http_status;
  std::optional<rpc::Failure> failure;  ///< set exactly when not ok
  std::int64_t response_bytes = 0;
};

enum class Mode {
  parallel,   ///< all at once, up to the descriptor limit
  sequential  ///< one request in flight at any moment, no retry
};

struct Round {
  Mode mode = Mode::parallel;
  int samples = 1;
  rpc::Milliseconds timeout{3500};
  rpc::Milliseconds ws_timeout{4000};
  std::optional<rpc::Milliseconds> deadline;  ///< on the whole round; the unanswered are `timeout`
  std::map<std::string, std::string> params;  ///< JSON array text per method; the method's default otherwise
  std::string region = "local";
  std::size_t max_response_bytes = std::size_t{8} << 20;
};

/// Whom to ask, and for what; no methods are the height method of its chain's kind.
struct Target {
  rpc::Provider provider;
  std::vector<std::string> methods = {};
};

/// Polls. The observations come in the order of targets, then methods, then samples. A provider with a config_error,
/// or one whose chain kind has no such read method, is not asked. One that says it is on another chain than its own is
/// `config`, whatever else it answered. Ends by the timeout (the deadline) + 50 ms. Throws rpc::Interrupted, and
/// std::invalid_argument for params that are no JSON array or object; then nothing of the round is outstanding.
std::vector<Observation> observe(rpc::RpcClient& client, std::span<const Target> targets, const Round& round,
                                 const rpc::Interrupt& interrupt);

}  // namespace rpcroute::observe
