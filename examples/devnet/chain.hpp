// A small slot-based chain: blocks, accounts and the state at every height.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "config.hpp"
#include "mempool.hpp"

namespace rpcroute::devnet {

struct Block {
  std::uint64_t number = 0;
  std::uint64_t slot = 0;
  double time = 0;              ///< Unix seconds at which it came to be
  std::uint64_t timestamp = 0;  ///< whole seconds, as the header has it
  Wei base_fee;
  std::uint64_t gas_used = 0;
  Hash hash{};
  Hash parent{};
  Hash mix{};  ///< tells apart blocks that are otherwise equal
  Hash transactions_root{};
  std::uint64_t size = 0;  ///< bytes of header and transactions
  std::vector<Transaction> transactions;

  static constexpr std::uint64_t gas_limit = 30'000'000;
};

/// The header's RLP, whose Keccak is the block's hash. The roots are hashes of their own kind, not tries.
Bytes header_rlp(const Block& block);

struct Inclusion {
  const Block* block;
  std::size_t index;
  const Transaction& transaction() const { return block->transactions[index]; }
};

class Chain {
 public:
  /// Starts with 64 empty blocks from `first_block` on, the last of them now.
  Chain(const FleetConfig& config, double now);

  const Block& head() const { return blocks_.back(); }
  const Block& first() const { return blocks_.front(); }
  const Block* by_number(std::uint64_t number) const;
  const Block* by_hash(const Hash& hash) const;
  std::optional<Inclusion> find(const Hash& transaction) const;

  /// The account after the block of that height.
  AccountState state(const Address& address, std::uint64_t height) const;

  std::uint64_t slot() const { return slot_; }
  std::uint64_t chain_id() const { return chain_id_; }
  const Wei& base_fee() const { return base_fee_; }
  void set_base_fee(const Wei& base_fee) { base_fee_ = base_fee; }

  /// Passes to the next slot, without a block.
  void miss_slot() { ++slot_; }

  /// Passes to the next slot with a block of what the pool offers; the pool loses what the block takes. Transactions
  /// that arrived after `deadline` (Unix seconds) wait.
  const Block& produce(Mempool& pool, double now, double deadline);

  /// Replaces the last `depth` blocks by empty ones of other hashes; returns the transactions they held.
  std::vector<Transaction> reorganise(std::size_t depth);

 private:
  struct Change {
    std::uint64_t height;
    AccountState state;
  };

  std::vector<Transaction> select(const Mempool& pool, double deadline) const;
  const Block& append(std::uint64_t slot, double now, std::vector<Transaction> transactions);
  void apply(const Transaction& transaction, const Block& block);
  void set(const Address& address, std::uint64_t height, AccountState state);

  std::uint64_t seed_;
  std::uint64_t chain_id_;
  std::uint64_t first_block_;
  Wei base_fee_;
  std::set<Address> funded_;
  bool fund_all_;
  std::uint64_t slot_ = 0;
  std::uint64_t produced_ = 0;
  std::vector<Block> blocks_;
  std::map<Hash, std::uint64_t> numbers_;
  std::unordered_map<Hash, std::pair<std::uint64_t, std::size_t>, HashOfHash> inclusions_;
  std::map<Address, std::vector<Change>> accounts_;
};

/// The unlocked accounts.
PrivateKey development_key(std::size_t index);

}  // namespace rpcroute::devnet
