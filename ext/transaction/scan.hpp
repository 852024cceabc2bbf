// Probe transactions: what is asked for, and the records of what became of each.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rpc/client.hpp"
#include "rpc/provider.hpp"
#include "transaction/conversation/wire.hpp"
#include "transaction/life/broadcasts.hpp"
#include "transaction/life/life.hpp"
#include "transaction/nonce/book.hpp"
#include "transaction/record.hpp"
#include "transaction/reference.hpp"

namespace rpcroute::transaction {

/// The bounds of Plan::max_spend_gwei: a million ether.
inline constexpr double most_spend_gwei = 1e15;

/// What the scans of one statement may have to pay at worst case, in wei: all of them keep within max_spend_gwei.
using Purse = std::shared_ptr<long double>;
inline Purse make_purse() {
  return std::make_shared<long double>(0);
}

/// The arguments of tx_probe. probe() checks each.
struct Plan {
  std::int64_t n = 1;                         ///< how many transactions, 1..100000
  bool wait = true;                           ///< until the receipt; otherwise until the acknowledgement
  bool send = true;                           ///< false: drawn, numbered and signed only
  FollowPlan follow;                          ///< how long and how often each is looked for
  std::optional<std::int64_t> seed;           ///< makes the draws reproducible
  std::string signer;                         ///< see chain::load_keys, or "node"; empty: see default_signer()
  std::optional<double> max_fee_gwei;         ///< empty: see chain::choose_fees
  std::optional<double> priority_fee_gwei;    ///< empty: what the providers suggest
  double max_spend_gwei = 10'000'000;         ///< of all that is in the purse, at worst case, 0..most_spend_gwei
  Purse purse = make_purse();
  bool allow_mainnet = false;                 ///< real money may be spent
  std::vector<std::string> forced_providers;  ///< ids the statement asked for; the others of the chain only watch
};

/// "env:RPCROUTE_KEY" when that variable is set, else "node".
std::string default_signer();

/// How far a scan is, for a progress line.
struct Progress {
  std::int64_t n = 0;         ///< asked for
  std::int64_t started = 0;   ///< drawn
  std::int64_t finished = 0;  ///< have become a row
};

using ProgressCallback = std::function<void(const Progress&)>;

/// What the transactions of a statement are handed to and written down in. Borrowed.
struct Desk {
  Wire& wire;
  const NonceBook& book;
  Broadcasts& broadcasts;
  std::string region;
  rpc::Interrupt interrupt;
};

/// Records as they are resolved. Destroying it abandons what is in flight; nothing is sent after that. Not thread-safe.
class Records {
 public:
  Records() = default;
  virtual ~Records() = default;
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;

  /// The next record, nullopt after the last. Throws rpc::Interrupted, and std::runtime_error when the chain is one
  /// that cannot be probed (no base fee, transfers above 21000 gas), which is told before anything is sent.
  virtual std::optional<Record> next() = 0;
};

/// Sends probe transactions and gives one record for each as it is resolved, n in all, followed by one `rejected`
/// record for each provider that was left out of the draw (wrong_chain, mainnet, config).
///
/// A transaction begins only inside next(), one at a time for each key, after the key's previous record was handed out.
/// `candidates` are the enabled providers of the chain the statement names, or of all chains. Those of the plan's
/// `forced_providers` are drawn from; all are asked for nonces, heads and receipts. Throws std::invalid_argument for a
/// bad plan, a bad key, or several chains.
std::unique_ptr<Records> probe(Desk desk, std::vector<rpc::Provider> candidates, Plan plan, ProgressCallback progress);

/// Sends prepared transactions, those of one account in the order of their nonces, and gives a record for each once it
/// is acknowledged (`pending`), refused (`rejected`), lost on its way (`timeout`), or could not leave (`prepared`, with
/// the error: it may be sent again until `timeout_sec` after its timestamp). One that some provider knows already is
/// not sent again. Throws std::invalid_argument when a `raw` is not a probe transfer with that hash.
std::unique_ptr<Records> send(Desk desk, const std::vector<Reference>& transactions,
                              const std::vector<rpc::Provider>& providers, FollowPlan plan);

/// Follows sent transactions to their receipts or their limit, all at once. One that this process sent gets its
/// duration; another process's gets `duration_source` 'block' and a block timestamp. When its time is over and no
/// provider answers, it stays `pending`.
std::unique_ptr<Records> wait(Desk desk, const std::vector<Reference>& transactions,
                              const std::vector<rpc::Provider>& providers, FollowPlan plan);

}  // namespace rpcroute::transaction
