// tx_send and tx_wait are one table in two tempers: each takes transactions and says what became of them.
#pragma once

#include <memory>

#include "tables/network.hpp"
#include "tables/transaction_rows.hpp"

namespace rpcroute::tables {

/// Makes the records: transaction::send or transaction::wait.
using Follow = std::unique_ptr<transaction::Records> (*)(transaction::Desk, const std::vector<transaction::Reference>&,
                                                         const std::vector<rpc::Provider>&, transaction::FollowPlan);

/// Declares such a table; what its rows say of a provider has `role`.
inline sqlite::Table follow_table(const char* name, Follow follow, sqlite::Role role, sqlite::Doc doc) {
  const auto open = [follow](sqlite::Connection& connection, sqlite::Execution& execution,
                             const sqlite::Constraints& constraints) {
    const auto rows =
        execution.memo<TransactionRows>(constraints.arguments_fingerprint() + constraints.terms_fingerprint());
    if (!rows->begun()) {
      const Settings settings(connection);
      const auto candidates = providers(connection, constraints);
      const auto transactions = transactions_argument(constraints, candidates);
      const auto plan = follow_plan(settings, constraints);
      begin(*rows, connection, settings,
            [&](transaction::Desk desk) { return follow(std::move(desk), transactions, candidates, plan); });
    }
    return transaction_scan(connection, rows);
  };
  return sqlite::TableOf<transaction::Record>{
      .name = name,
      .reach = sqlite::Reach::outside,
      .doc = doc,
      .creatable = true,
      .columns = transaction_columns(role),
      .arguments = {{"transactions", sqlite::Accepts::text(),
                     "JSON array of {\"provider_id\",\"tx_hash\",\"raw\",\"timestamp\"}"},
                    providers_argument,
                    timeout_sec_argument,
                    poll_ms_argument},
      .open = open}
      .table();
}

}  // namespace rpcroute::tables
