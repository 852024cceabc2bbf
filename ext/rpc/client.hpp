// JSON-RPC over HTTP to many providers at once. The one way in which rpcroute asks anybody anything over HTTP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rpc/endpoint.hpp"
#include "rpc/failure.hpp"
#include "rpc/provider.hpp"
#include "rpc/wait.hpp"

namespace rpcroute::rpc {

/// One JSON-RPC call to one provider.
struct Call {
  Provider provider;
  std::string method;
  std::string params = "[]";                              ///< JSON array text
  Milliseconds timeout{3500};                             ///< from the start of the request, set-up included
  std::size_t max_response_bytes = std::size_t{8} << 20;  ///< after decompression
  bool never_resend =
      false;  ///< the bytes must not be sent again on a fresh connection (a send that is not idempotent)
};

/// What came of a call. Times in milliseconds, NULL unless a whole answer arrived.
struct Answer {
  double timestamp = 0;        ///< Unix seconds, UTC, at which the answer or the failure was complete
  Clock::time_point started;   ///< just before the request left, set-up done; when it never left, the call's start
  Clock::time_point finished;  ///< when the answer or the failure was complete
  std::optional<double> latency_ms;  ///< request sent → answer complete, without set-up
  std::optional<double> setup_ms;    ///< DNS + TCP + TLS; 0 on a warm connection
  std::optional<double> total_ms;    ///< latency + set-up
  std::optional<long> http_status;
  /// Whether any byte of the request can have reached the server: true from the moment at which sending began on a
  /// connection that stood, TLS included. While it is false, nothing of the call can have happened anywhere.
  bool request_left = false;
  std::int64_t response_bytes = 0;         ///< decompressed
  bool complained = false;                 ///< the answer was a JSON-RPC error object
  std::string result;                      ///< raw JSON text of `result`, when `failure` is empty
  std::optional<Failure> failure;          ///< empty when the provider answered with a result
  std::optional<std::int64_t> error_code;  ///< of a JSON-RPC error object
  std::string error_data;                  ///< raw JSON text of error.data, or empty

  /// The failure is this process's own: it may open no more files.
  bool is_ours() const { return failure && failure->kind == "descriptors"; }
};

/// Keeps connections warm for its lifetime. Not thread-safe: one client per database connection. Survives fork():
/// the child starts with no warm connections and never writes to the parent's.
class RpcClient {
 public:
  using Ticket = std::uint64_t;

  /// `environment` fills in `${RPCROUTE_NAME}`.
  explicit RpcClient(Environment environment = process_environment());
  ~RpcClient();
  RpcClient(const RpcClient&) = delete;
  RpcClient& operator=(const RpcClient&) = delete;

  /// Queues a call; it starts at once, or when a descriptor becomes free. A call that cannot be made (config) is
  /// answered like any other.
  Ticket submit(Call call);

  /// Drives the transfers until one call has its answer, and returns it; nullopt when `until` passed first or nothing
  /// is outstanding. Throws Interrupted.
  std::optional<std::pair<Ticket, Answer>> next(Clock::time_point until, const Interrupt& interrupt);

  /// Drives the transfers until every one of `tickets` has its answer or `until` passed, and returns the answers there
  /// are; those of other calls are kept for next(). Nothing is decoded before the last one arrived, so that no latency
  /// holds our own work. Throws Interrupted.
  std::vector<std::pair<Ticket, Answer>> collect(std::span<const Ticket> tickets, Clock::time_point until,
                                                 const Interrupt& interrupt);

  /// Gives up a call; its answer never comes. Unknown tickets are ignored.
  void cancel(Ticket ticket);

  /// Gives up everything outstanding (after an exception).
  void cancel_all();

  std::size_t outstanding() const;

  const Environment& environment() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcroute::rpc
