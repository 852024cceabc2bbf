// What tx_send and tx_wait share: transactions named by their hash, and the providers that may know them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chain/eip1559.hpp"
#include "transaction/transaction.hpp"
#include "transaction/conversation/fleet.hpp"

namespace rpcroute::transaction {

/// Signed bytes, read back.
struct ReadTransaction {
  chain::Eip1559Transaction transaction;
  std::string account;  ///< who signed
};

/// Throws std::invalid_argument, naming the transaction by its hash, unless `raw` is a probe transfer of that hash.
ReadTransaction read_reference(const TransactionReference& reference);

/// One fleet for each chain of the providers; mainnets included, since whoever signed has allowed them.
class Fleets {
 public:
  explicit Fleets(const std::vector<rpc::Provider>& providers);

  /// The fleet that has the provider, and its place there.
  struct Place {
    Fleet* fleet = nullptr;
    std::optional<std::size_t> own;
  };

  /// Where the provider is; when it is nowhere, the only fleet there is or the one of that chain id, without a place;
  /// when that is nothing either, no fleet.
  Place find(const std::string& provider_id, std::optional<std::uint64_t> chain_id) const;

  std::vector<Fleet*> all() const;

 private:
  std::vector<std::unique_ptr<Fleet>> fleets_;
};

/// A record that says what the reference says.
TransactionRecord record_for(const TransactionReference& reference, const std::optional<ReadTransaction>& read,
                             const Fleets::Place& place, const std::string& region, double unix_now);

/// Throws std::invalid_argument naming the argument, what it was and what it may be.
void check_range(const char* argument, double value, double least, double most);
void check(const TransactionFollowPlan& plan);

}  // namespace rpcroute::transaction
