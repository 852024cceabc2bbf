// What the providers know: of a transaction whose fate is unclear, and of the block that is said to hold it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "transaction/conversation/exchange.hpp"
#include "transaction/conversation/fleet.hpp"

namespace rpcroute::transaction {

/// What the node signs: known by its account and number until its hash is.
struct NodeTransaction {
  std::string account;
  std::uint64_t nonce = 0;
};

/// Bytes that left are lost when they were denied in so many rounds, over so many blocks.
inline constexpr int denials_that_count = 3;
inline constexpr int blocks_that_count = 3;

/// What the drawn provider, and others, answer to whether they know a transaction.
struct Hearing {
  int denials = 0;
  bool own_answers = false;
  bool own_denies = false;
  bool another_answers = false;
  bool another_denies = false;

  void hear(bool is_own, bool knows) {
    (is_own ? own_answers : another_answers) = true;
    if (knows) return;
    ++denials;
    (is_own ? own_denies : another_denies) = true;
  }

  /// The drawn provider denies it itself, and another, where one answered.
  bool denied() const { return own_denies && (another_denies || !another_answers); }
};

/// What one round of asking gave. Providers that want to be left alone are not asked.
struct SearchResult {
  std::optional<std::string> tx_hash;  ///< somebody knows it
  std::vector<BlockId> blocks;         ///< in which somebody shows it
  Hearing heard;
  bool own_is_silent = false;         ///< the drawn provider was asked, and did not answer
  bool number_is_used = false;        ///< the drawn provider counts a transaction of its number, and shows none
  std::optional<std::uint64_t> head;  ///< corroborated, as all but the drawn provider see it unless it is alone

  bool denied() const { return !tx_hash && heard.denied(); }
};

using SearchThen = std::function<void(const SearchResult&)>;

/// Whom a question may go to: those that are ready, or, for a last word, all that have not asked for rest themselves.
enum class Urgency { usual, last_word };

/// Asks every provider for the transaction by its hash, in the pool or in a block. `own`: the drawn provider, or none.
void search_by_hash(Conversation& conversation, const Fleet& fleet, const std::string& tx_hash,
                    std::optional<std::size_t> own, rpc::Milliseconds call_timeout, Urgency urgency, SearchThen then);

/// Looks through every provider's pending and latest block for a transfer of nothing to oneself with that number.
/// Whoever counts its number as used denies nothing: its block may have come and gone between two looks.
void search_by_nonce(Conversation& conversation, const Fleet& fleet, const NodeTransaction& transaction,
                     std::optional<std::size_t> own, rpc::Milliseconds call_timeout, SearchThen then);

/// What the providers show at a block's height.
struct BlockResult {
  std::size_t same = 0;                   ///< providers that show the block
  std::size_t different = 0;              ///< that show another one
  std::size_t absent = 0;                 ///< that have none there
  std::optional<std::int64_t> timestamp;  ///< of the block, whole Unix seconds; the median of those told
  std::optional<std::uint64_t> base_fee;  ///< of the block, wei per gas; the median of those told

  /// The block is part of the chain, as most of those see it who have a block at its height.
  bool stands() const { return same > different; }
};

using BlockThen = std::function<void(const BlockResult&)>;

/// Asks every provider for the block at that height.
void search_block(Conversation& conversation, const Fleet& fleet, const BlockId& block, rpc::Milliseconds call_timeout,
                  Urgency urgency, BlockThen then);

/// Those of `whom` that may be asked now.
std::vector<std::size_t> ready_ones(const Conversation& conversation, const Fleet& fleet, std::vector<std::size_t> whom,
                                    Urgency urgency = Urgency::usual);

/// Whether an answer to eth_getTransactionByHash, or to eth_getTransactionReceipt, knows the transaction; nullopt when
/// it tells nothing.
std::optional<bool> knows(const rpc::Answer& answer, const std::string& tx_hash);
std::optional<bool> has_receipt(const rpc::Answer& answer, const std::string& tx_hash);

}  // namespace rpcroute::transaction
