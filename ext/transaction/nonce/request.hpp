// Which number the next transaction of an account gets.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "transaction/nonce/book.hpp"
#include "transaction/conversation/exchange.hpp"
#include "transaction/conversation/fleet.hpp"

namespace rpcroute::transaction {

/// A number that is ours to use, with what was learnt while it was found.
struct Numbering {
  std::shared_ptr<NonceLease> lease;  ///< held until it is let go
  std::uint64_t nonce = 0;
  std::int64_t overlap = 0;                     ///< earlier ones of the account that are not mined
  std::optional<std::uint64_t> balance;         ///< wei; saturated
  std::optional<std::uint64_t> head;            ///< corroborated, of all providers
  std::optional<std::uint64_t> head_of_others;  ///< of all but the drawn one; of that one when it is alone
};

/// Whether the entry's process lives and may yet send what it prepared: for a minute.
bool may_yet_leave(const BookEntry& entry, double unix_now);

/// Whether an entry that no provider confirms is believed all the same. One that was sent within the last minute may be
/// on its way: for five seconds whatever is said, after that unless the provider that took it says it has none. One
/// that was prepared within the last minute may be about to be sent by its process, if that lives. Neither on a chain
/// that is shorter now than it was (a development node that began anew). What was mined needs a witness.
bool is_believed_unseen(const BookEntry& entry, double unix_now, std::optional<std::uint64_t> head,
                        bool denied_by_its_provider);

/// The first number at or above the network's pending count that is not among the believed ones. Counts that lag are
/// made up for by the book, and a number whose transaction was lost is filled before those above it.
std::uint64_t choose_nonce(std::uint64_t pending, const std::map<std::uint64_t, bool>& believed);

/// What a number is asked for.
struct NonceWish {
  std::string account;
  std::size_t own = 0;             ///< the drawn provider
  bool sends = true;               ///< the transaction leaves at once
  rpc::Clock::duration patience;   ///< with other holders and users of the account's numbers
  rpc::Milliseconds call_timeout;  ///< of one request
};

/// Finds a number for an account: waits for the account's lease, asks every verified provider for its counts (the
/// highest counts), and looks up those in the book that the counts do not cover. A drawn provider that is not verified
/// is so at the same time. Continues with why not when nobody answers, when the drawn provider is not what it should
/// be, or when patience ends.
///
/// For one that is sent at once (`sends`), numbers that another process has prepared and may yet send are waited for:
/// behind one that never leaves it would wait for its receipt in vain. A number that this process has prepared is used.
class NonceRequest {
 public:
  using Then = std::function<void(std::optional<Numbering>, std::optional<rpc::Failure>)>;

  NonceRequest(Exchange& exchange, Fleet& fleet, const NonceBook& book, NonceWish wish, Then then);

  void start();

 private:
  void lease();
  void lease_later();
  void ask();
  void refuse(const rpc::Failure& failure);
  void hear(const std::vector<std::size_t>& whom, const std::vector<rpc::Answer>& answers);
  void look_up();
  void finish(const std::set<std::uint64_t>& witnessed, const std::set<std::uint64_t>& denied);
  std::int64_t unmined_below(std::uint64_t nonce, const std::map<std::uint64_t, bool>& believed) const;

  Conversation conversation_;
  Fleet& fleet_;
  const NonceBook& book_;
  NonceWish wish_;
  Then then_;
  rpc::Clock::time_point started_;
  Numbering numbering_;
  std::map<std::uint64_t, BookEntry> entries_;
  std::uint64_t latest_ = 0;
  std::uint64_t pending_ = 0;
  std::optional<std::uint64_t> awaited_;  ///< the number that another process may yet use
};

}  // namespace rpcroute::transaction
