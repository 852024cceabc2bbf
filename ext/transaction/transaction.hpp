// Probe transactions: what is asked for, and what became of each. The labels that the models learn.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transaction/nonce/book.hpp"
#include "transaction/conversation/exchange.hpp"
#include "rpc/client.hpp"
#include "rpc/failure.hpp"
#include "rpc/provider.hpp"

namespace rpcroute::transaction {

/// The arguments of tx_probe. Each is checked by TransactionScan's constructor.
struct TransactionPlan {
  std::int64_t n = 1;                         ///< how many transactions, 1..100000
  bool wait = true;                           ///< until the receipt; otherwise until the acknowledgement
  bool send = true;                           ///< false: drawn, numbered and signed only
  double timeout_sec = 300;                   ///< from the broadcast to giving up, 0.1..86400
  double poll_ms = 500;                       ///< between two looks for a receipt at one provider, 10..60000
  rpc::Milliseconds call_timeout{3500};       ///< of one request
  std::optional<std::int64_t> seed;           ///< makes the draws reproducible
  std::string signer;                         ///< see chain::load_keys, or "node"; empty: see default_signer()
  std::optional<double> max_fee_gwei;         ///< empty: see chain::choose_fees
  std::optional<double> priority_fee_gwei;    ///< empty: what the providers suggest
  double max_spend_gwei = 10'000'000;         ///< of the whole scan, at worst case
  bool allow_mainnet = false;                 ///< real money may be spent
  std::vector<std::string> forced_providers;  ///< ids the statement asked for; the others of the chain only watch
};

/// "env:RPCROUTE_KEY" when that variable is set, else "node".
std::string default_signer();

enum class TransactionState { prepared, pending, confirmed, reverted, rejected, timeout };

/// The text that stands in the column `state`.
std::string_view name(TransactionState state);

/// A row of tx_outcomes without its tx_id.
struct TransactionRecord {
  double timestamp = 0;  ///< Unix seconds of the broadcast; of the preparation or refusal when there was none
  std::string provider_id;
  std::string chain;
  std::string region;
  std::optional<std::string> tx_hash;  ///< none for what TransactionScan calls rejected
  std::optional<std::string> raw;      ///< the signed bytes, while the transaction is prepared or pending
  std::optional<std::uint64_t> nonce;  ///< none for what TransactionScan calls rejected: the next one gets it
  std::int64_t overlap = 0;            ///< earlier ones of the account not yet mined at the broadcast
  std::optional<double> propensity;    ///< of the draw; empty when the statement forced it
  TransactionState state = TransactionState::rejected;
  std::optional<int> status;                        ///< of the receipt
  std::optional<double> duration_sec;               ///< broadcast → first receipt anywhere; timeout_sec for a timeout
  std::optional<double> own_receipt_sec;            ///< broadcast → receipt at the provider itself
  std::optional<std::string_view> duration_source;  ///< "receipt", or "block" when no clock of ours was looking
  std::optional<double> submit_ms;                  ///< broadcast → acknowledgement
  std::optional<std::int64_t> submit_head;          ///< height as the other providers saw it at the broadcast
  std::optional<std::int64_t> block_number;
  std::optional<std::int64_t> block_timestamp;  ///< whole seconds
  std::optional<std::int64_t> blocks_waited;    ///< block_number - submit_head; empty when that is negative
  std::optional<std::int64_t> gas_used;
  std::optional<std::int64_t> effective_gas_price;  ///< wei
  std::optional<rpc::ErrorClass> error_class;
  std::string error;  ///< for people; empty when there is none
};

/// How far a scan is, for a progress line.
struct TransactionProgress {
  std::int64_t n = 0;         ///< asked for
  std::int64_t started = 0;   ///< drawn
  std::int64_t finished = 0;  ///< have become a row
};

using TransactionProgressCallback = std::function<void(const TransactionProgress&)>;

/// Sends probe transactions and gives one record for each as it is resolved, n in all, followed by one `rejected`
/// record for each provider that was left out of the draw (wrong_chain, mainnet, config).
///
/// A transaction begins only inside next(), one at a time for each key, after the key's previous record was handed
/// out. Destroying a scan abandons what is in flight; nothing is sent after that. Not thread-safe.
class TransactionScan {
 public:
  /// `candidates` are the enabled providers of the chain the statement names, or of all chains. Those of the plan's
  /// `forced_providers` are drawn from; all are asked for nonces, heads and receipts. Throws std::invalid_argument for
  /// a bad plan, a bad key, or several chains.
  TransactionScan(Transport& transport, std::vector<rpc::Provider> candidates, TransactionPlan plan, std::string region,
                  rpc::Interrupt interrupt, TransactionProgressCallback progress, NonceBook& book);
  ~TransactionScan();
  TransactionScan(const TransactionScan&) = delete;
  TransactionScan& operator=(const TransactionScan&) = delete;

  /// The next record, nullopt after the last. Throws rpc::Interrupted, and std::runtime_error when the chain is one
  /// that cannot be probed (no base fee, transfers above 21000 gas).
  std::optional<TransactionRecord> next();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// A transaction as the argument of tx_send and tx_wait names it.
struct TransactionReference {
  std::string provider_id;
  std::string tx_hash;
  std::string raw;                  ///< signed bytes as hex; may be empty for tx_wait
  std::optional<double> timestamp;  ///< Unix seconds of the broadcast or preparation
};

/// Reads a JSON array of {"provider_id","tx_hash","raw","timestamp"}. Throws std::invalid_argument.
std::vector<TransactionReference> parse_transaction_references(std::string_view json);

/// The arguments that tx_send and tx_wait share.
struct TransactionFollowPlan {
  double timeout_sec = 300;
  double poll_ms = 500;
  rpc::Milliseconds call_timeout{3500};
};

/// Sends prepared transactions, those of one account in the order of their nonces, and gives a record for each once it
/// is acknowledged (`pending`), refused (`rejected`), or could not leave (`prepared`, with the error: it may be sent
/// again until `timeout_sec` after its timestamp). One that some provider knows already is not sent again.
class TransactionSend {
 public:
  /// Throws std::invalid_argument when `raw` is not a probe transfer with that hash.
  TransactionSend(Transport& transport, std::vector<TransactionReference> transactions,
                  std::vector<rpc::Provider> providers, TransactionFollowPlan plan, std::string region,
                  rpc::Interrupt interrupt, NonceBook& book);
  ~TransactionSend();
  TransactionSend(const TransactionSend&) = delete;
  TransactionSend& operator=(const TransactionSend&) = delete;

  std::optional<TransactionRecord> next();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Follows sent transactions to their receipts or their limit, all at once. One that this process sent gets its
/// duration; another process's gets `duration_source` 'block' and a block timestamp. When its time is over and no
/// provider answers, it stays `pending`.
class TransactionWait {
 public:
  TransactionWait(Transport& transport, std::vector<TransactionReference> transactions,
                  std::vector<rpc::Provider> providers, TransactionFollowPlan plan, std::string region,
                  rpc::Interrupt interrupt, NonceBook& book);
  ~TransactionWait();
  TransactionWait(const TransactionWait&) = delete;
  TransactionWait& operator=(const TransactionWait&) = delete;

  std::optional<TransactionRecord> next();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcroute::transaction
