// HTTP requests to many servers at once from one thread, timed without our own queueing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rpc/failure.hpp"
#include "rpc/wait.hpp"

namespace rpcroute::rpc {

/// A POST of JSON.
struct HttpRequest {
  std::string url;
  std::string host;                  ///< the URL's, as libcurl asks for its addresses
  std::string port;                  ///< the URL's or the scheme's
  std::vector<std::string> headers;  ///< "Name: value"
  std::string body;
  std::string certificate_authorities;                    ///< path of a CA file; empty for the system's
  Milliseconds timeout{3500};                             ///< from the start of the request, set-up included
  std::size_t max_response_bytes = std::size_t{8} << 20;  ///< after decompression
  bool never_resend = false;  ///< send at most once: on a fresh HTTP/1.1 connection, which libcurl never retries
};

/// A whole answer, or why there is none.
struct HttpReply {
  std::optional<Failure> failure;   ///< of the transport, or config of our own limits; no part of the URL in it
  std::optional<long> status;       ///< known as soon as the header arrived
  std::string body;                 ///< decompressed
  bool body_is_intact = true;       ///< it was compressed as its header says
  std::int64_t response_bytes = 0;  ///< decompressed, counted also when the answer is incomplete
  std::string retry_after;          ///< the header's value, or empty
  bool request_left = false;        ///< sending began on a connection that stood, TLS included
  double timestamp = 0;             ///< Unix seconds at `finished`
  Clock::time_point started;        ///< just before the request left; when it never left, the start of set-up
  Clock::time_point finished;       ///< when the answer or the failure was complete
  double setup_ms = 0;              ///< DNS + TCP + TLS; 0 on a warm connection
  double latency_ms = 0;            ///< from `started` to `finished`
};

/// Drives transfers over libcurl's multi interface. Connections stay warm for the client's lifetime. Not thread-safe.
/// After fork() the child forgets the parent's transfers and connections without writing to them.
///
/// Host names are looked up by our own resolver, and only when there is no warm connection to use. A request for which
/// no descriptor is free waits until one of ours is; it fails when all are the host's.
///
/// `finished` is the moment at which the socket was seen to be readable, not the one at which its turn came: with
/// hundreds of answers at once the difference is milliseconds. Requests start a few at a time for the same reason.
class HttpClient {
 public:
  using Ticket = std::uint64_t;

  HttpClient();
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Queues a request. It starts in the next wait, at once or when the descriptor limit allows; its timeout counts from
  /// its start.
  Ticket submit(HttpRequest request);

  /// Waits until `enough` holds or `until` passes. `enough` is asked between socket events and must be quick. Throws
  /// Interrupted.
  void wait(const std::function<bool()>& enough, Clock::time_point until, const Interrupt& interrupt);

  /// Whether the request is still without a reply.
  bool pending(Ticket ticket) const;

  /// Whether take() has one.
  bool any_finished() const;

  /// The reply that finished first; or that of `ticket`.
  std::optional<std::pair<Ticket, HttpReply>> take();
  std::optional<HttpReply> take(Ticket ticket);

  void cancel(Ticket ticket);
  void cancel_all();

  /// Requests whose reply has not been taken.
  std::size_t outstanding() const;

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
  Ticket last_ticket_ = 0;

  Engine& engine();
  Engine* own_engine() const;
};

}  // namespace rpcroute::rpc
