#include "chain/method.hpp"

#include <algorithm>
#include <array>

namespace rpcroute::chain {
namespace {

/// Reads of the execution-apis specification and of the widespread extensions, which change nothing on any client.
constexpr std::array evm_methods = {
    Method{"eth_blockNumber", Shape::height_quantity},
    Method{"eth_getBlockByNumber", Shape::block, R"(["latest",false])"},
    Method{"eth_getBlockByHash", Shape::block},
    Method{"eth_syncing", Shape::syncing},
    Method{"eth_chainId", Shape::quantity},
    Method{"eth_getBalance", Shape::quantity, R"(["0x0000000000000000000000000000000000000000","latest"])"},
    Method{"eth_getTransactionCount", Shape::quantity, R"(["0x0000000000000000000000000000000000000000","latest"])"},
    Method{"eth_getCode", Shape::data, R"(["0x0000000000000000000000000000000000000000","latest"])"},
    Method{"eth_getStorageAt", Shape::data, R"(["0x0000000000000000000000000000000000000000","0x0","latest"])"},
    Method{"eth_getProof", Shape::any},
    Method{"eth_getLogs", Shape::any},
    Method{"eth_getBlockReceipts", Shape::any, R"(["latest"])"},
    Method{"eth_getBlockTransactionCountByHash", Shape::any},
    Method{"eth_getBlockTransactionCountByNumber", Shape::any, R"(["latest"])"},
    Method{"eth_getUncleByBlockHashAndIndex", Shape::any},
    Method{"eth_getUncleByBlockNumberAndIndex", Shape::any},
    Method{"eth_getUncleCountByBlockHash", Shape::any},
    Method{"eth_getUncleCountByBlockNumber", Shape::any, R"(["latest"])"},
    Method{"eth_getTransactionByHash", Shape::any},
    Method{"eth_getTransactionByBlockHashAndIndex", Shape::any},
    Method{"eth_getTransactionByBlockNumberAndIndex", Shape::any, R"(["latest","0x0"])"},
    Method{"eth_getTransactionReceipt", Shape::any},
    Method{"eth_getRawTransactionByHash", Shape::any},
    Method{"eth_getHeaderByNumber", Shape::block, R"(["latest"])"},
    Method{"eth_getHeaderByHash", Shape::block},
    Method{"eth_call", Shape::data},
    Method{"eth_simulateV1", Shape::array},
    Method{"eth_estimateGas", Shape::quantity},
    Method{"eth_createAccessList", Shape::any},
    Method{"eth_gasPrice", Shape::quantity},
    Method{"eth_maxPriorityFeePerGas", Shape::quantity},
    Method{"eth_blobBaseFee", Shape::quantity},
    Method{"eth_feeHistory", Shape::any, R"(["0x5","latest",[]])"},
    Method{"eth_protocolVersion", Shape::any},
    Method{"eth_config", Shape::any},
    Method{"net_version", Shape::text},
    Method{"net_listening", Shape::any},
    Method{"net_peerCount", Shape::any},
    Method{"web3_clientVersion", Shape::text},
    Method{"web3_sha3", Shape::data, R"(["0x"])"},
    Method{"txpool_status", Shape::any},
    Method{"rpc_modules", Shape::any},
    Method{"debug_getRawBlock", Shape::data, R"(["latest"])"},
    Method{"debug_getRawHeader", Shape::data, R"(["latest"])"},
    Method{"debug_getRawReceipts", Shape::array, R"(["latest"])"},
    Method{"debug_getRawTransaction", Shape::data},
    Method{"debug_traceTransaction", Shape::any},
    Method{"debug_traceCall", Shape::any},
    Method{"debug_traceBlockByNumber", Shape::any, R"(["latest"])"},
    Method{"debug_traceBlockByHash", Shape::any},
    Method{"trace_block", Shape::any, R"(["latest"])"},
    Method{"trace_transaction", Shape::any},
    Method{"trace_filter", Shape::any},
};

/// Where an account is needed it is the system program, which every cluster has and which owns no tokens.
constexpr std::array solana_methods = {
    Method{"getSlot", Shape::height_integer},
    Method{"getLatestBlockhash", Shape::enveloped},
    Method{"getBalance", Shape::enveloped, R"(["11111111111111111111111111111111"])"},
    Method{"getTokenAccountsByOwner", Shape::enveloped,
           R"(["11111111111111111111111111111111",{"programId":"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"},)"
           R"({"encoding":"base64","dataSlice":{"offset":0,"length":0}}])"},
    Method{"getAccountInfo", Shape::enveloped, R"(["11111111111111111111111111111111"])"},
    Method{"getMultipleAccounts", Shape::enveloped, R"([["11111111111111111111111111111111"]])"},
    Method{"getSignatureStatuses", Shape::enveloped},
    Method{"getFeeForMessage", Shape::enveloped},
    Method{"isBlockhashValid", Shape::enveloped},
    Method{"getSupply", Shape::enveloped},
    Method{"getTokenSupply", Shape::enveloped},
    Method{"getTokenAccountBalance", Shape::enveloped},
    Method{"getTokenLargestAccounts", Shape::enveloped},
    Method{"getTokenAccountsByDelegate", Shape::enveloped},
    Method{"getLargestAccounts", Shape::enveloped},
    Method{"getBlockProduction", Shape::enveloped},
    Method{"simulateTransaction", Shape::enveloped},
    // A block height counts blocks, not slots: it is no height of ours.
    Method{"getBlockHeight", Shape::integer},
    Method{"getMaxShredInsertSlot", Shape::height_integer},
    Method{"getMaxRetransmitSlot", Shape::height_integer},
    Method{"getTransactionCount", Shape::integer},
    Method{"getFirstAvailableBlock", Shape::integer},
    Method{"minimumLedgerSlot", Shape::integer},
    Method{"getMinimumBalanceForRentExemption", Shape::integer, "[0]"},
    Method{"getStakeMinimumDelegation", Shape::enveloped},
    Method{"getBlock", Shape::any},
    Method{"getBlocks", Shape::array},
    Method{"getBlocksWithLimit", Shape::array},
    Method{"getBlockCommitment", Shape::any},
    Method{"getBlockTime", Shape::any},
    Method{"getEpochInfo", Shape::any},
    Method{"getEpochSchedule", Shape::any},
    Method{"getGenesisHash", Shape::text},
    Method{"getHealth", Shape::text},
    Method{"getHighestSnapshotSlot", Shape::any},
    Method{"getIdentity", Shape::any},
    Method{"getInflationGovernor", Shape::any},
    Method{"getInflationRate", Shape::any},
    Method{"getInflationReward", Shape::any},
    Method{"getLeaderSchedule", Shape::any},
    Method{"getProgramAccounts", Shape::any},
    Method{"getRecentPerformanceSamples", Shape::array, "[1]"},
    Method{"getRecentPrioritizationFees", Shape::array},
    Method{"getSignaturesForAddress", Shape::array},
    Method{"getSlotLeader", Shape::text},
    Method{"getSlotLeaders", Shape::array},
    Method{"getTransaction", Shape::any},
    Method{"getVersion", Shape::any},
    Method{"getVoteAccounts", Shape::any},
    Method{"getClusterNodes", Shape::array},
};

template <class Methods>
const Method* find_in(const Methods& methods, std::string_view name) {
  const auto found = std::find_if(methods.begin(), methods.end(), [&](const Method& m) { return m.name == name; });
  return found == methods.end() ? nullptr : &*found;
}

}  // namespace

const Method* find_read_method(ChainKind kind, std::string_view name) {
  return kind == ChainKind::evm ? find_in(evm_methods, name) : find_in(solana_methods, name);
}

std::vector<std::string_view> read_method_names() {
  std::vector<std::string_view> names;
  for (const Method& method : evm_methods) names.push_back(method.name);
  for (const Method& method : solana_methods) names.push_back(method.name);
  return names;
}

}  // namespace rpcroute::chain
