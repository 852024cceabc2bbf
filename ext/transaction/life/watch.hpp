// Following one transaction to its block, through every provider at once.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "chain/receipt.hpp"
#include "transaction/conversation/exchange.hpp"
#include "transaction/conversation/fleet.hpp"

namespace rpcroute::transaction {

/// A receipt, and when it was first seen.
struct Sight {
  chain::Receipt receipt;
  rpc::Clock::time_point first;                  ///< at any provider
  std::optional<rpc::Clock::time_point> own;     ///< at the provider that was drawn
  std::optional<rpc::Clock::time_point> unseen;  ///< the last look before `first` that found no receipt began then
  std::size_t seen_by = 0;                       ///< a provider that shows it now
};

/// Asks every provider for the receipt, each on its own beat: one that stalls delays nobody.
///
/// A receipt counts once the same provider has shown the same block for it twice, a beat apart. A receipt that vanishes
/// or moves to another block (a reorg) starts anew, and the first sight is that of the block that stayed.
class Watch {
 public:
  /// `own` is the drawn provider, or none. `changed` runs after every answer; it must not destroy the watch.
  Watch(Exchange& exchange, const Fleet& fleet, std::string tx_hash, std::optional<std::size_t> own,
        rpc::Clock::duration beat, rpc::Milliseconds call_timeout, std::function<void()> changed);

  void start();
  void stop();

  /// The receipt that counts, if one does.
  std::optional<Sight> settled() const;

  /// The receipt that providers show now, though none has shown it twice.
  std::optional<Sight> provisional() const;

  /// The drawn provider has failed to answer three times running, or there is none.
  bool own_is_silent() const;

 private:
  struct View {
    std::string block_hash;                        ///< empty: no receipt
    int sightings = 0;                             ///< of that block, running
    int silences = 0;                              ///< failures, running
    std::optional<rpc::Clock::time_point> denied;  ///< start of the last look that found none
  };
  struct FirstSight {
    chain::Receipt receipt;
    rpc::Clock::time_point any;
    std::optional<rpc::Clock::time_point> own;
    std::optional<rpc::Clock::time_point> unseen;
  };

  void look(std::size_t i);
  void hear(std::size_t i, const rpc::Answer& answer);
  void see(std::size_t i, const chain::Receipt& receipt, rpc::Clock::time_point moment);
  std::optional<Sight> sight_of_views(int least_sightings) const;

  Conversation conversation_;
  const Fleet& fleet_;
  std::string tx_hash_;
  std::optional<std::size_t> own_;
  rpc::Clock::duration beat_;
  rpc::Milliseconds call_timeout_;
  std::function<void()> changed_;
  std::map<std::size_t, View> views_;
  std::map<std::string, FirstSight> first_sights_;  ///< by block hash
  std::optional<rpc::Clock::time_point> unseen_;
};

}  // namespace rpcroute::transaction
