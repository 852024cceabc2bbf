// A number that belongs to one transaction, as the book has it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "transaction/conversation/fleet.hpp"
#include "transaction/nonce/book.hpp"

namespace rpcroute::transaction {

/// The book decides whose a number is, and bytes leave only while it says that the number is theirs. Between two writes
/// the claim may hold the account's lease, so that nobody gives the next number away before this one's fate is known.
class Claim {
 public:
  /// `entry`: what the book is to say, whatever the stage. Writes nothing yet.
  Claim(const NonceBook& book, std::uint64_t chain_id, std::string account, BookEntry entry,
        std::optional<NonceLease> lease)
      : book_(&book),
        chain_id_(chain_id),
        account_(std::move(account)),
        entry_(std::move(entry)),
        lease_(std::move(lease)) {
    entry_.writer = book.writer();
  }

  const BookEntry& entry() const { return entry_; }
  std::uint64_t nonce() const { return entry_.nonce; }

  /// Writes that stage before anything leaves. The lease must be held. Throws BookError.
  void write(BookStage stage, const std::string& tx_hash, double time) {
    set(stage, tx_hash, time);
    lease_->put(entry_);
  }

  /// Writes what became of it, with the lease that is held or one for the moment. False when another has it, or the
  /// book cannot be written: then an earlier stage stands there, which whoever reads it looks up.
  bool note(BookStage stage, const std::string& tx_hash, double time) {
    set(stage, tx_hash, time);
    return note();
  }

  /// The same for one that was mined: its block tells chains apart.
  bool note_mined(const BlockId& block, const std::string& tx_hash, double time) {
    entry_.block = block.number;
    entry_.block_hash = block.hash;
    return note(BookStage::mined, tx_hash, time);
  }

  void let_go() { lease_.reset(); }

 private:
  void set(BookStage stage, const std::string& tx_hash, double time) {
    entry_.stage = stage;
    entry_.tx_hash = tx_hash;
    entry_.time = time;
  }

  /// What a claim that was made from the bytes alone does not know.
  void keep_from(const BookEntry& now) {
    entry_.edition = now.edition;
    entry_.head = std::max(entry_.head, now.head);
    if (!entry_.block_hash.empty()) return;
    entry_.block = now.block;
    entry_.block_hash = now.block_hash;
  }

  bool note() try {
    if (lease_) {
      lease_->put(entry_);
      return true;
    }
    auto lease = book_->try_lease(chain_id_, account_);
    if (!lease) return false;
    const auto now = lease->find(entry_.genesis, entry_.nonce);
    if (now && now->tx_hash != entry_.tx_hash && !now->tx_hash.empty()) return true;  // it is another's by now
    if (now) keep_from(*now);
    lease->put(entry_);
    return true;
  } catch (const BookError&) {
    return false;
  }

  const NonceBook* book_;
  std::uint64_t chain_id_;
  std::string account_;
  BookEntry entry_;
  std::optional<NonceLease> lease_;
};

}  // namespace rpcroute::transaction
