// One provider's node: how much of the chain it has seen, and the transactions that were sent to it.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "lag.hpp"
#include "world.hpp"

namespace rpcroute::devnet {

/// Its height is the chain's head less its lag. A transaction that arrives while the chain is at height h is passed on
/// to the block producers when the node itself has come to h, so that lag costs slots.
class Node {
 public:
  Node(World& world, const ProviderConfig& config);

  const ProviderConfig& config() const { return config_; }
  World& world() const { return world_; }

  /// After every slot of the chain.
  void on_slot(bool has_block);

  /// Holds the lag at a number of blocks, or lets it run free again.
  void fix_lag(std::optional<std::uint64_t> blocks);
  void set_propagation(const Lognormal& propagation) { config_.propagation = propagation; }

  std::uint64_t lag() const { return lag_.blocks(); }

  /// The height at which the next request finds the node.
  std::uint64_t look();

  /// The height of its lagging backend.
  std::uint64_t view() const;

  /// Admits a transaction as seen from a height, or says why not; either way it is in the truth log.
  std::optional<Rejection> submit(const Transaction& transaction, std::uint64_t view);

  /// The nonce after all executable transactions that this node knows of.
  std::uint64_t pending_nonce(const Address& address, std::uint64_t view) const;
  const Transaction* pending(const Hash& hash, std::uint64_t view) const;

  /// Loses a transaction; false when it had none such.
  bool forget(const Hash& hash);

  /// Called with every height that comes into view for the first time.
  std::function<void(std::uint64_t)> on_head;

 private:
  struct Held {
    Hash hash;
    std::uint64_t until;  ///< height to reach before it is passed on
  };

  std::optional<Rejection> refusal(const Transaction& transaction, std::uint64_t view) const;
  void hold(const Transaction& transaction, std::uint64_t view);
  void settle(bool has_block);
  void release();
  void propagate(const Hash& hash);
  void pass_on(const Hash& hash);
  bool is_fresh(std::uint64_t view) const { return view >= seen_head_; }
  bool is_alive(const Pooled& own) const;
  std::uint64_t first_eligible_slot();

  World& world_;
  ProviderConfig config_;
  Lag lag_;
  Random random_;
  std::uint64_t seen_head_;
  std::uint64_t announced_;
  std::uint64_t logged_lag_ = 0;
  Mempool own_;  ///< sent through this node and not yet in its view; `since` is 0 until it was passed on
  std::vector<Held> held_;
};

}  // namespace rpcroute::devnet
