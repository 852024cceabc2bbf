// What a node tells about transactions and blocks, read from the raw JSON of a result.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chain/quantity.hpp"

namespace rpcroute::chain {

/// Why a result was not what the method promises. Fit for a row.
struct Misread {
  std::string message;
};

/// Of eth_getTransactionReceipt.
struct Receipt {
  std::string transaction_hash;  ///< lower case
  /// Lower case. Empty while the transaction is in no sealed block: a node's pending block, or the preconfirmation of a
  /// sequencer. Then nothing else here is final, and `block_number` is 0.
  std::string block_hash;
  std::uint64_t block_number = 0;         ///< below 2^63
  std::optional<bool> succeeded;          ///< the status; empty on chains from before Byzantium, and when unreadable
  std::optional<std::uint64_t> gas_used;  ///< below 2^63; empty when unreadable
  std::optional<std::uint64_t> effective_gas_price;  ///< wei; the same

  bool operator==(const Receipt&) const = default;
};

/// nullopt: there is none (null). What is misread is the receipt of another transaction, and one whose block is neither
/// absent (null, the hash of zeros) nor readable. Throws Misread.
std::optional<Receipt> read_receipt(std::string_view json, std::string_view transaction_hash);

/// What most of these tell, which are of one transaction in one block; a field on which as many tell another thing is
/// empty. `receipts` must not be empty.
Receipt agreed(std::span<const Receipt> receipts);

/// Empties what cannot be so of a plain transfer in a block of that base fee: it burns transfer_gas, each unit for no
/// more than its cap `max_fee` and no less than the base fee (EIP-1559). Wei.
void drop_impossible(Receipt& receipt, std::uint64_t max_fee, std::optional<std::uint64_t> base_fee);

/// One transaction of a block that was asked for with its transactions.
struct BlockTransaction {
  std::string hash;
  std::string from;  ///< lower case
  std::string to;    ///< lower case; empty when it creates a contract
  std::uint64_t nonce = 0;
  Uint256 value;

  bool operator==(const BlockTransaction&) const = default;
};

/// Of eth_getBlockByNumber.
struct Block {
  std::optional<std::uint64_t> number;            ///< below 2^63; empty for a pending block
  std::string hash;                               ///< lower case; empty for a pending block, and when it is all zeros
  std::optional<std::uint64_t> timestamp;         ///< below 2^63; empty when unreadable
  std::optional<std::uint64_t> base_fee_per_gas;  ///< wei; the same, and on a chain without EIP-1559
  std::vector<BlockTransaction> transactions;     ///< empty when only hashes were asked for
};

/// nullopt: there is none. Throws Misread.
std::optional<Block> read_block(std::string_view json);

/// Where a node that has a transaction says it is.
struct KnownTransaction {
  std::string block_hash;  ///< lower case; empty while it waits, for zeros, and when unreadable: the node has it anyway
  std::optional<std::uint64_t> block_number;  ///< below 2^63; empty while it waits, and when unreadable

  bool operator==(const KnownTransaction&) const = default;
};

/// Of eth_getTransactionByHash. nullopt: the node does not have it (null). Another transaction is misread. Throws
/// Misread.
std::optional<KnownTransaction> read_transaction(std::string_view json, std::string_view transaction_hash);

/// A result that is a quantity, or the bare integer of a lenient node. Throws Misread.
std::uint64_t read_quantity_result(std::string_view json);
Uint256 read_quantity256_result(std::string_view json);

/// A result that is a hash, lower case. Throws Misread.
std::string read_hash_result(std::string_view json);

/// The first of eth_accounts, lower case; nullopt when the node holds none. Throws Misread.
std::optional<std::string> read_first_account(std::string_view json);

}  // namespace rpcroute::chain
