#include "transaction/nonce/counts.hpp"

#include <algorithm>

namespace rpcroute::transaction {
namespace {

constexpr int looks_that_count = 5;

struct Agreed {
  std::uint64_t count = 0;
  bool doubtful = false;
};

/// The second highest claim, unless the book bears out more, or one alone counts.
Agreed agree_on(std::vector<std::uint64_t> claims, std::uint64_t given, bool alone, bool others) {
  if (claims.empty()) return {};
  std::sort(claims.rbegin(), claims.rend());
  const bool surprises = given > 0;  // more than the book's own of an account that it knows
  if (alone) return {claims.front(), (others || surprises) && claims.front() > given};
  const std::uint64_t second = claims.size() > 1 ? claims[1] : 0;
  const std::uint64_t borne_out = std::max(second, std::min(claims.front(), given));
  return {borne_out, claims.front() > borne_out || (surprises && borne_out > given)};
}

}  // namespace

AgreedCount agree(const std::vector<AccountCount>& counts, std::uint64_t given, bool others) {
  std::vector<std::uint64_t> latest;
  std::vector<std::uint64_t> pending;
  for (const AccountCount& count : counts) {
    if (count.latest) latest.push_back(*count.latest);
    if (count.latest || count.pending) pending.push_back(std::max(count.latest.value_or(0), count.pending.value_or(0)));
  }
  const bool alone = pending.size() == 1;
  const Agreed mined = agree_on(latest, given, alone, others);
  const Agreed all = agree_on(pending, given, alone, others);
  return {mined.count, std::max(mined.count, all.count), all.doubtful};
}

std::optional<AgreedCount> CarefulCount::hear(const AgreedCount& agreed) {
  if (!agreed.doubtful) {
    *this = {};
    return agreed;
  }
  if (!lowest_ || agreed.pending < lowest_->pending) lowest_ = agreed;
  return ++looks_ < looks_that_count ? std::nullopt : lowest_;
}

std::uint64_t taken_up_to(const std::vector<BookEntry>& entries) {
  std::uint64_t number = entries.empty() ? 0 : entries.front().nonce;
  for (const BookEntry& entry : entries) {
    if (entry.nonce < number) continue;  // of a chain whose first block is unknown there may be several
    const bool is_taken = entry.stage == BookStage::taken || entry.stage == BookStage::mined;
    if (entry.nonce > number || !is_taken) break;
    ++number;
  }
  return number;
}

}  // namespace rpcroute::transaction
