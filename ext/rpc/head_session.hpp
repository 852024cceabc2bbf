// One WebSocket connection: connect, upgrade, subscribe, first head.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <memory>

#include "rpc/endpoint.hpp"
#include "rpc/websocket.hpp"

namespace rpcroute::rpc {

/// Lives while its operations are pending in the io_context; all calls from its thread.
class HeadSession {
 public:
  using Done = std::function<void(HeadAnswer)>;

  virtual ~HeadSession() = default;

  /// Calls `done` once, within the request's timeout. Out of memory, throws, or stops the io_context.
  virtual void start() = 0;

  /// Closes the connection; `done` is not called any more.
  virtual void abandon() = 0;
};

/// `tls` is used for wss and must outlive the session.
std::shared_ptr<HeadSession> make_head_session(const std::shared_ptr<boost::asio::io_context>& io,
                                               boost::asio::ssl::context& tls, HeadRequest request, Endpoint endpoint,
                                               HeadSession::Done done);

}  // namespace rpcroute::rpc
