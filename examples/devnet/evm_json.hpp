// The shapes in which an Ethereum node speaks of blocks and transactions (execution-apis).
#pragma once

#include <string>

#include "chain.hpp"

namespace rpcroute::devnet {

/// A block with its transactions whole or as hashes.
std::string block_json(const Block& block, bool whole_transactions);

/// The header that a newHeads subscription sends.
std::string header_json(const Block& block);

/// Without an inclusion it is pending: its place is null.
std::string transaction_json(const Transaction& transaction, const std::optional<Inclusion>& inclusion);

std::string receipt_json(const Inclusion& inclusion);

}  // namespace rpcroute::devnet
