// What all providers of a fleet share.
#pragma once

#include <boost/asio/io_context.hpp>
#include <string>
#include <utility>
#include <vector>

#include "chain.hpp"
#include "config.hpp"
#include "mempool.hpp"
#include "truth.hpp"

namespace rpcroute::devnet {

/// Everything runs on the one thread of `io`.
struct World {
  World(const FleetConfig& fleet, const std::string& log) : config(fleet), truth(log), chain(fleet, unix_now()) {
    for (std::size_t i = 0; i < fleet.accounts; ++i) {
      unlocked.emplace_back(address_of(development_key(i)), development_key(i));
    }
  }

  boost::asio::io_context io{1};
  FleetConfig config;
  Truth truth;
  Chain chain;
  Mempool pool;  ///< what the block producers know
  std::vector<std::pair<Address, PrivateKey>> unlocked;
};

}  // namespace rpcroute::devnet
