// tx_send and tx_wait are one table in two tempers: each takes transactions and says what became of them.
#pragma once

#include <memory>

#include "tables/network.hpp"
#include "tables/transaction_rows.hpp"

namespace rpcroute::tables {

/// Makes the records: transaction::send or transaction::wait.
using Follow = std::unique_ptr<transaction::Records> (*)(transaction::Desk, const std::vector<transaction::Reference>&,
                                                         const std::vector<rpc::Provider>&, transaction::FollowPlan);

class FollowTable : public sqlite::Table {
 public:
  FollowTable(const char* table_name, Follow follow, sqlite::Doc description)
      : name_(table_name), follow_(follow), doc_(description) {}

  const char* name() const override { return name_; }
  sqlite::Reach reach() const override { return sqlite::Reach::outside; }
  bool creatable() const override { return true; }
  sqlite::Doc doc() const override { return doc_; }

  const std::vector<sqlite::Column>& columns() const override {
    using Role = sqlite::Column::Role;
    static const std::vector<sqlite::Column> columns = transaction_columns(
        {{"transactions", "", Role::argument, "JSON array of {\"provider_id\",\"tx_hash\",\"raw\",\"timestamp\"}"},
         {"providers", "", Role::argument, "as in rpc_probe"},
         {"timeout_sec", "", Role::argument, "from the broadcast to giving up (300)"},
         {"poll_ms", "", Role::argument, "between two looks (500)"}});
    return columns;
  }

  std::unique_ptr<sqlite::Scan> open(sqlite::Connection& connection, sqlite::Execution& execution,
                                     const sqlite::Constraints& constraints) const override {
    const auto rows = execution.memo<TransactionRows>(
        name_ + constraints.fingerprint({"transactions", "providers", "timeout_sec", "poll_ms"}));
    if (!rows->begun()) {
      const Settings settings(connection);
      const auto transactions = transactions_argument(constraints);
      const auto candidates = providers(connection, constraints);
      const auto plan = follow_plan(settings, constraints);
      begin(*rows, connection, settings,
            [&](transaction::Desk desk) { return follow_(std::move(desk), transactions, candidates, plan); });
    }
    return transaction_scan(connection, rows);
  }

 private:
  const char* name_;
  Follow follow_;
  sqlite::Doc doc_;
};

}  // namespace rpcroute::tables
