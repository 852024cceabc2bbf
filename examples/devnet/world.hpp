// What all providers of a fleet share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "chain.hpp"
#include "config.hpp"
#include "mempool.hpp"
#include "truth.hpp"

namespace boost::asio {
class io_context;
}

namespace rpcroute::devnet {

/// Everything runs on the one thread of `io`.
struct World {
  World(boost::asio::io_context& loop, const FleetConfig& fleet, const std::string& log)
      : io(loop), config(fleet), truth(log), chain(fleet, unix_now()) {
    for (std::size_t i = 0; i < fleet.accounts; ++i) {
      unlocked.emplace_back(address_of(development_key(i)), development_key(i));
    }
  }

  boost::asio::io_context& io;
  FleetConfig config;
  Truth truth;
  Chain chain;
  Mempool pool;  ///< what the block producers know
  std::vector<std::pair<Address, PrivateKey>> unlocked;
};

}  // namespace rpcroute::devnet
