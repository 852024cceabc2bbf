#include "transaction/nonce/counts.hpp"

#include <algorithm>

namespace rpcroute::transaction {
namespace {

struct Agreed {
  std::uint64_t count = 0;
  bool doubtful = false;
};

/// The second highest claim, unless the book or nobody else's silence bears out more.
Agreed agree_on(std::vector<std::uint64_t> claims, std::uint64_t given, bool alone) {
  if (claims.empty()) return {};
  std::sort(claims.rbegin(), claims.rend());
  if (alone) return {claims.front(), false};
  const std::uint64_t second = claims.size() > 1 ? claims[1] : 0;
  const std::uint64_t borne_out = std::max(second, std::min(claims.front(), given));
  return {borne_out, claims.front() > borne_out};
}

}  // namespace

AgreedCount agree(const std::vector<AccountCount>& counts, std::uint64_t given) {
  std::vector<std::uint64_t> latest;
  std::vector<std::uint64_t> pending;
  for (const AccountCount& count : counts) {
    if (count.latest) latest.push_back(*count.latest);
    if (count.latest || count.pending) pending.push_back(std::max(count.latest.value_or(0), count.pending.value_or(0)));
  }
  const bool alone = pending.size() == 1;
  const Agreed mined = agree_on(latest, given, alone);
  const Agreed all = agree_on(pending, given, alone);
  return {mined.count, std::max(mined.count, all.count), all.doubtful};
}

}  // namespace rpcroute::transaction
