#include "mempool.hpp"

#include <limits>

namespace rpcroute::devnet {

std::optional<Rejection> check(const Transaction& tx, const AccountState& sender, const Wei& min_tip,
                               std::uint64_t block_gas_limit) {
  const auto refuse = [](std::string message) { return Rejection{-32000, std::move(message)}; };
  if (tx.gas > block_gas_limit) return refuse("exceeds block gas limit");
  if (tx.tip > tx.max_fee) return refuse("max priority fee per gas higher than max fee per gas");
  if (tx.nonce == std::numeric_limits<std::uint64_t>::max()) return refuse("nonce has max value");
  if (tx.gas < tx.intrinsic_gas()) {
    return refuse("intrinsic gas too low: gas " + std::to_string(tx.gas) + ", minimum needed " +
                  std::to_string(tx.intrinsic_gas()));
  }
  if (tx.tip < min_tip) {
    return refuse("transaction underpriced: gas tip cap " + tx.tip.str() + ", minimum needed " + min_tip.str());
  }
  if (tx.nonce < sender.nonce) {
    return refuse("nonce too low: next nonce " + std::to_string(sender.nonce) + ", tx nonce " +
                  std::to_string(tx.nonce));
  }
  if (tx.cost() > sender.balance) {
    return refuse("insufficient funds for gas * price + value: balance " + sender.balance.str() + ", tx cost " +
                  tx.cost().str() + ", overshot " + Wei(tx.cost() - sender.balance).str());
  }
  return std::nullopt;
}

bool outbids(const Transaction& next, const Transaction& current) {
  return next.max_fee * 100 >= current.max_fee * 110 && next.tip * 100 >= current.tip * 110;
}

const Pooled* Mempool::find(const Hash& hash) const {
  const auto found = by_hash_.find(hash);
  return found == by_hash_.end() ? nullptr : find(found->second.first, found->second.second);
}

const Pooled* Mempool::find(const Address& sender, std::uint64_t nonce) const {
  const auto* by_nonce = of(sender);
  if (!by_nonce) return nullptr;
  const auto found = by_nonce->find(nonce);
  return found == by_nonce->end() ? nullptr : &found->second;
}

const std::map<std::uint64_t, Pooled>* Mempool::of(const Address& sender) const {
  const auto found = by_sender_.find(sender);
  return found == by_sender_.end() ? nullptr : &found->second;
}

std::optional<Rejection> Mempool::conflict(const Transaction& tx) const {
  if (by_hash_.contains(tx.hash)) return already_known();
  const Pooled* current = find(tx.from, tx.nonce);
  if (current && !outbids(tx, current->transaction)) return underpriced_replacement();
  return std::nullopt;
}

std::optional<Hash> Mempool::put(Pooled pooled) {
  const Address from = pooled.transaction.from;
  const std::uint64_t nonce = pooled.transaction.nonce;
  std::optional<Hash> replaced;
  if (const Pooled* current = find(from, nonce)) {
    replaced = current->transaction.hash;
    by_hash_.erase(*replaced);
  }
  by_hash_[pooled.transaction.hash] = {from, nonce};
  by_sender_[from][nonce] = std::move(pooled);
  return replaced;
}

bool Mempool::erase(const Hash& hash) {
  const auto found = by_hash_.find(hash);
  if (found == by_hash_.end()) return false;
  const auto [sender, nonce] = found->second;
  by_hash_.erase(found);
  auto& by_nonce = by_sender_[sender];
  by_nonce.erase(nonce);
  if (by_nonce.empty()) by_sender_.erase(sender);
  return true;
}

}  // namespace rpcroute::devnet
