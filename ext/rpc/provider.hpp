// A provider as its row describes it: templates, not secrets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chain/kind.hpp"

namespace rpcroute::rpc {

/// A row of `rpc_providers` joined to its `rpc_chains` row, or one object of an inline `providers` argument.
/// `url`, `ws_url` and header values may hold `${RPCROUTE_NAME}`; they are expanded only when a request is made.
struct Provider {
  std::string provider_id;
  std::string chain;  ///< name of the chain; may be empty for inline providers
  chain::ChainKind kind = chain::ChainKind::evm;
  std::optional<std::uint64_t> chain_id;
  std::string genesis_hash;             ///< of a Solana cluster, base58; empty when it is not known
  bool is_mainnet = true;               ///< nothing is known to be a testnet until it says so
  std::int64_t block_time_ms = 12'000;  ///< of the chain; here and below what a chain that nobody described has
  std::int64_t head_max_ahead = 100;    ///< blocks above every other witness that are still believed
  std::string url;
  std::string ws_url;
  std::string operator_name;  ///< who runs it; the witness for `chain_head`
  std::string headers;        ///< JSON object of name → value, or empty
  std::string config_error;   ///< not empty: the row is unusable; it is reported as `config` and never asked
};

/// Reads the `providers` argument: a JSON array of objects with the columns of `rpc_providers` plus `kind`, `chain_id`
/// and `is_mainnet`; as in the table, nobody asks one that is not `enabled`. Throws std::invalid_argument, in words fit
/// for an SQL error, when the text is not such an array, an entry has no usable `provider_id` or a key that is no such
/// column; whatever else is wrong with one entry becomes its `config_error`.
std::vector<Provider> parse_providers(std::string_view json);

}  // namespace rpcroute::rpc
