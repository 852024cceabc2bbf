// tx_send and tx_wait are one table in two tempers: each takes transactions and says what became of them.
#pragma once

#include <memory>

#include "tables/network.hpp"
#include "tables/transaction_rows.hpp"

namespace rpcroute::tables {

/// `Following` is transaction::TransactionSend or transaction::TransactionWait.
template <class Following>
class FollowTable : public sqlite::Table {
 public:
  FollowTable(const char* table_name, sqlite::Doc description) : name_(table_name), doc_(description) {}

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
      const auto line = std::make_shared<TransactionLine>();
      const auto following = std::make_shared<Following>(
          line->transport, transactions_argument(constraints), providers(connection, constraints),
          follow_plan(settings, constraints), region(settings), interrupt(connection), nonce_book());
      rows->begin([line, following] { return following->next(); });
    }
    return transaction_scan(connection, rows);
  }

 private:
  const char* name_;
  sqlite::Doc doc_;
};

}  // namespace rpcroute::tables
