// Which chain a node says it is on, and how old it says its block is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rpcroute::chain {

/// What one answer tells; nothing where it tells nothing.
struct Identity {
  std::optional<std::uint64_t> chain_id;        ///< of eth_chainId
  std::string genesis_hash;                     ///< of getGenesisHash, base58
  std::optional<std::int64_t> block_timestamp;  ///< of eth_getBlockByNumber: Unix seconds, as the chain says

  /// Why this is not the chain expected, for the operator; empty when it is, and when one side does not know.
  std::string mismatch(std::optional<std::uint64_t> expected_id, std::string_view expected_genesis) const;
};

/// `result_json` is the raw text of a JSON-RPC result. A result that cannot be read tells nothing.
Identity identity_of(std::string_view method, std::string_view result_json);

}  // namespace rpcroute::chain
