// What tx_probe, tx_send and tx_wait share: the columns of tx_outcomes, and rows that appear as transactions resolve.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "transaction/transaction.hpp"
#include "sqlite/table.hpp"
#include "tables/network.hpp"

namespace rpcroute::tables {

/// The columns of tx_outcomes without tx_id, followed by `arguments`.
std::vector<sqlite::Column> transaction_columns(const std::vector<sqlite::Column>& arguments);

/// The records of one scan, read from their source one at a time and kept: a second scan of the same execution sees the
/// same rows, and what was sent is not sent again.
class TransactionRows {
 public:
  using Source = std::function<std::optional<transaction::TransactionRecord>()>;
  using Row = sqlite::Numbered<transaction::TransactionRecord>;

  void begin(Source source) { source_ = std::move(source); }
  bool begun() const { return static_cast<bool>(source_); }

  /// The row at `position`, waiting for it if need be; nullptr past the last.
  const Row* at(sqlite::Connection& connection, std::size_t position);

 private:
  Source source_;
  bool complete_ = false;
  std::vector<std::unique_ptr<Row>> rows_;
};

/// A scan over rows that are still arriving.
std::unique_ptr<sqlite::Scan> transaction_scan(sqlite::Connection& connection, std::shared_ptr<TransactionRows> rows);

/// What one scan asks through: a client of its own, so that a poll beside it in the same statement does not take its
/// answers.
struct TransactionLine {
  rpc::RpcClient client;
  transaction::ClientTransport transport{client};
};

/// The memory of what this process sent, shared by its database connections.
transaction::NonceBook& nonce_book();

/// The `transactions` argument of tx_send and tx_wait. Throws sqlite::Error when it is missing or not such an array.
std::vector<transaction::TransactionReference> transactions_argument(const sqlite::Constraints& constraints);

/// timeout_sec and poll_ms: the arguments, else the settings tx_timeout_sec and poll_ms, else 300 and 500.
transaction::TransactionFollowPlan follow_plan(const Settings& settings, const sqlite::Constraints& constraints);

}  // namespace rpcroute::tables
