// tx_probe: sends probe transactions when it is queried.
//
//   SELECT * FROM tx_probe;                        one, through a random provider, until its receipt
//   SELECT * FROM tx_probe WHERE n = 20 AND seed = 7;
//   SELECT * FROM tx_probe WHERE send = 0;         drawn, numbered and signed, not sent
//
// How it works: one execution of a statement holds one scan of transactions; every cursor of that execution reads the
// same rows. Terms on provider_id and chain that differ (a join by them) make a scan each, which share max_spend_gwei.
// Another set of arguments in the same statement is an error before anything more is sent.
#include <algorithm>
#include <limits>
#include <map>

#include "progress.hpp"
#include "tables/network.hpp"
#include "tables/tables.hpp"
#include "tables/transaction_rows.hpp"

namespace rpcroute::tables {
namespace {

using sqlite::Accepts;

/// What an execution sends: one set of arguments, and a scan for each choice of providers that its terms make.
struct Sending {
  std::string arguments;
  transaction::Purse purse = transaction::make_purse();
  std::map<std::string, std::shared_ptr<TransactionRows>> scans;  // by the terms

  /// Throws sqlite::Error, which tells what has left already, when the execution began with other arguments.
  void require(const std::string& given) {
    if (scans.empty()) arguments = given;
    if (arguments == given) return;
    std::string sent;
    for (const auto& [terms, rows] : scans) {
      for (const std::string& hash : rows->sent()) sent += (sent.empty() ? "" : ", ") + hash;
    }
    throw sqlite::Error("one statement sends with one set of arguments, and this one asks for a second; " +
                        (sent.empty() ? "nothing was sent" : "sent so far: " + sent));
  }
};

transaction::Plan read_plan(const Settings& settings, const sqlite::Constraints& constraints) {
  transaction::Plan plan;
  plan.follow = follow_plan(settings, constraints);
  plan.n = constraints.integer("n").value_or(1);
  plan.wait = constraints.integer("wait") != 0;
  plan.send = constraints.integer("send") != 0;
  plan.seed = constraints.integer("seed");
  plan.signer = constraints.text("signer").value_or("auto");
  if (plan.signer.empty()) throw sqlite::Error("signer must be 'auto', 'env:RPCROUTE_KEY', 'file:/path' or 'node'");
  if (plan.signer == "auto") plan.signer.clear();
  plan.max_fee_gwei = constraints.real("max_fee_gwei");
  plan.priority_fee_gwei = constraints.real("priority_fee_gwei");
  plan.max_spend_gwei = constraints.real("max_spend_gwei").value_or(plan.max_spend_gwei);
  plan.allow_mainnet = constraints.integer("allow_mainnet") == 1;
  return plan;
}

/// The candidates of the chains that the terms admit, and the ids of those that they force. Both terms at work, a
/// provider is forced by its id alone.
struct Candidates {
  std::vector<rpc::Provider> providers;
  std::vector<std::string> forced;

