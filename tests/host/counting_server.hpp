// A loopback JSON-RPC server that counts what it is asked. One thread a connection; ends with its scope.
#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>

namespace rpcroute::test {

class CountingServer {
  using tcp = boost::asio::ip::tcp;
  using Request = boost::beast::http::request<boost::beast::http::string_body>;

 public:
  /// Answers every request with `result` (JSON text) unless `before_answer` is set, which runs first and may wait.
  explicit CountingServer(std::string result = "\"0x10\"") : result_(std::move(result)), acceptor_(context_) {
    acceptor_.open(tcp::v4());
    acceptor_.set_option(boost::asio::socket_base::reuse_address(true));
    acceptor_.bind({boost::asio::ip::address_v4::loopback(), 0});
    acceptor_.listen();
    thread_ = std::thread([this] { accept(); });
  }

  ~CountingServer() {
    stopping_ = true;
    boost::system::error_code ignored;
    tcp::socket(context_).connect(acceptor_.local_endpoint(), ignored);  // wakes accept()
    thread_.join();
    for (auto& connection : connections_) {
      {
        const std::lock_guard lock(closing_);
        if (connection.socket.is_open()) connection.socket.shutdown(tcp::socket::shutdown_both, ignored);
      }
      connection.thread.join();
    }
  }

  int requests() const { return requests_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()); }

  std::function<void()> before_answer;

 private:
  struct Connection {
    tcp::socket socket;
    std::thread thread;
  };

  void accept() {
    while (true) {
      tcp::socket socket(context_);
      boost::system::error_code error;
      acceptor_.accept(socket, error);
      if (error || stopping_) return;
      auto& connection = connections_.emplace_back(Connection{std::move(socket), {}});
      connection.thread = std::thread([this, &connection] {
        serve(connection.socket);
        const std::lock_guard lock(closing_);
        boost::system::error_code ignored;
        connection.socket.close(ignored);  // its descriptor goes with the peer's
      });
    }
  }

  void serve(tcp::socket& socket) {
    namespace http = boost::beast::http;
    boost::beast::flat_buffer buffer;
    boost::system::error_code error;
    while (true) {
      Request request;
      http::read(socket, buffer, request, error);
      if (error) return;
      ++requests_;
      if (before_answer) before_answer();
      http::response<http::string_body> response(http::status::ok, request.version());
      response.set(http::field::content_type, "application/json");
      response.body() = "{\"jsonrpc\":\"2.0\",\"id\":" + id_of(request.body()) + ",\"result\":" + result_ + "}";
      response.keep_alive(request.keep_alive());
      response.prepare_payload();
      http::write(socket, response, error);
      if (error || !response.keep_alive()) return;
    }
  }

  static std::string id_of(const std::string& body) {
    const auto start = body.find("\"id\":");
    if (start == std::string::npos) return "null";
    return body.substr(start + 5, body.find_first_of(",}", start) - start - 5);
  }

  std::string result_;
  boost::asio::io_context context_;
  tcp::acceptor acceptor_;
  std::atomic<int> requests_{0};
  std::atomic<bool> stopping_{false};
  std::mutex closing_;
  std::list<Connection> connections_;
  std::thread thread_;
};

}  // namespace rpcroute::test
