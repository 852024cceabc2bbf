#include "tables/transaction_rows.hpp"

#include <algorithm>

namespace rpcroute::tables {
namespace {

using sqlite::Accepts;
using sqlite::column;
using sqlite::Result;
using sqlite::StaticText;
using transaction::Record;

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

class ArrivingScan : public sqlite::Scan<Record> {
 public:
  ArrivingScan(sqlite::Connection& connection, std::shared_ptr<TransactionRows> rows)
      : connection_(connection), rows_(std::move(rows)) {
    rows_->attach();
    try {
      current_ = rows_->at(connection_, 0);
    } catch (...) {
      rows_->detach();
      throw;
    }
  }
  ~ArrivingScan() override { rows_->detach(); }
  ArrivingScan(const ArrivingScan&) = delete;
  ArrivingScan& operator=(const ArrivingScan&) = delete;

  bool at_end() const override { return current_ == nullptr; }
  void next() override { current_ = rows_->at(connection_, ++position_); }
  const Record& row() const override { return current_->row; }
  std::int64_t rowid() const override { return current_->rowid; }

 private:
  sqlite::Connection& connection_;
  std::shared_ptr<TransactionRows> rows_;
  std::size_t position_ = 0;
  const TransactionRows::Row* current_ = nullptr;
};

}  // namespace

std::vector<sqlite::Column<Record>> transaction_columns(sqlite::Role role) {
  return {
      column("timestamp", "REAL", "Unix seconds of the broadcast", &Record::timestamp),
      column("provider_id", "TEXT", "through whom; naming it forces the choice, and propensity is NULL", &Record::provider_id, role),
      column<Record>("chain", "TEXT", "the provider's chain", [](const Record& row) { return or_null(row.chain); }, role),
      column("region", "TEXT", "where the probe ran", &Record::region),
      column("tx_hash", "TEXT", "known before sending when signed here", &Record::tx_hash),
      column("raw", "TEXT", "the signed bytes, until the transaction is resolved", &Record::raw),
      column("nonce", "INTEGER", "how many transactions the sender had made before", &Record::nonce),
      column("overlap", "INTEGER", "earlier ones of the key still pending at the broadcast", &Record::overlap),
      column("propensity", "REAL", "probability with which the provider was drawn", &Record::propensity),
      column<Record>("state", "TEXT", "prepared, pending, confirmed, reverted, rejected (never accepted) or timeout", [](const Record& row) { return StaticText{name(row.state)}; }),
      column("status", "INTEGER", "of the receipt", &Record::status),
      column("duration_sec", "REAL", "broadcast to first sight of the receipt by any provider; a timeout's limit", &Record::duration_sec),
      column("own_receipt_sec", "REAL", "the same through the provider itself", &Record::own_receipt_sec),
      column<Record>("duration_source", "TEXT", "'receipt', or 'block' when resolved by another process or while the reader of the rows paused", [](const Record& row, Result result) { if (row.duration_source) result.set(StaticText{*row.duration_source}); }),
      column("submit_ms", "REAL", "broadcast to acknowledgement", &Record::submit_ms),
      column("submit_head", "INTEGER", "height at the broadcast, as the other providers see it", &Record::submit_head),
      column("block_number", "INTEGER", "where it was included", &Record::block_number),
      column("block_timestamp", "INTEGER", "whole seconds, as the chain says", &Record::block_timestamp),
      column("blocks_waited", "INTEGER", "block_number - submit_head", &Record::blocks_waited),
      column("gas_used", "INTEGER", "of the receipt", &Record::gas_used),
      column("effective_gas_price", "INTEGER", "wei per gas", &Record::effective_gas_price),
      column<Record>("error_class", "TEXT", "those of rpc_probe, and nonce, underpriced, funds, wrong_chain, spend_limit, mainnet, unobserved", [](const Record& row, Result result) { if (row.error_class) result.set(StaticText{rpc::name(*row.error_class)}); }),
      column<Record>("error", "TEXT", "for people, no secrets", [](const Record& row) { return or_null(row.error); }),
      column("preconfirmed_sec", "REAL", "broadcast to the first receipt of a block that was not sealed yet", &Record::preconfirmed_sec),
      column("max_cost_gwei", "REAL", "what it can cost at most: gas limit times fee cap", &Record::max_cost_gwei)};
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

std::vector<std::string> TransactionRows::sent() const {
  std::vector<std::string> hashes;
  for (const auto& row : rows_) {
    const bool has_left =
        row->row.state != transaction::State::prepared && row->row.state != transaction::State::rejected;
    if (has_left && row->row.tx_hash) hashes.push_back(*row->row.tx_hash);
  }
  return hashes;
}

std::unique_ptr<sqlite::Scan<Record>> transaction_scan(sqlite::Connection& connection,
                                                       std::shared_ptr<TransactionRows> rows) {
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

std::vector<transaction::Reference> transactions_argument(const sqlite::Constraints& constraints,
                                                          const std::vector<rpc::Provider>& providers) {
  const auto transactions = constraints.text("transactions");
  if (!transactions) {
    throw sqlite::Error("needs a JSON array of {\"provider_id\",\"tx_hash\",\"raw\",\"timestamp\"} as its argument");
  }
  std::vector<transaction::Reference> references = transaction::parse_references(*transactions);
  std::erase_if(references, [&](const transaction::Reference& reference) {
    const auto provider = std::find_if(providers.begin(), providers.end(), [&](const rpc::Provider& each) {
      return each.provider_id == reference.provider_id;
    });
    const auto chain = provider == providers.end() ? std::nullopt : or_null(provider->chain);
    return !constraints.admits("provider_id", reference.provider_id) || !constraints.admits("chain", chain);
  });
  return references;
}

const sqlite::Argument timeout_sec_argument{"timeout_sec", Accepts::number(0.1, 86400),
                                            "from the broadcast to giving up (300)"};
const sqlite::Argument poll_ms_argument{"poll_ms", Accepts::number(10, 60000), "between two looks for a receipt (500)"};

transaction::FollowPlan follow_plan(const Settings& settings, const sqlite::Constraints& constraints) {
  transaction::FollowPlan plan;
  plan.timeout_sec = constraints.real("timeout_sec")
                         .value_or(static_cast<double>(settings.integer("tx_timeout_sec", 1, 86400, 300)));
  plan.poll_ms = constraints.real("poll_ms").value_or(static_cast<double>(settings.integer("poll_ms", 10, 60000, 500)));
  plan.call_timeout = call_timeout(settings);
  return plan;
}

}  // namespace rpcroute::tables