  Candidates(sqlite::Connection& connection, const sqlite::Constraints& constraints)
      : providers(tables::providers(connection, constraints)) {
    std::erase_if(providers, [&](const rpc::Provider& provider) {
      return !constraints.admits("chain", or_null(provider.chain));
    });
    if (!constraints.restricts("provider_id")) return;
    for (const rpc::Provider& provider : restricted(providers, constraints)) forced.push_back(provider.provider_id);
    if (forced.empty()) providers.clear();
  }
};

void begin(sqlite::Connection& connection, const sqlite::Constraints& constraints, const transaction::Purse& purse,
           TransactionRows& rows) {
  const Settings settings(connection);
  transaction::Plan plan = read_plan(settings, constraints);
  Candidates candidates(connection, constraints);
  const bool is_restricted = constraints.restricts("provider_id") || constraints.restricts("chain");
  if (candidates.providers.empty() && is_restricted) return rows.begin(nullptr);  // nobody: nothing is sent
  plan.forced_providers = std::move(candidates.forced);
  plan.purse = purse;
  const auto progress = std::make_shared<Progress>();
  const auto tell = [progress](const transaction::Progress& now) {
    progress->show("tx_probe: " + std::to_string(now.finished) + " of " + std::to_string(now.n) + " resolved");
  };
  tables::begin(rows, connection, settings, [&](transaction::Desk desk) {
    return transaction::probe(std::move(desk), std::move(candidates.providers), std::move(plan), tell);
  });
}

/// signer = 'auto' and send = 0 where the node signs: it does so when it sends, so that nothing can be prepared.
/// Scripts that cannot look at the environment learn from the missing rows that they must let the node send.
bool prepares_nothing(const sqlite::Constraints& constraints) {
  return constraints.text("signer") == "auto" && constraints.integer("send") == 0 &&
         transaction::default_signer() == "node";
}

std::unique_ptr<sqlite::Scan<transaction::Record>> open(sqlite::Connection& connection, sqlite::Execution& execution,
                                                        const sqlite::Constraints& constraints) {
  const auto sending = execution.memo<Sending>("");
  sending->require(constraints.arguments_fingerprint());
  auto& rows = sending->scans[constraints.terms_fingerprint()];
  if (!rows) rows = std::make_shared<TransactionRows>();
  if (!rows->begun()) {
    if (prepares_nothing(constraints)) {
      rows->begin(nullptr);
    } else {
      begin(connection, constraints, sending->purse, *rows);
    }
  }
  return transaction_scan(connection, rows);
}

}  // namespace

const sqlite::Table& tx_probe() {
  static const sqlite::Table table =
      sqlite::TableOf<transaction::Record>{
          .name = "tx_probe",
          .reach = sqlite::Reach::outside,
          .doc =
              {"tx_probe([providers [, n [, wait [, send [, timeout_sec [, poll_ms [, seed [, signer [, max_fee_gwei "
               "[, priority_fee_gwei [, max_spend_gwei [, allow_mainnet]]]]]]]]]]]])",
               "Sends n zero-value transfers from the account to itself, each through a provider drawn at random, and "
               "times them until their receipt; one row for each, whatever became of it. EVM only. It spends gas: "
               "never on a mainnet unless allow_mainnet = 1, never more than max_spend_gwei at worst case. Terms on "
               "provider_id and chain (= or IN) choose whom; a join by them sends n through each.",
               "SELECT provider_id, state, duration_sec FROM tx_probe WHERE n = 3 AND chain = 'devnet'"},
          .creatable = true,
          .columns = transaction_columns(sqlite::Role::addressee),
          .arguments =
              {providers_argument,
               {"n", Accepts::whole(1, 100000), "how many; one in flight for each key"},
               {"wait", Accepts::whole(0, 1), "0: sent, not waited for"},
               {"send", Accepts::whole(0, 1), "0: drawn, numbered and signed, not sent"},
               timeout_sec_argument,
               poll_ms_argument,
               {"seed", Accepts::whole(0, std::numeric_limits<std::int64_t>::max()), "makes the draws reproducible"},
               {"signer", Accepts::text(),
                "'env:RPCROUTE_KEY[,RPCROUTE_KEY_2]', 'file:/path', 'node', or 'auto': env when RPCROUTE_KEY is set, "
                "else node"},
               {"max_fee_gwei", Accepts::number(0, 1e9), "per gas; twice the base fee and the tip unless given"},
               {"priority_fee_gwei", Accepts::number(0, 1e9), "per gas"},
               {"max_spend_gwei", Accepts::number(0, transaction::most_spend_gwei),
                "of the whole statement at worst case (10000000)"},
               {"allow_mainnet", Accepts::whole(0, 1), "1: real money may be spent"}},
          .open = open}
          .table();
  return table;
}

}  // namespace rpcroute::tables
