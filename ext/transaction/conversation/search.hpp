// Whether anybody knows a transaction whose sending went wrong.
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

/// What one round of asking gave.
struct SearchResult {
  std::optional<std::string> tx_hash;  ///< somebody knows it
  bool own_denies = false;             ///< the drawn provider answered that it does not
  std::size_t denials = 0;             ///< providers that answered so
  std::optional<std::uint64_t> head;   ///< corroborated, as all but the drawn provider see it unless it is alone
};

using SearchThen = std::function<void(const SearchResult&)>;

/// Whether an answer to eth_getTransactionByHash knows the transaction; nullopt when it tells nothing.
std::optional<bool> knows(const rpc::Answer& answer, const std::string& tx_hash);

/// Asks every provider for the transaction by its hash, in the pool or in a block.
void search_by_hash(Conversation& conversation, const Fleet& fleet, const std::string& tx_hash, std::size_t own,
                    rpc::Milliseconds call_timeout, SearchThen then);

/// Looks through every provider's pending and latest block for a transfer of nothing to oneself with that number.
void search_by_nonce(Conversation& conversation, const Fleet& fleet, const NodeTransaction& transaction,
                     std::size_t own, rpc::Milliseconds call_timeout, SearchThen then);

}  // namespace rpcroute::transaction
