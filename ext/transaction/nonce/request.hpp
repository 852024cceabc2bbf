// Which number the next transaction of an account gets.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transaction/conversation/exchange.hpp"
#include "transaction/conversation/fleet.hpp"
#include "transaction/nonce/book.hpp"
#include "transaction/nonce/claim.hpp"
#include "transaction/nonce/counts.hpp"

namespace rpcroute::transaction {

/// Between two tries for a lease that another holds.
inline constexpr rpc::Milliseconds lease_beat{20};

/// What the providers told of an account.
struct AccountState {
  std::uint64_t latest = 0;                     ///< its mined transactions
  std::uint64_t pending = 0;                    ///< and those in the pools
  std::optional<std::uint64_t> balance;         ///< wei; saturated
  std::optional<std::uint64_t> head;            ///< corroborated, of all providers
  std::optional<std::uint64_t> head_of_others;  ///< of all but the drawn one; of that one when it is alone
};

/// A number that is ours to use. The claim holds the account's lease, and is not written yet.
struct Numbering {
  Claim claim;
  std::int64_t overlap = 0;  ///< earlier ones of the account that are not mined
  AccountState state;
};

/// What a number is asked for.
struct NonceWish {
  std::string account;
  std::size_t own = 0;                ///< the drawn provider
  bool sends = true;                  ///< the transaction leaves at once
  rpc::Clock::duration patience;      ///< with other holders and users of the account's numbers
  rpc::Clock::duration beat;          ///< between two looks at what is doubtful
  rpc::Milliseconds call_timeout;     ///< of one request
  std::optional<AccountState> known;  ///< by an earlier request, and its `pending` raised to what was given since:
                                      ///< nobody is asked
};

/// Whether another has prepared the entry and may yet send it: it lives, and has done something within the last minute.
bool may_yet_leave(const BookEntry& entry, const NonceLease& lease, const BookWriter& self, double monotonic_now);

/// The questions for an account's counts at provider `i`, and what comes of their answers; nullopt when that is
/// nothing.
std::vector<rpc::Call> count_calls(const Fleet& fleet, std::size_t i, const std::string& account,
                                   rpc::Milliseconds call_timeout);
std::optional<AccountCount> count_of(const rpc::Answer* two);

/// Finds a number for an account: waits for the account's lease, asks every verified provider for its counts, and looks
/// up what the book has that the counts do not cover. A drawn provider that is not verified is so at the same time.
/// Continues with why not when nobody answers, when the drawn provider is not what it should be, when the book cannot
/// be read, or when patience ends.
///
/// The book is believed although nobody shows the transaction: reads lag behind sends. What was mined or taken is used,
/// what was sent until its provider and another deny it for three blocks, and meanwhile it is unsure, also for what is
/// only prepared: behind bytes that got lost it would be sent in vain. All of that only while the chain is the same:
/// one with another block at that height, or that stays shorter than it was for as long as three blocks take, is a
/// development node that began anew. What was prepared is used while its writer lives and does something; left lying
/// for a minute it is open, and to one that is sent at once as soon as this very book has prepared it.
///
/// For one that is sent at once (`sends`), numbers that are prepared by others and may yet leave, and those whose fate
/// is unsure, are waited for: behind one that never leaves it would wait for its receipt in vain.
class NonceRequest {
 public:
  using Then = std::function<void(std::optional<Numbering>, std::optional<rpc::Failure>)>;

  NonceRequest(Exchange& exchange, Fleet& fleet, const NonceBook& book, NonceWish wish, Then then);

  void start() { lease(); }

 private:
  /// What the questions told of the transaction that has a number.
  struct Evidence {
    rpc::Clock::time_point since;  ///< doubtful
    bool witnessed = false;        ///< somebody shows it, or its receipt
    bool another_chain = false;    ///< somebody shows another block where it was numbered or mined, nobody the same
    int denials = 0;               ///< rounds in which its provider, and another where one answered, denied it
  };

  /// Whether a number of the book is used and never given again, open to be given, or to be looked at again.
  enum class Given { used, open, unsure };

  void lease();
  void later(rpc::Clock::duration pause, const std::string& reason);
  void ask();
  void refuse(const rpc::Failure& failure);
  void hear(const std::vector<std::size_t>& whom, std::span<const rpc::Answer> answers);
  void weigh();
  void forget_below(std::uint64_t nonce);
  void look_up(std::vector<BookEntry> doubtful);
  void hear_look_up(const std::vector<BookEntry>& doubtful, const std::vector<std::size_t>& whom,
                    const std::vector<rpc::Answer>& answers);
  void choose();
  Given judge(const BookEntry& entry) const;
  Given judge_prepared(const BookEntry& entry) const;
  Given judge_sent(const BookEntry& entry, const Evidence& evidence) const;
  void give(std::uint64_t nonce);
  std::int64_t unmined_below(std::uint64_t nonce) const;
  double now() const { return monotonic_seconds(conversation_.now()); }

  Conversation conversation_;
  Fleet& fleet_;
  const NonceBook& book_;
  NonceWish wish_;
  Then then_;
  rpc::Clock::time_point started_;
  std::optional<NonceLease> lease_;
  AccountState state_;
  std::vector<BookEntry> entries_;              ///< of this chain, from the lowest that matters on
  std::map<std::uint64_t, Evidence> evidence_;  ///< by number
  CarefulCount count_;
};

}  // namespace rpcroute::transaction
