#include "rpc/fields.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace rpcroute::rpc {
namespace {

// By what a kind is known: each name has a bit of its own.
constexpr Marks parent_hash = 1U << 8;
constexpr Marks state_root = 1U << 9;
constexpr Marks transaction_hash = 1U << 10;
constexpr Marks cumulative_gas = 1U << 11;
constexpr Marks address = 1U << 12;
constexpr Marks topics = 1U << 13;
constexpr Marks data = 1U << 14;
constexpr Marks hash = 1U << 15;
constexpr Marks from = 1U << 16;
constexpr Marks nonce = 1U << 17;
constexpr Marks input = 1U << 18;
constexpr Marks oldest_block = 1U << 19;
constexpr Marks gas_used_ratio = 1U << 20;

struct Kind {
  Marks kind;
  Marks known_by;
};

constexpr std::array kinds{
    Kind{in_block, parent_hash | state_root},
    Kind{in_receipt, transaction_hash | cumulative_gas},
    Kind{in_log, address | topics | data},
    Kind{in_transaction, hash | from | nonce | input},
    Kind{in_fee_history, oldest_block | gas_used_ratio},
};

/// Quantities are of type uint in execution-apis, or numbers to every client that has the extension. Not among a kind's
/// fields are those on which honest nodes differ:
/// of a block `miner` (differs on Polygon), `size` and `totalDifficulty` (out of the specification), `withdrawals`,
/// `requestsHash` and `blockAccessListHash` (missing on some): its hash commits to what they say;
/// of a receipt `blockTimestamp` and the fees of second layers; of a log `blockTimestamp`, `transactionLogIndex`,
/// `l1BatchNumber` and `logType`; of a fee history the blob fields, absent on some.
const std::unordered_map<std::string_view, Marks> fields{
    {"accessList", in_transaction},
    {"address", in_log | address},
    {"amount", is_quantity},
    {"authorizationList", in_transaction},
    {"balance", is_quantity},
    {"baseFeePerBlobGas", is_quantity},
    {"baseFeePerGas", is_quantity | in_block | in_fee_history},
    {"blobGasPrice", is_quantity | in_receipt},
    {"blobGasUsed", is_quantity | in_block | in_receipt},
    {"blobVersionedHashes", in_transaction},
    {"blockHash", is_optional | in_transaction | in_receipt | in_log},
    {"blockNumber", is_quantity | is_optional | in_transaction | in_receipt | in_log},
    {"blockTimestamp", is_quantity},
    {"chainId", is_quantity | in_transaction},
    {"contractAddress", is_optional | in_receipt},
    {"cumulativeGasUsed", is_quantity | in_receipt | cumulative_gas},
    {"currentBlock", is_quantity},
    {"data", in_log | data},
    {"difficulty", is_quantity | in_block},
    {"effectiveGasPrice", is_quantity | in_receipt},
    {"excessBlobGas", is_quantity | in_block},
    {"extraData", in_block},
    {"from", in_transaction | in_receipt | from},
    {"gas", is_quantity | in_transaction},
    {"gasLimit", is_quantity | in_block},
    {"gasPrice", is_quantity | in_transaction},
    {"gasUsed", is_quantity | in_block | in_receipt},
    {"gasUsedRatio", in_fee_history | gas_used_ratio},
    {"hash", is_optional | in_block | in_transaction | hash},
    {"highestBlock", is_quantity},
    {"index", is_quantity},
    {"input", in_transaction | input},
    {"logIndex", is_quantity | is_optional | in_log},
    {"logs", in_receipt},
    {"logsBloom", in_block | in_receipt},
    {"maxFeePerBlobGas", is_quantity | in_transaction},
    {"maxFeePerGas", is_quantity | in_transaction},
    {"maxPriorityFeePerGas", is_quantity | in_transaction},
    {"mixHash", in_block},
    {"nonce", is_quantity | in_block | in_transaction | nonce},
    {"number", is_quantity | is_optional | in_block},
    {"oldestBlock", is_quantity | in_fee_history | oldest_block},
    {"parentBeaconBlockRoot", in_block},
    {"parentHash", in_block | parent_hash},
    {"r", is_quantity | in_transaction},
    {"receiptsRoot", in_block},
    {"removed", in_log},
    {"reward", is_quantity | in_fee_history},
    {"root", in_receipt},
    {"s", is_quantity | in_transaction},
    {"sha3Uncles", in_block},
    {"size", is_quantity},
    {"startingBlock", is_quantity},
    {"stateRoot", in_block | state_root},
    {"status", is_quantity | in_receipt},
    {"timestamp", is_quantity | in_block},
    {"to", is_optional | in_transaction | in_receipt},
    {"topics", in_log | topics},
    {"totalDifficulty", is_quantity},
    {"transactionHash", in_receipt | in_log | transaction_hash},
    {"transactionIndex", is_quantity | is_optional | in_transaction | in_receipt | in_log},
    {"transactions", in_block},
    {"transactionsRoot", in_block},
    {"type", is_quantity | in_transaction | in_receipt},
    {"uncles", in_block},
    {"v", is_quantity | in_transaction},
    {"validatorIndex", is_quantity},
    {"value", is_quantity | in_transaction},
    {"withdrawalsRoot", in_block},
    {"yParity", is_quantity | in_transaction},
};

constexpr std::size_t longest_name = 21;

constexpr std::array<std::string_view, 13> quantity_methods{"eth_blockNumber",
                                                            "eth_chainId",
                                                            "eth_gasPrice",
                                                            "eth_maxPriorityFeePerGas",
                                                            "eth_blobBaseFee",
                                                            "eth_getBalance",
                                                            "eth_getTransactionCount",
                                                            "eth_estimateGas",
                                                            "eth_getBlockTransactionCountByHash",
                                                            "eth_getBlockTransactionCountByNumber",
                                                            "eth_getUncleCountByBlockHash",
                                                            "eth_getUncleCountByBlockNumber",
                                                            "net_peerCount"};

}  // namespace

Marks marks_of(std::string_view name) {
  if (name.empty() || name.front() < 'a' || name.front() > 'z' || name.size() > longest_name) return 0;
  const auto found = fields.find(name);
  return found == fields.end() ? 0 : found->second;
}

Marks kind_of(Marks members) {
  for (const Kind& kind : kinds) {
    if ((members & kind.known_by) == kind.known_by) return kind.kind;
  }
  return 0;
}

bool is_number(Marks marks, Marks kind) {
  const bool is_block_nonce = kind == in_block && (marks & nonce) != 0;  // 8 bytes of data
  return (marks & is_quantity) != 0 && !is_block_nonce;
}

bool returns_quantity(std::string_view method) {
  return std::find(quantity_methods.begin(), quantity_methods.end(), method) != quantity_methods.end();
}

}  // namespace rpcroute::rpc
