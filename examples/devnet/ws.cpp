#include "ws.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <deque>
#include <string>
#include <utility>

namespace rpcroute::devnet {
namespace {

namespace asio = boost::asio;
namespace websocket = boost::beast::websocket;

/// Every connection has at most one subscription, so they may all have the same id.
constexpr std::uint64_t subscription_id = 1;

class WsConnection : public Subscriber, public std::enable_shared_from_this<WsConnection> {
 public:
  WsConnection(Endpoint& endpoint, tcp::socket socket, std::optional<Fault> fault);

  /// Accepts the upgrade at that moment.
  void start(HttpRequest request, Clock::time_point moment);

  void send_head(std::uint64_t height) override;
  void cut() override;
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
  bool is_subscribing_ = false;  ///< heads follow the acknowledgement, never overtake it
  bool is_subscribed_ = false;
};

WsConnection::WsConnection(Endpoint& endpoint, tcp::socket socket, std::optional<Fault> fault)
    : endpoint_(endpoint),
      stream_(std::move(socket)),
      fault_(std::move(fault)),
      timer_(stream_.get_executor()),
      heartbeat_(stream_.get_executor()) {}

void WsConnection::start(HttpRequest request, Clock::time_point moment) {
  request_ = std::move(request);
  timer_.expires_at(moment);
  timer_.async_wait([self = shared_from_this()](ErrorCode error) {
    if (!error) self->accept();
  });
}

void WsConnection::accept() {
  stream_.text(true);
  stream_.async_accept(request_, [self = shared_from_this()](ErrorCode error) {
    if (!error) self->opened();
  });
}

void WsConnection::opened() {
  if (has(FaultKind::ws_close)) {
    return stream_.async_close(websocket::close_code::going_away, [self = shared_from_this()](ErrorCode) {});
  }
  read();
}

void WsConnection::read() {
  stream_.async_read(buffer_, [self = shared_from_this()](ErrorCode error, std::size_t) {
    if (error) return self->cut();
    const auto data = self->buffer_.data();
    const std::string message(static_cast<const char*>(data.data()), data.size());
    self->buffer_.clear();
    if (self->has(FaultKind::ws_mute)) return self->read();
    self->answer(message);
  });
}

/// Messages are answered in their order: the next is read when the answer has left.
void WsConnection::answer(const std::string& message) {
  const auto arrival = Clock::now();
  auto reply = endpoint_.answer_message(message, *this);
  timer_.expires_at(arrival + reply.latency);
  timer_.async_wait([self = shared_from_this(), reply = std::move(reply)](ErrorCode error) {
    if (!error) self->deliver(reply);
  });
}

void WsConnection::deliver(const Reply& reply) {
  if (reply.delivery == Reply::Delivery::reset) {
    ErrorCode ignored;
    stream_.next_layer().set_option(tcp::socket::linger(true, 0), ignored);
    return cut();
  }
  if (reply.delivery == Reply::Delivery::whole) send(reply.bytes);
  if (is_subscribing_) {
    is_subscribing_ = false;
    is_subscribed_ = true;
    if (has(FaultKind::ws_heads)) beat();
  }
  read();
}

MethodResult WsConnection::subscribe() {
  is_subscribing_ = !is_subscribed_;
  if (endpoint_.kind() == Kind::solana) return result(std::to_string(subscription_id));
  return text_result(quantity(subscription_id));
}

MethodResult WsConnection::unsubscribe() {
  return result(std::exchange(is_subscribed_, false) ? "true" : "false");
}

void WsConnection::send_head(std::uint64_t height) {
  if (!is_subscribed_ || has(FaultKind::ws_silent) || has(FaultKind::ws_heads)) return;
  send(endpoint_.notification(height, subscription_id));
}

void WsConnection::beat() {
  heartbeat_.expires_after(std::chrono::nanoseconds(static_cast<std::int64_t>(fault_->interval_ms * 1e6)));
  heartbeat_.async_wait([self = shared_from_this()](ErrorCode error) {
    if (error || !self->is_subscribed_ || !self->stream_.is_open()) return;
    self->send(self->endpoint_.notification(self->endpoint_.node().view(), subscription_id));
    self->beat();
  });
}

void WsConnection::send(std::string message) {
  outbox_.push_back(std::move(message));
  if (outbox_.size() == 1) write();
}

void WsConnection::write() {
  stream_.async_write(asio::buffer(outbox_.front()), [self = shared_from_this()](ErrorCode error, std::size_t) {
    if (error) return self->cut();
    self->outbox_.pop_front();
    if (!self->outbox_.empty()) self->write();
  });
}

void WsConnection::cut() {
  is_subscribed_ = false;
  heartbeat_.cancel();
  ErrorCode ignored;
  stream_.next_layer().close(ignored);
}

}  // namespace

std::shared_ptr<Subscriber> open_websocket(Endpoint& endpoint, tcp::socket socket, HttpRequest request,
                                           Clock::time_point moment, std::optional<Fault> fault) {
  const auto connection = std::make_shared<WsConnection>(endpoint, std::move(socket), std::move(fault));
  connection->start(std::move(request), moment);
  return connection;
}

}  // namespace rpcroute::devnet
