// The bytes of one connection, plain or behind TLS.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string_view>

namespace boost::asio::ssl {
class context;
}

namespace rpcroute::devnet {

using Clock = std::chrono::steady_clock;
using tcp = boost::asio::ip::tcp;
using ErrorCode = boost::system::error_code;

class Wire {
 public:
  virtual ~Wire() = default;

  /// Does what must be done before the first byte.
  virtual void open(std::function<void(ErrorCode)> done) = 0;

  /// Appends what has come. The moment is the kernel's where it tells, so that a request's latency starts when its
  /// bytes arrived, however long they waited for this thread.
  virtual void read(boost::beast::flat_buffer& into, std::function<void(ErrorCode, Clock::time_point)> done) = 0;

  /// Writes all; the bytes stay alive until done.
  virtual void write(std::string_view bytes, std::function<void(ErrorCode)> done) = 0;

  virtual tcp::socket& socket() = 0;

  /// FIN.
  void close();
  /// RST.
  void reset();
};

std::unique_ptr<Wire> plain_wire(tcp::socket socket);
std::unique_ptr<Wire> tls_wire(tcp::socket socket, boost::asio::ssl::context& context);

/// Makes the kernel stamp arriving segments from here on, also those of connections not yet accepted. Held as long as
/// the fleet runs.
tcp::socket stamping_enabled(boost::asio::io_context& io);

/// A context with a key and a self-signed certificate for "localhost" made on the spot: nobody has a reason to trust
/// it.
std::unique_ptr<boost::asio::ssl::context> untrusted_tls();

}  // namespace rpcroute::devnet
