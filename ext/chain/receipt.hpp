// What a node tells about transactions and blocks, read from the raw JSON of a result.
#pragma once

#include <cstdint>
#include <optional>
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
  std::string block_hash;        ///< lower case
  std::uint64_t block_number = 0;
  std::optional<bool> succeeded;  ///< the status; empty on chains from before Byzantium
  std::optional<std::uint64_t> gas_used;
  std::optional<std::uint64_t> effective_gas_price;  ///< wei

  bool operator==(const Receipt&) const = default;
};

/// nullopt: there is none (null). The receipt of another transaction, or one without a block, is misread. Throws
/// Misread.
std::optional<Receipt> read_receipt(std::string_view json, std::string_view transaction_hash);

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
  std::optional<std::uint64_t> number;  ///< empty for a pending block
  std::string hash;                     ///< lower case; empty for a pending block
  std::optional<std::uint64_t> timestamp;
  std::optional<std::uint64_t> base_fee_per_gas;  ///< wei; empty on a chain without EIP-1559
  std::vector<BlockTransaction> transactions;     ///< empty when only hashes were asked for
};

/// nullopt: there is none. Throws Misread.
std::optional<Block> read_block(std::string_view json);

/// The hash of an eth_getTransactionByHash answer is `transaction_hash`; false for null. Throws Misread.
bool knows_transaction(std::string_view json, std::string_view transaction_hash);

/// A result that is a quantity. Throws Misread.
std::uint64_t read_quantity_result(std::string_view json);
Uint256 read_quantity256_result(std::string_view json);

/// A result that is a hash, lower case. Throws Misread.
std::string read_hash_result(std::string_view json);

/// The first of eth_accounts, lower case; nullopt when the node holds none. Throws Misread.
std::optional<std::string> read_first_account(std::string_view json);

}  // namespace rpcroute::chain
