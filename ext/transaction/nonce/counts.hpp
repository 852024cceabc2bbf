// How many transactions of an account the providers count.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace rpcroute::transaction {

/// One provider's answers to eth_getTransactionCount.
struct AccountCount {
  std::optional<std::uint64_t> latest;
  std::optional<std::uint64_t> pending;
};

struct AgreedCount {
  std::uint64_t latest = 0;   ///< mined
  std::uint64_t pending = 0;  ///< and in the pools; not below `latest`
  bool doubtful = false;      ///< one provider alone claims more than that
};

/// The highest counts that are borne out: by another provider that counts as many, or by the book, which has given all
/// numbers below `given`. Where only one provider counts, its word counts. A lower claim costs a refusal by the pool, a
/// higher one that is wrong leaves a gap in which the transaction waits for ever.
AgreedCount agree(const std::vector<AccountCount>& counts, std::uint64_t given);

}  // namespace rpcroute::transaction
