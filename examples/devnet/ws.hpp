// One WebSocket connection of a provider: JSON-RPC by message, and heads to whoever subscribed.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "endpoint.hpp"

namespace rpcroute::devnet {

class WsConnection : public Subscriber, public std::enable_shared_from_this<WsConnection> {
 public:
  WsConnection(Endpoint& endpoint, tcp::socket socket, std::optional<Fault> fault);

  /// Accepts the upgrade at that moment.
  void start(HttpRequest request, Clock::time_point moment);

  void send_head(std::uint64_t height);
  void cut();

  MethodResult subscribe() override;
  MethodResult unsubscribe() override;

 private:
  bool has(FaultKind kind) const { return fault_ && fault_->kind == kind; }
  void accept();
  void opened();
  void read();
  void answer(const std::string& message);
  void deliver(const Reply& reply);
  void send(std::string message);
  void write();
  void beat();

  Endpoint& endpoint_;
  boost::beast::websocket::stream<tcp::socket, false> stream_;
  std::optional<Fault> fault_;
  HttpRequest request_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer heartbeat_;
  boost::beast::flat_buffer buffer_;
  std::deque<std::string> outbox_;
  std::optional<std::uint64_t> subscription_;
};

}  // namespace rpcroute::devnet
