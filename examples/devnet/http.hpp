// HTTP/1.1 on one port: connections that read requests with Beast and deliver replies that may be anything but HTTP.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "reply.hpp"
#include "wire.hpp"

namespace rpcroute::devnet {

using HttpRequest = boost::beast::http::request<boost::beast::http::string_body>;

class HttpHandler {
 public:
  virtual ~HttpHandler() = default;

  /// Looks at a request the moment it is read; the reply leaves later.
  virtual Reply answer(const HttpRequest& request) = 0;

  /// Takes a connection over that asks for WebSocket.
  virtual void upgrade(tcp::socket socket, HttpRequest request, Clock::time_point arrival) = 0;
  virtual bool can_upgrade() const = 0;
};

class HttpConnection;

/// A port of 127.0.0.1. Requests on a connection are answered in their order, one at a time.
class HttpListener {
 public:
  /// Port 0 takes a free one. Throws boost::system::system_error when the port cannot be had.
  HttpListener(boost::asio::io_context& io, unsigned short port, HttpHandler& handler,
               boost::asio::ssl::context* tls = nullptr);

  unsigned short port() const { return port_; }

  /// Stops listening and ends all connections; the port stays the same when it opens again.
  void refuse();
  void open();

 private:
  void take_port();
  void accept();
  void serve(tcp::socket socket);

  HttpHandler& handler_;
  boost::asio::ssl::context* tls_;
  tcp::acceptor acceptor_;
  unsigned short port_;
  bool listening_ = false;
  std::set<std::weak_ptr<HttpConnection>, std::owner_less<>> connections_;
  std::size_t prune_at_ = 64;
};

}  // namespace rpcroute::devnet
