#include "wire.hpp"

#include <linux/net_tstamp.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <cstring>

namespace rpcroute::devnet {
namespace {

namespace asio = boost::asio;

constexpr std::size_t chunk = 16 << 10;

void enable_stamps(int descriptor) {
  const int flags = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
  // Without it arrivals are timed when they are read, which is exact on an idle machine only.
  (void)setsockopt(descriptor, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof flags);
}

/// The steady moment of a wall-clock stamp of the last second; now when there is none.
Clock::time_point moment_of(const timespec& stamp) {
  const auto now = Clock::now();
  timespec wall;
  clock_gettime(CLOCK_REALTIME, &wall);
  const auto age =
      std::chrono::seconds(wall.tv_sec - stamp.tv_sec) + std::chrono::nanoseconds(wall.tv_nsec - stamp.tv_nsec);
  const bool is_usable = stamp.tv_sec != 0 && age >= age.zero() && age < std::chrono::seconds(1);
  return is_usable ? now - age : now;
}

timespec stamp_of(msghdr& message) {
  for (auto* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_TIMESTAMPING) continue;
    timespec stamp;
    std::memcpy(&stamp, CMSG_DATA(header), sizeof stamp);
    return stamp;
  }
  return {};
}

class PlainWire : public Wire {
 public:
  explicit PlainWire(tcp::socket socket) : socket_(std::move(socket)) {
    socket_.non_blocking(true);
    enable_stamps(socket_.native_handle());
  }

  void open(std::function<void(ErrorCode)> done) override { done({}); }

  void read(boost::beast::flat_buffer& into, std::function<void(ErrorCode, Clock::time_point)> done) override {
    socket_.async_wait(tcp::socket::wait_read, [this, &into, done = std::move(done)](ErrorCode error) {
      Clock::time_point moment;
      if (!error) error = receive(into, moment);
      if (error == asio::error::would_block) return read(into, done);
      done(error, moment);
    });
  }

  void write(std::string_view bytes, std::function<void(ErrorCode)> done) override {
    asio::async_write(socket_, asio::buffer(bytes.data(), bytes.size()),
                      [done = std::move(done)](ErrorCode error, std::size_t) { done(error); });
  }

  tcp::socket& socket() override { return socket_; }

 private:
  ErrorCode receive(boost::beast::flat_buffer& into, Clock::time_point& moment) {
    const auto space = into.prepare(chunk);
    iovec part{space.data(), space.size()};
    alignas(cmsghdr) char control[256];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t size = recvmsg(socket_.native_handle(), &message, 0);
    if (size < 0) return ErrorCode(errno, boost::system::system_category());
    if (size == 0) return asio::error::eof;
    into.commit(static_cast<std::size_t>(size));
    moment = moment_of(stamp_of(message));
    return {};
  }

  tcp::socket socket_;
};

class TlsWire : public Wire {
 public:
  TlsWire(tcp::socket socket, asio::ssl::context& context) : stream_(std::move(socket), context) {}

  void open(std::function<void(ErrorCode)> done) override {
    stream_.async_handshake(asio::ssl::stream_base::server, std::move(done));
  }

  void read(boost::beast::flat_buffer& into, std::function<void(ErrorCode, Clock::time_point)> done) override {
    stream_.async_read_some(into.prepare(chunk), [&into, done = std::move(done)](ErrorCode error, std::size_t size) {
      into.commit(size);
      done(error, Clock::now());
    });
  }

  void write(std::string_view bytes, std::function<void(ErrorCode)> done) override {
    asio::async_write(stream_, asio::buffer(bytes.data(), bytes.size()),
                      [done = std::move(done)](ErrorCode error, std::size_t) { done(error); });
  }

  tcp::socket& socket() override { return stream_.next_layer(); }

 private:
  asio::ssl::stream<tcp::socket> stream_;
};

}  // namespace

void Wire::close() {
  ErrorCode ignored;
  socket().shutdown(tcp::socket::shutdown_both, ignored);
  socket().close(ignored);
}

void Wire::reset() {
  ErrorCode ignored;
  socket().set_option(tcp::socket::linger(true, 0), ignored);
  socket().close(ignored);
}

std::unique_ptr<Wire> plain_wire(tcp::socket socket) {
  return std::make_unique<PlainWire>(std::move(socket));
}

std::unique_ptr<Wire> tls_wire(tcp::socket socket, asio::ssl::context& context) {
  return std::make_unique<TlsWire>(std::move(socket), context);
}

tcp::socket stamping_enabled(asio::io_context& io) {
  tcp::socket socket(io, tcp::v4());
  enable_stamps(socket.native_handle());
  return socket;
}

}  // namespace rpcroute::devnet
