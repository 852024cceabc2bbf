// A server on loopback that answers, or misbehaves, exactly as a test says. A thread per connection; it ends its
// connections and joins its threads when it is destroyed, so that a behaviour may wait for the peer without a bound.
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace rpcroute::tests {

using boost::asio::ip::tcp;

/// What a client asked.
struct Request {
  std::string head;  ///< request line and header, as received
  std::string body;

  /// The text of the JSON-RPC id in the body, as written.
  std::string id() const {
    const std::size_t at = body.find("\"id\":") + 5;
    return body.substr(at, body.find_first_of(",}", at) - at);
  }

  std::string method() const {
    const std::size_t at = body.find("\"method\":\"") + 10;
    return body.substr(at, body.find('"', at) - at);
  }
};

/// One connection, as a behaviour sees it. Failures to read or write end the connection quietly.
class Peer {
 public:
  explicit Peer(tcp::socket& socket) : socket_(socket) {}

  bool send(std::string_view bytes) {
    boost::system::error_code error;
    boost::asio::write(socket_, boost::asio::buffer(bytes.data(), bytes.size()), error);
    return !error;
  }

  /// A whole HTTP response.
  bool respond(std::string_view body, std::string_view status = "200 OK", std::string_view headers = "") {
    return send("HTTP/1.1 " + std::string(status) + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
                std::string(headers) + "\r\n" + std::string(body));
  }

  /// A JSON-RPC result for `request`.
  bool result(const Request& request, std::string_view json) {
    return respond(R"({"jsonrpc":"2.0","id":)" + request.id() + R"(,"result":)" + std::string(json) + "}");
  }

  /// A JSON-RPC error for `request`.
  bool error(const Request& request, std::string_view json, std::string_view status = "200 OK",
             std::string_view headers = "") {
    return respond(R"({"jsonrpc":"2.0","id":)" + request.id() + R"(,"error":)" + std::string(json) + "}", status,
                   headers);
  }

  /// Says nothing until the client goes.
  void stall() {
    boost::system::error_code error;
    char byte = 0;
    while (!error) boost::asio::read(socket_, boost::asio::buffer(&byte, 1), error);
  }

  /// Closes with a reset instead of a farewell.
  void reset() {
    boost::system::error_code error;
    socket_.set_option(boost::asio::socket_base::linger(true, 0), error);
    socket_.close(error);
  }

 private:
  tcp::socket& socket_;
};

class Server {
 public:
  /// Called for each request; false closes the connection.
  using Behaviour = std::function<bool(Peer&, const Request&)>;

  explicit Server(Behaviour behaviour)
      : behaviour_(std::move(behaviour)), acceptor_(io_, {boost::asio::ip::address_v4::loopback(), 0}) {
    accepting_ = std::thread([this] { accept(); });
  }

  /// Answers every request with `result`.
  static Behaviour answers(std::string json) {
    return [json](Peer& peer, const Request& request) { return peer.result(request, json); };
  }

  ~Server() {
    stopping_ = true;
    ::shutdown(acceptor_.native_handle(), SHUT_RDWR);
    accepting_.join();
    {
      const std::lock_guard lock(mutex_);
      for (Connection& connection : connections_) {
        if (connection.socket.is_open()) ::shutdown(connection.socket.native_handle(), SHUT_RDWR);
      }
    }
    for (Connection& connection : connections_) connection.thread.join();
  }

  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  unsigned short port() const { return acceptor_.local_endpoint().port(); }
  std::string url(std::string_view path = "") const {
    return "http://127.0.0.1:" + std::to_string(port()) + std::string(path);
  }
  int requests() const { return requests_; }
  int connections() const { return accepted_; }

 private:
  struct Connection {
    explicit Connection(tcp::socket accepted) : socket(std::move(accepted)) {}
    tcp::socket socket;
    std::thread thread;
  };

  void accept() {
    while (!stopping_) {
      boost::system::error_code error;
      tcp::socket socket = acceptor_.accept(error);
      if (error) return;
      ++accepted_;
      const std::lock_guard lock(mutex_);
      Connection& connection = connections_.emplace_back(std::move(socket));
      connection.thread = std::thread([this, &connection] { serve(connection.socket); });
    }
  }

  void serve(tcp::socket& socket) {
    std::string buffer;
    Peer peer(socket);
    Request request;
    while (read(socket, buffer, request)) {
      ++requests_;
      if (!behaviour_(peer, request)) break;
    }
    const std::lock_guard lock(mutex_);
    boost::system::error_code error;
    socket.close(error);
  }

  /// What web servers answer with 400: a TLS handshake on a plain port.
  static bool begins_tls(tcp::socket& socket, boost::system::error_code& error) {
    char first = 0;
    socket.receive(boost::asio::buffer(&first, 1), boost::asio::socket_base::message_peek, error);
    return first == 0x16;
  }

  static bool read(tcp::socket& socket, std::string& buffer, Request& request) {
    boost::system::error_code error;
    if (buffer.empty() && begins_tls(socket, error)) return Peer(socket).respond("", "400 Bad Request") && false;
    if (error) return false;
    const std::size_t head = boost::asio::read_until(socket, boost::asio::dynamic_buffer(buffer), "\r\n\r\n", error);
    if (error) return false;
    request.head = buffer.substr(0, head);
    buffer.erase(0, head);
    const std::size_t at = request.head.find("Content-Length: ");
    const std::size_t length = at == std::string::npos ? 0 : std::stoul(request.head.substr(at + 16));
    if (buffer.size() < length) {
      boost::asio::read(socket, boost::asio::dynamic_buffer(buffer),
                        boost::asio::transfer_exactly(length - buffer.size()), error);
      if (error) return false;
    }
    request.body = buffer.substr(0, length);
    buffer.erase(0, length);
    return true;
  }

  Behaviour behaviour_;
  boost::asio::io_context io_;
  tcp::acceptor acceptor_;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> requests_ = 0;
  std::atomic<int> accepted_ = 0;
  std::mutex mutex_;
  std::list<Connection> connections_;
  std::thread accepting_;
};

}  // namespace rpcroute::tests
