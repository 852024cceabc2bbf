#include "tables/transaction_rows.hpp"

namespace rpcroute::tables {
namespace {

using sqlite::Column;
using transaction::Record;

void set_integer(sqlite::Result result, const std::optional<std::uint64_t>& value) {
  if (value) result.set(static_cast<std::int64_t>(*value));
}

void show(const Record& row, int column, sqlite::Result result) {
  switch (column) {
    case 0:
      return result.set(row.timestamp);
    case 1:
      return result.set(row.provider_id);
    case 2:
      return row.chain.empty() ? result.set_null() : result.set(row.chain);
    case 3:
      return result.set(row.region);
    case 4:
      return result.set(row.tx_hash);
    case 5:
      return result.set(row.raw);
    case 6:
      return set_integer(result, row.nonce);
    case 7:
      return result.set(row.overlap);
    case 8:
      return result.set(row.propensity);
    case 9:
      return result.set(name(row.state));
    case 10:
      return result.set(row.status);
    case 11:
      return result.set(row.duration_sec);
    case 12:
      return result.set(row.own_receipt_sec);
    case 13:
      return result.set(row.duration_source);
    case 14:
      return result.set(row.submit_ms);
    case 15:
      return result.set(row.submit_head);
    case 16:
      return result.set(row.block_number);
    case 17:
      return result.set(row.block_timestamp);
    case 18:
      return result.set(row.blocks_waited);
    case 19:
      return result.set(row.gas_used);
    case 20:
      return result.set(row.effective_gas_price);
    case 21:
      return row.error_class ? result.set(rpc::name(*row.error_class)) : result.set_null();
    case 22:
      return row.error.empty() ? result.set_null() : result.set(row.error);
    case 23:
      return result.set(row.preconfirmed_sec);
    case 24:
      return result.set(row.max_cost_gwei);
  }
}

struct Line {
  rpc::RpcClient client;
  transaction::ClientWire wire{client};
};

/// Records that own what they ask through.
class OwnLine final : public transaction::Records {
 public:
  OwnLine(std::unique_ptr<Line> line, std::unique_ptr<transaction::Records> records)
      : line_(std::move(line)), records_(std::move(records)) {}

  std::optional<Record> next() override { return records_->next(); }

 private:
  std::unique_ptr<Line> line_;
  std::unique_ptr<transaction::Records> records_;
};

class ArrivingScan : public sqlite::Scan {
 public:
  ArrivingScan(sqlite::Connection& connection, std::shared_ptr<TransactionRows> rows)
      : connection_(connection), rows_(std::move(rows)), row_(rows_->at(connection_, 0)) {}

  bool at_end() const override { return row_ == nullptr; }
  void next() override { row_ = rows_->at(connection_, ++position_); }
  void column(int index, sqlite::Result result) const override { show(row_->row, index, result); }
  std::int64_t rowid() const override { return row_->rowid; }

