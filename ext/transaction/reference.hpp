// Transactions named by their hash: the argument of tx_send and tx_wait.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chain/eip1559.hpp"

namespace rpcroute::transaction {

/// A transaction as the argument names it.
struct Reference {
  std::string provider_id;
  std::string tx_hash;
  std::string raw;                  ///< signed bytes as hex; may be empty for tx_wait
  std::optional<double> timestamp;  ///< Unix seconds of the broadcast or preparation
};

/// Reads a JSON array of {"provider_id","tx_hash","raw","timestamp"}; a hash that comes again is left out. Throws
/// std::invalid_argument.
std::vector<Reference> parse_references(std::string_view json);

/// Signed bytes, read back.
struct ReadTransaction {
  chain::Eip1559Transaction transaction;
  std::string account;  ///< who signed
};

/// Throws std::invalid_argument, naming the transaction by its hash, unless `raw` is a probe transfer of that hash.
ReadTransaction read_reference(const Reference& reference);

}  // namespace rpcroute::transaction
