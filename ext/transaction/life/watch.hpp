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
#include "transaction/conversation/search.hpp"

namespace rpcroute::transaction {

/// A receipt whose block stands, and when it was first seen.
struct Sight {
  BlockId block;
  std::vector<chain::Receipt> receipts;          ///< as each provider that shows that block tells it
  rpc::Clock::time_point looked;                 ///< the look that first saw it, at any provider, began
  rpc::Clock::time_point first;                  ///< and ended then
  std::optional<rpc::Clock::time_point> own;     ///< first seen at the provider that was drawn
  std::optional<rpc::Clock::time_point> unseen;  ///< the last look before it that found no receipt ended then
  std::optional<std::int64_t> block_timestamp;   ///< whole Unix seconds
  std::optional<std::uint64_t> base_fee;         ///< of the block, wei per gas
};

/// A first sight tells the moment of inclusion when nobody had looked for no longer than this before it.
rpc::Clock::duration sharp_gap(rpc::Clock::duration beat);

/// Asks every provider for the receipt, each on its own beat and at the pace it asks for: one that stalls delays
/// nobody.
///
/// A receipt counts once the block at its height exists with its hash, as the providers show it. Until then it tells of
/// a block that is not sealed, a preconfirmation, and the transaction is pending; so it is while a node says "not
/// found" or "indexing" instead of null. A receipt that vanishes or moves to another block (a reorg) starts anew, and
/// the first sight is that of the block that stayed.
class Watch {
 public:
  /// `own` is the drawn provider, or none. `changed` runs after every answer; it must not destroy the watch.
  Watch(Exchange& exchange, const Fleet& fleet, std::string tx_hash, std::optional<std::size_t> own,
        rpc::Clock::duration beat, rpc::Milliseconds call_timeout, std::function<void()> changed);

  void start();
  void stop();

  /// The receipt that counts, if one does.
  std::optional<Sight> settled() const;

  /// When a receipt of a block that did not stand then was first seen.
  std::optional<rpc::Clock::time_point> preconfirmed() const { return preconfirmed_; }

  /// The drawn provider has failed to answer three times running, or fails and asks to be left alone, or there is none.
  bool own_is_silent() const;

  /// When a question for the receipt was last answered, whatever the answer; empty when none ever was.
  std::optional<rpc::Clock::time_point> answered() const { return answered_; }

  /// Why the last look failed; empty when none did.
  const std::string& complaint() const { return complaint_; }

 private:
  struct View {
    std::optional<chain::Receipt> receipt;
    int silences = 0;  ///< failures, running
  };
  struct Sighting {
    Sight sight;         ///< but for the receipts
    bool asked = false;  ///< the providers are being asked for its block
    bool stands = false;
  };

  void look(std::size_t i);
  void hear(std::size_t i, const rpc::Answer& answer);
  void see(std::size_t i, const chain::Receipt& receipt, const rpc::Answer& answer);
  void miss(std::size_t i, rpc::Clock::time_point ended);
  void check(Sighting& sighting);
  void hear_block(const std::string& block_hash, const BlockResult& result);
  void preconfirm(rpc::Clock::time_point moment);

  Conversation conversation_;
  const Fleet& fleet_;
  std::string tx_hash_;
  std::optional<std::size_t> own_;
  rpc::Clock::duration beat_;
  rpc::Milliseconds call_timeout_;
  std::function<void()> changed_;
  std::map<std::size_t, View> views_;
  std::map<std::string, Sighting> sightings_;  ///< by block hash
  std::optional<rpc::Clock::time_point> unseen_;
  std::optional<rpc::Clock::time_point> preconfirmed_;
  std::optional<rpc::Clock::time_point> answered_;
  std::string complaint_;
};

}  // namespace rpcroute::transaction
