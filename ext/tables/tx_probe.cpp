// tx_probe: sends probe transactions when it is queried.
//
//   SELECT * FROM tx_probe;                        one, through a random provider, until its receipt
//   SELECT * FROM tx_probe WHERE n = 20 AND seed = 7;
//   SELECT * FROM tx_probe WHERE send = 0;         drawn, numbered and signed, not sent
//
// How it works: one execution of a statement holds one scan of transactions; every cursor of that execution reads the
// same rows. Another set of arguments in the same statement is an error before anything more is sent.
#include <algorithm>
#include <limits>

#include "progress.hpp"
#include "tables/network.hpp"
#include "tables/tables.hpp"
#include "tables/transaction_rows.hpp"

namespace rpcroute::tables {
namespace {

using sqlite::Column;

const std::vector<std::string_view> kArguments{"providers",      "n",
                                               "wait",           "send",
                                               "timeout_sec",    "poll_ms",
                                               "seed",           "signer",
                                               "max_fee_gwei",   "priority_fee_gwei",
                                               "max_spend_gwei", "allow_mainnet"};

/// The one scan of an execution.
struct Sending {
  std::string arguments;
  std::shared_ptr<TransactionRows> rows = std::make_shared<TransactionRows>();
};

std::string fingerprint(const sqlite::Constraints& constraints) {
  std::string key = constraints.fingerprint(kArguments);
  for (const char* column : {"provider_id", "chain"}) {
    key += '/';
    for (const std::string& value : constraints.texts(column).value_or(std::vector<std::string>{"*"})) {
      key += std::to_string(value.size()) + ":" + value;
    }
  }
  return key;
}

transaction::Plan read_plan(const Settings& settings, const sqlite::Constraints& constraints) {
  transaction::Plan plan;
  plan.follow = follow_plan(settings, constraints);
  plan.n = constraints.integer("n", 1, 100000, 1);
  plan.wait = constraints.integer("wait", 0, 1, 1) != 0;
  plan.send = constraints.integer("send", 0, 1, 1) != 0;
  plan.seed = constraints.integer("seed", 0, std::numeric_limits<std::int64_t>::max());
  plan.signer = constraints.text("signer").value_or("auto");
  if (plan.signer.empty()) throw sqlite::Error("signer must be 'auto', 'env:RPCROUTE_KEY', 'file:/path' or 'node'");
  if (plan.signer == "auto") plan.signer.clear();
  plan.max_fee_gwei = constraints.real("max_fee_gwei", 0, 1e9);
  plan.priority_fee_gwei = constraints.real("priority_fee_gwei", 0, 1e9);
  plan.max_spend_gwei =
      constraints.real("max_spend_gwei", 0, transaction::most_spend_gwei).value_or(plan.max_spend_gwei);
  plan.allow_mainnet = constraints.integer("allow_mainnet", 0, 1, 0) != 0;
  plan.forced_providers = constraints.texts("provider_id").value_or(std::vector<std::string>{});
  return plan;
}

void begin(sqlite::Connection& connection, const sqlite::Constraints& constraints, TransactionRows& rows) {
  const Settings settings(connection);
  std::vector<rpc::Provider> candidates = providers(connection, constraints);
  if (const auto chains = constraints.texts("chain")) {
    std::erase_if(candidates, [&](const rpc::Provider& provider) {
      return std::find(chains->begin(), chains->end(), provider.chain) == chains->end();
    });
  }
  const auto progress = std::make_shared<Progress>();
  const auto tell = [progress](const transaction::Progress& now) {
    progress->show("tx_probe: " + std::to_string(now.finished) + " of " + std::to_string(now.n) + " resolved");
  };
  tables::begin(rows, connection, settings, [&](transaction::Desk desk) {
    return transaction::probe(std::move(desk), std::move(candidates), read_plan(settings, constraints), tell);
  });
}

/// signer = 'auto' and send = 0 where the node signs: it does so when it sends, so that nothing can be prepared.
/// Scripts that cannot look at the environment learn from the missing rows that they must let the node send.
bool prepares_nothing(const sqlite::Constraints& constraints) {
  return constraints.text("signer") == "auto" && constraints.integer("send", 0, 1, 1) == 0 &&
         transaction::default_signer() == "node";
}

/// A key constrained to nothing: no rows, nothing sent.
bool asks_nobody(const sqlite::Constraints& constraints) {
  for (const char* column : {"provider_id", "chain"}) {
    if (const auto values = constraints.texts(column); values && values->empty()) return true;
  }
  return false;
}

class TxProbe : public sqlite::Table {
 public:
  const char* name() const override { return "tx_probe"; }
  sqlite::Reach reach() const override { return sqlite::Reach::outside; }
  bool creatable() const override { return true; }
  sqlite::Doc doc() const override {
    return {
        "tx_probe([providers [, n [, wait [, send [, timeout_sec [, poll_ms [, seed [, signer [, max_fee_gwei "
        "[, priority_fee_gwei [, max_spend_gwei [, allow_mainnet]]]]]]]]]]]])",
        "Sends n zero-value transfers from the account to itself, each through a provider drawn at random, and "
        "times them until their receipt; one row for each, whatever became of it. EVM only. It spends gas: never "
        "on a mainnet unless allow_mainnet = 1, never more than max_spend_gwei at worst case.",
        "SELECT provider_id, state, duration_sec FROM tx_probe WHERE n = 3 AND chain = 'devnet'"};
  }
  const std::vector<Column>& columns() const override {
    using Role = Column::Role;
    static const std::vector<Column> columns = transaction_columns(
        {{"providers", "", Role::argument, "as in rpc_probe"},
         {"n", "", Role::argument, "how many, 1..100000; one in flight for each key"},
         {"wait", "", Role::argument, "0: sent, not waited for"},
         {"send", "", Role::argument, "0: drawn, numbered and signed, not sent"},
         {"timeout_sec", "", Role::argument, "from the broadcast to giving up (300)"},
         {"poll_ms", "", Role::argument, "between two looks for a receipt (500)"},
         {"seed", "", Role::argument, "makes the draws reproducible"},
         {"signer", "", Role::argument,
          "'env:RPCROUTE_KEY[,RPCROUTE_KEY_2]', 'file:/path', 'node', or 'auto': env when RPCROUTE_KEY is set, else "
          "node"},
         {"max_fee_gwei", "", Role::argument, "per gas; twice the base fee and the tip unless given"},
         {"priority_fee_gwei", "", Role::argument, "per gas"},
         {"max_spend_gwei", "", Role::argument, "of the whole scan at worst case (10000000)"},
         {"allow_mainnet", "", Role::argument, "1: real money may be spent"}});
    return columns;
  }

  std::unique_ptr<sqlite::Scan> open(sqlite::Connection& connection, sqlite::Execution& execution,
                                     const sqlite::Constraints& constraints) const override {
    if (asks_nobody(constraints) || prepares_nothing(constraints)) {
      const auto none = std::make_shared<TransactionRows>();
      none->begin(nullptr);
      return transaction_scan(connection, none);
    }
    const auto sending = execution.memo<Sending>(name());
    const std::string arguments = fingerprint(constraints);
    if (!sending->rows->begun()) {
      begin(connection, constraints, *sending->rows);
      sending->arguments = arguments;
    } else if (sending->arguments != arguments) {
      throw sqlite::Error("one statement sends with one set of arguments; this one asks for a second");
    }
    return transaction_scan(connection, sending->rows);
  }
};

}  // namespace

const sqlite::Table& tx_probe() {
  static const TxProbe table;
  return table;
}

}  // namespace rpcroute::tables
