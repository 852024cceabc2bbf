// A server on loopback that speaks WebSocket, or HTTP over TLS, as a test says. Its connections end with it.
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "rpc_certificate.hpp"

namespace rpcroute::tests {

namespace beast = boost::beast;

/// One WebSocket connection, as a behaviour sees it.
class Socket {
 public:
  virtual ~Socket() = default;
  virtual std::string receive() = 0;  ///< empty when the client went
  virtual void send(std::string_view text) = 0;
};

template <class Stream>
class SocketOn final : public Socket {
 public:
  explicit SocketOn(Stream& stream) : stream_(stream) {}

  std::string receive() override {
    beast::flat_buffer buffer;
    boost::system::error_code error;
    stream_.read(buffer, error);
    return error ? std::string() : beast::buffers_to_string(buffer.data());
  }

  void send(std::string_view text) override {
    boost::system::error_code error;
    stream_.text(true);
    stream_.write(boost::asio::buffer(text.data(), text.size()), error);
  }

 private:
  Stream& stream_;
};

class StreamServer {
 public:
  using Behaviour = std::function<void(Socket&)>;

  /// Over TLS when there is a certificate. A plain POST is answered with `http_body`.
  explicit StreamServer(Behaviour behaviour, const Certificate* certificate = nullptr, std::string http_body = "{}")
      : behaviour_(std::move(behaviour)),
        certificate_(certificate),
        http_body_(std::move(http_body)),
        acceptor_(io_, {boost::asio::ip::address_v4::loopback(), 0}) {
    accepting_ = std::thread([this] { accept(); });
  }

  ~StreamServer() {
    ::shutdown(acceptor_.native_handle(), SHUT_RDWR);
    accepting_.join();
    for (Connection& connection : connections_) {
      ::shutdown(connection.descriptor, SHUT_RDWR);
      connection.thread.join();
      ::close(connection.descriptor);
    }
  }

  StreamServer(const StreamServer&) = delete;
  StreamServer& operator=(const StreamServer&) = delete;

  std::string port() const { return std::to_string(acceptor_.local_endpoint().port()); }

  /// The header of the last upgrade request.
  std::string upgrade_header() const {
    const std::lock_guard lock(mutex_);
    return upgrade_header_;
  }

 private:
  using tcp = boost::asio::ip::tcp;

  struct Connection {
    int descriptor;  // a copy, which ends the connection from another thread
    std::thread thread;
  };

  void accept() {
    for (;;) {
      boost::system::error_code error;
      tcp::socket socket = acceptor_.accept(error);
      if (error) return;
      Connection& connection = connections_.emplace_back();
      connection.descriptor = ::dup(socket.native_handle());
      connection.thread = std::thread([this, &connection, owned = std::make_shared<tcp::socket>(std::move(socket))] {
        try {
          serve(std::move(*owned));
        } catch (const boost::system::system_error&) {  // the client went
        }
        ::shutdown(connection.descriptor, SHUT_RDWR);
      });
    }
  }

  void serve(tcp::socket socket) {
    if (certificate_ == nullptr) {
      converse<beast::websocket::stream<beast::tcp_stream>>(beast::tcp_stream(std::move(socket)));
      return;
    }
    auto context = certificate_->server_context();
    beast::ssl_stream<beast::tcp_stream> stream(beast::tcp_stream(std::move(socket)), context);
    stream.handshake(boost::asio::ssl::stream_base::server);
    converse<beast::websocket::stream<beast::ssl_stream<beast::tcp_stream>>>(std::move(stream));
  }

  template <class WebSocket, class Lower>
  void converse(Lower lower) {
    beast::flat_buffer buffer;
    beast::http::request<beast::http::string_body> request;
    beast::http::read(lower, buffer, request);
    if (!beast::websocket::is_upgrade(request)) {
      beast::http::response<beast::http::string_body> response(beast::http::status::ok, 11, http_body_);
      response.prepare_payload();
      beast::http::write(lower, response);
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      std::ostringstream header;
      header << request.base();
      upgrade_header_ = header.str();
    }
    WebSocket stream(std::move(lower));
    stream.accept(request);
    SocketOn<WebSocket> socket(stream);
    behaviour_(socket);
  }

  Behaviour behaviour_;
  const Certificate* certificate_;
  std::string http_body_;
  boost::asio::io_context io_;
  tcp::acceptor acceptor_;
  mutable std::mutex mutex_;
  std::string upgrade_header_;
  std::list<Connection> connections_;
  std::thread accepting_;
};

}  // namespace rpcroute::tests
