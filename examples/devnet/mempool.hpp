// Transactions that wait for a block, and the rules of admission.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "transaction.hpp"

namespace rpcroute::devnet {

struct AccountState {
  std::uint64_t nonce = 0;
  Wei balance;
};

struct HashOfHash {
  std::size_t operator()(const Hash& hash) const {
    std::size_t word;
    std::copy_n(hash.begin(), sizeof word, reinterpret_cast<std::uint8_t*>(&word));
    return word;
  }
};

/// What a node checks of a transaction against the sender's account, in geth's order and words.
std::optional<Rejection> check(const Transaction& transaction, const AccountState& sender, const Wei& min_tip,
                               std::uint64_t block_gas_limit);

/// Whether `next` may take the place of `current` with the same nonce: 10 % more of both fees.
bool outbids(const Transaction& next, const Transaction& current);

inline Rejection already_known() {
  return {-32000, "already known"};
}
inline Rejection underpriced_replacement() {
  return {-32000, "replacement transaction underpriced"};
}

struct Pooled {
  Transaction transaction;
  double since = 0;                 ///< Unix seconds
  std::uint64_t eligible_slot = 0;  ///< no block of an earlier slot takes it
};

/// One transaction per sender and nonce. Nonces may have gaps: what is beyond a gap waits.
class Mempool {
 public:
  const Pooled* find(const Hash& hash) const;
  const Pooled* find(const Address& sender, std::uint64_t nonce) const;

  /// "already known" or "replacement transaction underpriced", or nothing.
  std::optional<Rejection> conflict(const Transaction& transaction) const;

  /// Admits what has no conflict; the hash of the transaction it replaced, if any.
  std::optional<Hash> put(Pooled pooled);
  bool erase(const Hash& hash);

  /// All of one sender, by nonce.
  const std::map<std::uint64_t, Pooled>* of(const Address& sender) const;
  const std::map<Address, std::map<std::uint64_t, Pooled>>& senders() const { return by_sender_; }
  std::size_t size() const { return by_hash_.size(); }

  /// Drops the transactions whose nonce the account has passed; returns their hashes.
  template <class NonceOf>
  std::vector<Hash> erase_stale(NonceOf nonce_of) {
    std::vector<Hash> stale;
    for (const auto& [sender, by_nonce] : by_sender_) {
      const std::uint64_t next = nonce_of(sender);
      for (const auto& [nonce, pooled] : by_nonce) {
        if (nonce < next) stale.push_back(pooled.transaction.hash);
      }
    }
    for (const auto& hash : stale) erase(hash);
    return stale;
  }

 private:
  std::map<Address, std::map<std::uint64_t, Pooled>> by_sender_;
  std::unordered_map<Hash, std::pair<Address, std::uint64_t>, HashOfHash> by_hash_;
};

}  // namespace rpcroute::devnet