 private:
  sqlite::Connection& connection_;
  std::shared_ptr<TransactionRows> rows_;
  std::size_t position_ = 0;
  const TransactionRows::Row* row_;
};

}  // namespace

std::vector<Column> transaction_columns(const std::vector<Column>& arguments) {
  using Role = Column::Role;
  std::vector<Column> columns{
      {"timestamp", "REAL", Role::plain, "Unix seconds of the broadcast"},
      {"provider_id", "TEXT", Role::key, "through whom; naming it forces the choice, and propensity is NULL"},
      {"chain", "TEXT", Role::key, "the provider's chain"},
      {"region", "TEXT", Role::plain, "where the probe ran"},
      {"tx_hash", "TEXT", Role::plain, "known before sending when signed here"},
      {"raw", "TEXT", Role::plain, "the signed bytes, until the transaction is resolved"},
      {"nonce", "INTEGER", Role::plain, "how many transactions the sender had made before"},
      {"overlap", "INTEGER", Role::plain, "earlier ones of the key still pending at the broadcast"},
      {"propensity", "REAL", Role::plain, "probability with which the provider was drawn"},
      {"state", "TEXT", Role::plain, "prepared, pending, confirmed, reverted, rejected (never accepted) or timeout"},
      {"status", "INTEGER", Role::plain, "of the receipt"},
      {"duration_sec", "REAL", Role::plain,
       "broadcast to first sight of the receipt by any provider; a timeout's limit"},
      {"own_receipt_sec", "REAL", Role::plain, "the same through the provider itself"},
      {"duration_source", "TEXT", Role::plain,
       "'receipt', or 'block' when resolved by another process or while the reader of the rows paused"},
      {"submit_ms", "REAL", Role::plain, "broadcast to acknowledgement"},
      {"submit_head", "INTEGER", Role::plain, "height at the broadcast, as the other providers see it"},
      {"block_number", "INTEGER", Role::plain, "where it was included"},
      {"block_timestamp", "INTEGER", Role::plain, "whole seconds, as the chain says"},
      {"blocks_waited", "INTEGER", Role::plain, "block_number - submit_head"},
      {"gas_used", "INTEGER", Role::plain, "of the receipt"},
      {"effective_gas_price", "INTEGER", Role::plain, "wei per gas"},
      {"error_class", "TEXT", Role::plain,
       "those of rpc_probe, and nonce, underpriced, funds, wrong_chain, spend_limit, mainnet, unobserved"},
      {"error", "TEXT", Role::plain, "for people, no secrets"},
      {"preconfirmed_sec", "REAL", Role::plain, "broadcast to the first receipt of a block that was not sealed yet"},
      {"max_cost_gwei", "REAL", Role::plain, "what it can cost at most: gas limit times fee cap"}};
  columns.insert(columns.end(), arguments.begin(), arguments.end());
  return columns;
}

void TransactionRows::begin(std::unique_ptr<transaction::Records> source) {
  begun_ = true;
  source_ = std::move(source);
}

const TransactionRows::Row* TransactionRows::at(sqlite::Connection& connection, std::size_t position) {
  while (rows_.size() <= position && source_) {
    try {
      auto record = source_->next();
      if (record) {
        rows_.push_back(std::make_unique<Row>(connection.next_rowid(), std::move(*record)));
      } else {
        source_.reset();
      }
    } catch (const rpc::Interrupted&) {
      throw sqlite::Interruption{};
    }
  }
  return position < rows_.size() ? rows_[position].get() : nullptr;
}

std::unique_ptr<sqlite::Scan> transaction_scan(sqlite::Connection& connection, std::shared_ptr<TransactionRows> rows) {
  return std::make_unique<ArrivingScan>(connection, std::move(rows));
}

void begin(TransactionRows& rows, sqlite::Connection& connection, const Settings& settings,
           const std::function<std::unique_ptr<transaction::Records>(transaction::Desk)>& make) {
  static transaction::Broadcasts broadcasts;
  auto line = std::make_unique<Line>();
  transaction::Desk desk{line->wire, connection.service<transaction::NonceBook>(), broadcasts, region(settings),
                         interrupt(connection)};
  auto records = make(std::move(desk));
  rows.begin(std::make_unique<OwnLine>(std::move(line), std::move(records)));
}

std::vector<transaction::Reference> transactions_argument(const sqlite::Constraints& constraints) {
  const auto transactions = constraints.text("transactions");
  if (!transactions) {
    throw sqlite::Error("needs a JSON array of {\"provider_id\",\"tx_hash\",\"raw\",\"timestamp\"} as its argument");
  }
  return transaction::parse_references(*transactions);
}

transaction::FollowPlan follow_plan(const Settings& settings, const sqlite::Constraints& constraints) {
  transaction::FollowPlan plan;
  plan.timeout_sec = constraints.real("timeout_sec", 0.1, 86400)
                         .value_or(static_cast<double>(settings.integer("tx_timeout_sec", 1, 86400, 300)));
  plan.poll_ms =
      constraints.real("poll_ms", 10, 60000).value_or(static_cast<double>(settings.integer("poll_ms", 10, 60000, 500)));
  plan.call_timeout = call_timeout(settings);
  return plan;
}

}  // namespace rpcroute::tables
