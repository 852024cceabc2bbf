// The fleet: the chain's clock and the providers in front of it.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "endpoint.hpp"
#include "random.hpp"
#include "world.hpp"

namespace rpcroute::devnet {

class Fleet {
 public:
  /// Opens all ports: `port_base`, `port_base` + 1, … in the order of the file, or free ones when it is 0.
  Fleet(boost::asio::io_context& io, const FleetConfig& config, const std::string& log, unsigned short port_base);
  ~Fleet();

  World& world() { return world_; }
  std::deque<Endpoint>& endpoints() { return endpoints_; }
  Endpoint* find(std::string_view provider_id);

  /// Starts the clock; slots of 0 ms come by `advance` alone.
  void start();

  /// The next slot, now.
  void advance();

  void reorganise(std::size_t depth);

  /// Takes a transaction that waits out of every pool; false when none had it.
  bool drop(const Hash& hash);

 private:
  void tick();

  World world_;
  Random slots_;
  tcp::socket stamping_;
  std::unique_ptr<boost::asio::ssl::context> tls_;
  boost::asio::steady_timer timer_;
  Clock::time_point next_slot_;
  std::deque<Endpoint> endpoints_;
};

}  // namespace rpcroute::devnet
