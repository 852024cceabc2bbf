#include "http.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <optional>

namespace rpcroute::devnet {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

/// Nodes refuse larger bodies (geth: 5 MiB).
constexpr std::uint64_t largest_body = 5 << 20;

/// About 25 MB a second: far beyond any limit of a client within its timeout, and easy on the other providers.
constexpr std::size_t endless_chunk = 256 << 10;
constexpr auto endless_interval = std::chrono::milliseconds(10);

}  // namespace

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(std::unique_ptr<Wire> wire, HttpHandler& handler)
      : wire_(std::move(wire)), handler_(handler), timer_(wire_->socket().get_executor()) {}

  void start() {
    wire_->open([self = shared_from_this()](ErrorCode error) {
      if (!error) self->next();
    });
  }

  void cut() { wire_->close(); }

 private:
  void next() {
    parser_.emplace();
    parser_->eager(true);
    parser_->body_limit(largest_body);
    if (buffer_.size() > 0)
      parse();
    else
      read();
  }

  void read() {
    wire_->read(buffer_, [self = shared_from_this()](ErrorCode error, Clock::time_point moment) {
      if (error) return;
      self->arrival_ = moment;
      self->parse();
    });
  }

  void parse() {
    ErrorCode error;
    buffer_.consume(parser_->put(buffer_.data(), error));
    if (error == http::error::need_more || (!error && !parser_->is_done())) return read();
    if (error) return refuse(error == http::error::body_limit ? 413 : 400);
    HttpRequest request = parser_->release();
    if (boost::beast::websocket::is_upgrade(request) && handler_.can_upgrade()) {
      return handler_.upgrade(std::move(wire_->socket()), std::move(request), arrival_);
    }
    const bool keep_alive = request.keep_alive();
    reply_ = handler_.answer(request);
    reply_.close |= !keep_alive;
    wait_until(arrival_ + reply_.latency, [this] { deliver(); });
  }

  void refuse(int status) {
    reply_ = {};
    reply_.bytes = http_response(status, "text/plain", "", "Connection: close\r\n");
    reply_.close = true;
    deliver();
  }

  template <class Action>
  void wait_until(Clock::time_point moment, Action action) {
    if (moment <= Clock::now()) return action();
    timer_.expires_at(moment);
    timer_.async_wait([self = shared_from_this(), action](ErrorCode error) {
      if (!error) action();
    });
  }

  void deliver() {
    switch (reply_.delivery) {
      case Reply::Delivery::whole:
        return send(reply_.bytes, [this] { finish(); });
      case Reply::Delivery::drip:
        return drip(0);
      case Reply::Delivery::endless:
        return send(reply_.bytes, [this] { pour(); });
      case Reply::Delivery::stall:
        return stall();
      case Reply::Delivery::reset:
        return wire_->reset();
    }
  }

  template <class Action>
  void send(std::string_view bytes, Action action) {
    wire_->write(bytes, [self = shared_from_this(), action](ErrorCode error) {
      if (!error) action();
    });
  }

  void finish() {
    if (reply_.close)
      wire_->close();
    else
      next();
  }

  void drip(std::size_t position) {
    if (position == reply_.bytes.size()) return finish();
    send(std::string_view(reply_.bytes).substr(position, 1),
         [this, position] { wait_until(Clock::now() + reply_.interval, [this, position] { drip(position + 1); }); });
  }

  void pour() {
    static const std::string chunk = [] {
      char size[16];
      std::snprintf(size, sizeof size, "%zx\r\n", endless_chunk);
      return size + std::string(endless_chunk, ' ') + "\r\n";
    }();
    send(chunk, [this] { wait_until(Clock::now() + endless_interval, [this] { pour(); }); });
  }

  /// Reads on only to notice that the peer has gone.
  void stall() {
    buffer_.clear();
    wire_->read(buffer_, [self = shared_from_this()](ErrorCode error, Clock::time_point) {
      if (error)
        self->wire_->close();
      else
        self->stall();
    });
  }

  std::unique_ptr<Wire> wire_;
  HttpHandler& handler_;
  asio::steady_timer timer_;
  boost::beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  Clock::time_point arrival_;
  Reply reply_;
};

std::string http_response(int status, std::string_view content_type, std::string_view body, std::string_view headers) {
  const auto reason = http::obsolete_reason(http::int_to_status(static_cast<unsigned>(status)));
  std::string response = "HTTP/1.1 " + std::to_string(status) + " ";
  response.append(reason.data(), reason.size()).append("\r\n");
  if (!content_type.empty()) response.append("Content-Type: ").append(content_type).append("\r\n");
  response.append(headers);
  response.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n\r\n").append(body);
  return response;
}

HttpListener::HttpListener(asio::io_context& io, unsigned short port, HttpHandler& handler, asio::ssl::context* tls)
    : handler_(handler), tls_(tls), acceptor_(io), port_(port) {
  open();
}

void HttpListener::take_port() {
  const tcp::endpoint endpoint(asio::ip::address_v4::loopback(), port_);
  acceptor_.open(endpoint.protocol());
  acceptor_.set_option(tcp::acceptor::reuse_address(true));
  ErrorCode error;
  acceptor_.bind(endpoint, error);
  if (error) throw boost::system::system_error(error, "port " + std::to_string(port_));
  port_ = acceptor_.local_endpoint().port();
}

void HttpListener::open() {
  if (listening_) return;
  if (!acceptor_.is_open()) take_port();
  acceptor_.set_option(tcp::acceptor::reuse_address(true));
  acceptor_.listen(1024);
  listening_ = true;
  accept();
}

void HttpListener::refuse() {
  ErrorCode ignored;
  acceptor_.close(ignored);
  listening_ = false;
  // Held without listening: connections are refused, and no other program on the machine is given the port meanwhile.
  take_port();
  acceptor_.set_option(tcp::acceptor::reuse_address(false));
  for (const auto& weak : connections_) {
    if (const auto connection = weak.lock()) connection->cut();
  }
  connections_.clear();
}

void HttpListener::accept() {
  acceptor_.async_accept([this](ErrorCode error, tcp::socket socket) {
    if (error == asio::error::operation_aborted || !listening_) return;
    if (!error) serve(std::move(socket));
    accept();
  });
}

void HttpListener::serve(tcp::socket socket) {
  ErrorCode ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  auto wire = tls_ ? tls_wire(std::move(socket), *tls_) : plain_wire(std::move(socket));
  const auto connection = std::make_shared<HttpConnection>(std::move(wire), handler_);
  if (connections_.size() >= prune_at_) {
    std::erase_if(connections_, [](const auto& weak) { return weak.expired(); });
    prune_at_ = 2 * connections_.size() + 64;
  }
  connections_.insert(connection);
  connection->start();
}

}  // namespace rpcroute::devnet
