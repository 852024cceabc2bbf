// rpc_probe: polls providers when it is queried.
//
//   SELECT * FROM rpc_probe;                                        every enabled provider, all at once
//   SELECT * FROM rpc_probe WHERE provider_id IN ('a', 'b');
//   SELECT * FROM rpc_probe('[{"provider_id":"a","url":"http://127.0.0.1:8545"}]');
//
// How it works: a scan asks for the (provider, method) pairs its constraints leave, and remembers every answer for the
// rest of the execution, so that no plan asks anybody twice with the same arguments.
#include <algorithm>
#include <utility>

#include "chain/height.hpp"
#include "chain/method.hpp"
#include "observe/observe.hpp"
#include "sqlite/query.hpp"
#include "tables/network.hpp"
#include "tables/tables.hpp"
#include "text/json.hpp"

namespace rpcroute::tables {
namespace {

using observe::Observation;
using sqlite::Accepts;
using sqlite::column;
using sqlite::Role;

const std::string kEveryMethod;  // the empty name

/// Answers of one execution to one set of arguments.
struct Polled {
  using Pair = std::pair<std::string, std::string>;  // provider_id, method
  bool prepared = false;
  std::vector<rpc::Provider> providers;
  observe::Round round;
  std::map<Pair, std::vector<std::shared_ptr<const sqlite::Numbered<Observation>>>> answers;
};

/// The `params` argument: one array for every method, or an object keyed by method.
std::map<std::string, std::string> parse_params(const std::string& params) {
  const text::JsonTree tree(params);
  if (!tree.problem().empty()) throw sqlite::Error("params is not JSON: '" + params + "'");
  std::map<std::string, std::string> by_method;
  if (!tree.root().is_object()) by_method[kEveryMethod] = params;
  for (const text::JsonMember& member : tree.root().members()) {
    by_method[std::string(member.name)] = member.value.source();
  }
  return by_method;
}

observe::Round read_round(sqlite::Connection& connection, const sqlite::Constraints& constraints) {
  const Settings settings(connection);
  observe::Round round;
  round.mode = mode(constraints);
  round.samples = static_cast<int>(constraints.integer("samples").value_or(1));
  const auto given = timeout(constraints);
  round.timeout = given ? *given : call_timeout(settings);
  round.ws_timeout = given ? *given : rpc::Milliseconds(settings.integer("ws_timeout_ms", 1, 600000, 4000));
  if (const auto deadline = constraints.integer("deadline_ms")) round.deadline = rpc::Milliseconds(*deadline);
  round.max_response_bytes = max_response_bytes(settings);
  round.region = region(settings);
  if (const auto params = constraints.text("params")) round.params = parse_params(*params);
  return round;
}

/// The methods that the statement names, those of every kind of chain; nullopt when it names none. Throws sqlite::Error
/// for a name that is no method to poll.
std::optional<std::vector<std::string>> named_methods(const sqlite::Constraints& constraints) {
  if (!constraints.restricts("method")) return std::nullopt;
  std::vector<std::string_view> known = chain::read_method_names();
  known.push_back(observe::websocket_method);
  std::erase_if(known, [&](std::string_view method) { return !constraints.admits("method", method); });
  for (const std::string& name : constraints.named("method")) {
    const bool meant = std::any_of(known.begin(), known.end(), [&](std::string_view method) {
      return sqlite::same_name(name.substr(0, name.find_last_not_of(' ') + 1), method);
    });
    if (!meant) throw sqlite::Error("method must be 'ws' or a method that only reads, got '" + name + "'");
  }
  return std::vector<std::string>(known.begin(), known.end());
}

/// The methods to ask this provider for: those named that its kind of chain knows, or its height method.
std::vector<std::string> methods_for(const rpc::Provider& provider,
                                     const std::optional<std::vector<std::string>>& named) {
  if (!named) return {std::string(chain::default_height_method(provider.kind))};
  std::vector<std::string> methods;
  for (const std::string& method : *named) {
    if (method == observe::websocket_method || chain::is_read_method(provider.kind, method)) methods.push_back(method);
  }
  return methods;
}

/// Polls what is wanted and not yet known, all in one round.
void poll(sqlite::Connection& connection, Polled& polled, const std::vector<rpc::Provider>& wanted,
          const std::optional<std::vector<std::string>>& named) {
  std::vector<observe::Target> targets;
  observe::Round round = polled.round;
  const auto common = round.params.find(kEveryMethod);
  for (const rpc::Provider& provider : wanted) {
    std::vector<std::string> methods = methods_for(provider, named);
    std::erase_if(methods, [&](const auto& method) { return polled.answers.contains({provider.provider_id, method}); });
    if (common != round.params.end()) {
      for (const std::string& method : methods) round.params[method] = common->second;
    }
    if (!methods.empty()) targets.push_back({provider, std::move(methods)});
  }
  const auto observations = interruptible(
      connection, [&] { return observe::observe(client(connection), targets, round, interrupt(connection)); });
  for (const Observation& observation : observations) {
    polled.answers[{observation.provider_id, observation.method}].push_back(
        std::make_shared<sqlite::Numbered<Observation>>(connection.next_rowid(), observation));
  }
}

std::vector<sqlite::Column<Observation>> columns() {
  using Row = Observation;
  std::vector<sqlite::Column<Row>> columns{
      column("timestamp", "REAL", "Unix seconds at which the answer, or the failure, was complete", &Row::timestamp),
      column("provider_id", "TEXT", "whom", &Row::provider_id, Role::key),
      column<Row>("chain", "TEXT", "the provider's chain", [](const Row& row) { return or_null(row.chain); }),
      column("region", "TEXT", "where the probe ran: RPCROUTE_REGION, else the setting, else 'local'", &Row::region),
      column("method", "TEXT", "eth_blockNumber or getSlot unless named; 'ws' is WebSocket evidence", &Row::method,
             Role::choice),
      column("sample", "INTEGER", "from 1", &Row::sample),
      column("ok", "INTEGER", "1 when a result of the right type arrived", &Row::ok),
      column("latency_ms", "REAL", "the request's round trip, without set-up", &Row::latency_ms),
      column("setup_ms", "REAL", "DNS, TCP and TLS; 0 on a warm connection", &Row::setup_ms),
      column("total_ms", "REAL", "both: what a caller waits", &Row::total_ms),
      column("first_message_ms", "REAL", "'ws': from sending a subscription to its first message",
             &Row::first_message_ms),
      column("block_number", "INTEGER", "height or slot, where the answer carries one", &Row::block_number),
      column("http_status", "INTEGER", "NULL when no status arrived", &Row::http_status)};
  const auto failures = failure_columns<Row>(
      "config, dns, connect, tls, timeout, http, rate_limited, auth, malformed, too_large or rpc",
      [](const Row& row) -> const auto& { return row.failure; });
  columns.insert(columns.end(), failures.begin(), failures.end());
  columns.push_back(column<Row>("retry_after_sec", "REAL", "how long the provider asked to be left alone",
                                [](const Row& row, sqlite::Result result) {
                                  if (row.failure) result.set(row.failure->retry_after_sec);
                                }));
  columns.push_back(column("response_bytes", "INTEGER", "decompressed size of the answer", &Row::response_bytes));
  columns.push_back(column<Row>("chain_id", "INTEGER", "what eth_chainId answered",
                                [](const Row& row) { return row.identity.chain_id; }));
  columns.push_back(column<Row>("genesis_hash", "TEXT", "what getGenesisHash answered",
                                [](const Row& row) { return or_null(row.identity.genesis_hash); }));
  columns.push_back(column<Row>("block_timestamp", "INTEGER", "of the block that eth_getBlockByNumber answered",
                                [](const Row& row) { return row.identity.block_timestamp; }));
  return columns;
}

std::unique_ptr<sqlite::Scan<Observation>> open(sqlite::Connection& connection, sqlite::Execution& execution,
                                                const sqlite::Constraints& constraints) {
  const auto polled = execution.memo<Polled>(constraints.arguments_fingerprint());
  if (!polled->prepared) {
    polled->round = read_round(connection, constraints);
    polled->providers = providers(connection, constraints);
    polled->prepared = true;
  }
  const auto named = named_methods(constraints);
  const auto wanted = restricted(polled->providers, constraints);
  poll(connection, *polled, wanted, named);

  sqlite::RowsScan<Observation>::Rows rows;
  for (const rpc::Provider& provider : wanted) {
    for (const std::string& method : methods_for(provider, named)) {
      const auto& answers = polled->answers[{provider.provider_id, method}];
      rows.insert(rows.end(), answers.begin(), answers.end());
    }
  }
  return std::make_unique<sqlite::RowsScan<Observation>>(std::move(rows));
}

}  // namespace

const sqlite::Table& rpc_probe() {
  static const sqlite::Table table =
      sqlite::TableOf<Observation>{
          .name = "rpc_probe",
          .reach = sqlite::Reach::outside,
          .doc =
              {"rpc_probe([providers [, mode [, samples [, timeout_ms [, params [, deadline_ms]]]]]])",
               "Polls providers when it is queried: one row for each (provider, method, sample), also for those that "
               "failed. Without providers it asks the enabled rows of rpc_providers, all at once; restrict it with "
               "provider_id and method (= or IN). Every argument also works as a WHERE term with =.",
               "SELECT provider_id, ok, latency_ms, block_number, error_class FROM rpc_probe('[{\"provider_id\":\"a\","
               "\"url\":\"http://127.0.0.1:8545\"}]')"},
          .creatable = true,
          .columns = columns(),
          .arguments = {providers_argument,
                        mode_argument,
                        {"samples", Accepts::whole(1, 1000), "polls of each"},
                        timeout_argument,
                        {"params", Accepts::text(), "JSON array, or an object keyed by method"},
                        {"deadline_ms", Accepts::whole(1, 600000),
                         "for the whole round; the unanswered are 'timeout'"}},
          .open = open}
          .table();
  return table;
}

}  // namespace rpcroute::tables
