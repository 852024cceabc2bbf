// How many transactions of an account the providers count.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "transaction/nonce/book.hpp"

namespace rpcroute::transaction {

/// One provider's answers to eth_getTransactionCount.
struct AccountCount {
  std::optional<std::uint64_t> latest;
  std::optional<std::uint64_t> pending;
};

struct AgreedCount {
  std::uint64_t latest = 0;   ///< mined
  std::uint64_t pending = 0;  ///< and in the pools; not below `latest`
  bool doubtful = false;      ///< one provider alone claims more than others do, or all more than the book has given
};

/// The highest counts that are borne out: by another provider that counts as many, or by the book, whose bytes were
/// taken under all numbers below `given`. Where only one provider counts, its word counts, doubtful though it be while
/// `others` are silent. A lower claim costs a refusal by the pool, a higher one that is wrong leaves a gap in which the
/// transaction waits for ever.
AgreedCount agree(const std::vector<AccountCount>& counts, std::uint64_t given, bool others);

/// Takes a doubtful count again before it is believed. Of several doubtful ones in a row the lowest is: one that is too
/// low costs a refusal, one that is too high a gap.
class CarefulCount {
 public:
  /// The count to go by; nullopt: it is to be taken again, a beat later.
  std::optional<AgreedCount> hear(const AgreedCount& agreed);

 private:
  int looks_ = 0;
  std::optional<AgreedCount> lowest_;
};

/// The number up to which the book's bytes were taken without a gap, from its first entry on. What was only prepared,
/// or sent and may be lost, and what lies behind a gap because a count was once believed that was wrong, bears nothing
/// out.
std::uint64_t taken_up_to(const std::vector<BookEntry>& entries);

}  // namespace rpcroute::transaction
