// What tx_probe, tx_send and tx_wait share: the columns of tx_outcomes, and rows that appear as transactions resolve.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sqlite/table.hpp"
#include "tables/network.hpp"
#include "transaction/scan.hpp"

namespace rpcroute::tables {

/// The columns of tx_outcomes without tx_id; `role` is that of provider_id and chain.
std::vector<sqlite::Column<transaction::Record>> transaction_columns(sqlite::Role role);

/// The arguments that follow_plan() reads.
extern const sqlite::Argument timeout_sec_argument;
extern const sqlite::Argument poll_ms_argument;

/// The records of one scan, read from their source one at a time and kept: a second scan of the same execution sees the
/// same rows, and what was sent is not sent again.
class TransactionRows {
 public:
  using Row = sqlite::Numbered<transaction::Record>;

  /// `source` is let go, and with it what it holds of sockets and memory, as soon as it has told its last record or
  /// nobody reads it any more.
  void begin(std::unique_ptr<transaction::Records> source);
  bool begun() const { return begun_; }

  /// The row at `position`, waiting for it if need be; nullptr past the last.
  const Row* at(sqlite::Connection& connection, std::size_t position);

  /// A scan reads them, or does so no more.
  void attach() { ++readers_; }
  void detach() {
    if (--readers_ == 0) source_.reset();
  }

  /// The hashes of those so far that have left.
  std::vector<std::string> sent() const;

 private:
  bool begun_ = false;
  int readers_ = 0;
  std::unique_ptr<transaction::Records> source_;
  std::vector<std::unique_ptr<Row>> rows_;
};

/// A scan over rows that are still arriving.
std::unique_ptr<sqlite::Scan<transaction::Record>> transaction_scan(sqlite::Connection& connection,
                                                                    std::shared_ptr<TransactionRows> rows);

/// Begins rows that `make` makes of a desk: a client of the statement's own, so that a poll beside it does not take its
/// answers; the connection's book of nonces; and the memory of what this process sent, which its connections share.
void begin(TransactionRows& rows, sqlite::Connection& connection, const Settings& settings,
           const std::function<std::unique_ptr<transaction::Records>(transaction::Desk)>& make);

/// The `transactions` argument of tx_send and tx_wait, without those whose provider, or its chain, the statement's terms
/// exclude. Throws sqlite::Error when it is missing or not such an array.
std::vector<transaction::Reference> transactions_argument(const sqlite::Constraints& constraints,
                                                          const std::vector<rpc::Provider>& providers);

/// timeout_sec and poll_ms: the arguments, else the settings tx_timeout_sec and poll_ms, else 300 and 500.
transaction::FollowPlan follow_plan(const Settings& settings, const sqlite::Constraints& constraints);

}  // namespace rpcroute::tables
