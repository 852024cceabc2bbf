// rpc_probe: polls providers when it is queried.
//
//   SELECT * FROM rpc_probe;                                        every enabled provider, all at once
//   SELECT * FROM rpc_probe WHERE provider_id IN ('a', 'b');
//   SELECT * FROM rpc_probe('[{"provider_id":"a","url":"http://127.0.0.1:8545"}]');
//
// How it works: a scan asks for the (provider, method) pairs its constraints leave, and remembers every answer for the
// rest of the execution, so that no plan asks anybody twice with the same arguments.
#include <utility>

#include "chain/height.hpp"
#include "observe/observe.hpp"
#include "rpc/json.hpp"
#include "tables/network.hpp"
#include "tables/tables.hpp"

namespace rpcroute::tables {
namespace {

using observe::Observation;
using sqlite::Column;

const std::vector<std::string_view> kArguments{"providers", "mode", "samples", "timeout_ms", "params", "deadline_ms"};

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
  if (rpc::json_problem(params)) throw sqlite::Error("params is not JSON: '" + params + "'");
  std::map<std::string, std::string> by_method;
  if (params.find_first_not_of(" \t\r\n") != std::string::npos && params[params.find_first_not_of(" \t\r\n")] == '{') {
    for (const rpc::JsonMember& member : rpc::json_members(params)) by_method[member.name] = member.value;
  } else {
    by_method[kEveryMethod] = params;
  }
  return by_method;
}

observe::Round read_round(sqlite::Connection& connection, const sqlite::Constraints& constraints) {
  const Settings settings(connection);
  observe::Round round;
  round.mode = mode_argument(constraints);
  round.samples = static_cast<int>(constraints.integer("samples", 1, 1000, 1));
  const auto timeout = timeout_argument(constraints);
  round.timeout = timeout ? *timeout : call_timeout(settings);
  round.ws_timeout = timeout ? *timeout : rpc::Milliseconds(settings.integer("ws_timeout_ms", 1, 600000, 4000));
  if (const auto deadline = constraints.integer("deadline_ms", 1, 600000))
    round.deadline = rpc::Milliseconds(*deadline);
  round.max_response_bytes = max_response_bytes(settings);
  round.region = region(settings);
  if (const auto params = constraints.text("params")) round.params = parse_params(*params);
  return round;
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

void check_methods(const std::vector<std::string>& methods) {
  for (const std::string& method : methods) {
    if (method != observe::websocket_method && !chain::is_read_method(method)) {
      throw sqlite::Error("method must be 'ws' or a method that only reads, got '" + method + "'");
    }
  }
}

/// Polls what is wanted and not yet known. Providers that lack the same methods are asked in one round; that is all of
/// them, unless the statement has asked some before.
void poll(sqlite::Connection& connection, Polled& polled, const std::vector<rpc::Provider>& wanted,
          const std::optional<std::vector<std::string>>& named) {
  std::map<std::vector<std::string>, std::vector<rpc::Provider>> rounds;
  for (const rpc::Provider& provider : wanted) {
    std::vector<std::string> methods = methods_for(provider, named);
    std::erase_if(methods, [&](const auto& method) { return polled.answers.contains({provider.provider_id, method}); });
    if (!methods.empty()) rounds[std::move(methods)].push_back(provider);
  }
  for (const auto& entry : rounds) {  // by name: clang 14 lets no lambda capture a structured binding
    const std::vector<std::string>& methods = entry.first;
    const std::vector<rpc::Provider>& providers = entry.second;
    observe::Round round = polled.round;
    if (const auto common = round.params.find(kEveryMethod); common != round.params.end()) {
      for (const std::string& method : methods) round.params[method] = common->second;
    }
    const auto observations = interruptible(connection, [&] {
      return observe::observe(client(connection), providers, methods, round, interrupt(connection));
    });
    for (const Observation& observation : observations) {
      polled.answers[{observation.provider_id, observation.method}].push_back(
          std::make_shared<sqlite::Numbered<Observation>>(connection.next_rowid(), observation));
    }
  }
}

void show(const Observation& row, int column, sqlite::Result result) {
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
      return result.set(row.method);
    case 5:
      return result.set(row.sample);
    case 6:
      return result.set(row.ok);
    case 7:
      return result.set(row.latency_ms);
    case 8:
      return result.set(row.setup_ms);
    case 9:
      return result.set(row.total_ms);
    case 10:
      return result.set(row.first_message_ms);
    case 11:
      return result.set(row.block_number);
    case 12:
      return row.http_status ? result.set(static_cast<std::int64_t>(*row.http_status)) : result.set_null();
    case 13:
      return row.failure ? result.set(name(row.failure->error_class)) : result.set_null();
    case 14:
      return row.failure && !row.failure->kind.empty() ? result.set(row.failure->kind) : result.set_null();
    case 15:
      return row.failure ? result.set(row.failure->message) : result.set_null();
    case 16:
      return row.failure ? result.set(row.failure->retry_after_sec) : result.set_null();
    case 17:
      return result.set(row.response_bytes);
  }
}

class RpcProbe : public sqlite::Table {
 public:
  const char* name() const override { return "rpc_probe"; }
  sqlite::Reach reach() const override { return sqlite::Reach::outside; }
  bool creatable() const override { return true; }
  sqlite::Doc doc() const override {
    return {"rpc_probe([providers [, mode [, samples [, timeout_ms [, params [, deadline_ms]]]]]])",
            "Polls providers when it is queried: one row for each (provider, method, sample), also for those that "
            "failed. Without providers it asks the enabled rows of rpc_providers, all at once; restrict it with "
            "provider_id and method (= or IN). Every argument also works as a WHERE term.",
            "SELECT provider_id, ok, latency_ms, block_number, error_class FROM rpc_probe('[{\"provider_id\":\"a\","
            "\"url\":\"http://127.0.0.1:8545\"}]')"};
  }
  const std::vector<Column>& columns() const override {
    using Role = Column::Role;
    static const std::vector<Column> columns{
        {"timestamp", "REAL", Role::plain, "Unix seconds at which the answer, or the failure, was complete"},
        {"provider_id", "TEXT", Role::key, "whom"},
        {"chain", "TEXT", Role::plain, "the provider's chain"},
        {"region", "TEXT", Role::plain, "where the probe ran: RPCROUTE_REGION, else the setting, else 'local'"},
        {"method", "TEXT", Role::key, "eth_blockNumber or getSlot unless named; 'ws' is WebSocket evidence"},
        {"sample", "INTEGER", Role::plain, "from 1"},
        {"ok", "INTEGER", Role::plain, "1 when a result of the right type arrived"},
        {"latency_ms", "REAL", Role::plain, "the request's round trip, without set-up"},
        {"setup_ms", "REAL", Role::plain, "DNS, TCP and TLS; 0 on a warm connection"},
        {"total_ms", "REAL", Role::plain, "both: what a caller waits"},
        {"first_message_ms", "REAL", Role::plain, "'ws': from sending a subscription to its first message"},
        {"block_number", "INTEGER", Role::plain, "height or slot, where the answer carries one"},
        {"http_status", "INTEGER", Role::plain, "NULL when no status arrived"},
        {"error_class", "TEXT", Role::plain,
         "config, dns, connect, tls, timeout, http, rate_limited, auth, malformed, too_large or rpc"},
        {"error_kind", "TEXT", Role::plain, "refines the class"},
        {"error", "TEXT", Role::plain, "the provider's words, at most 200 characters, no secrets"},
        {"retry_after_sec", "REAL", Role::plain, "how long the provider asked to be left alone"},
        {"response_bytes", "INTEGER", Role::plain, "decompressed size of the answer"},
        {"providers", "", Role::argument,
         "JSON array of objects with the columns of rpc_providers, and kind, chain_id"},
        {"mode", "", Role::argument, "'parallel' or 'sequential'"},
        {"samples", "", Role::argument, "polls of each, 1..1000"},
        {"timeout_ms", "", Role::argument, "for each request, 1..600000"},
        {"params", "", Role::argument, "JSON array, or an object keyed by method"},
        {"deadline_ms", "", Role::argument, "for the whole round; the unanswered are 'timeout'"}};
    return columns;
  }

  std::unique_ptr<sqlite::Scan> open(sqlite::Connection& connection, sqlite::Execution& execution,
                                     const sqlite::Constraints& constraints) const override {
    const auto polled = execution.memo<Polled>(constraints.fingerprint(kArguments));
    if (!polled->prepared) {
      polled->round = read_round(connection, constraints);
      polled->providers = providers(connection, constraints);
      polled->prepared = true;
    }
    const auto named = constraints.texts("method");
    if (named) check_methods(*named);
    const auto wanted = restricted(polled->providers, constraints.texts("provider_id"));
    poll(connection, *polled, wanted, named);

    sqlite::RowsScan<Observation>::Rows rows;
    for (const rpc::Provider& provider : wanted) {
      for (const std::string& method : methods_for(provider, named)) {
        const auto& answers = polled->answers[{provider.provider_id, method}];
        rows.insert(rows.end(), answers.begin(), answers.end());
      }
    }
    return std::make_unique<sqlite::RowsScan<Observation>>(std::move(rows), show);
  }
};

}  // namespace

const sqlite::Table& rpc_probe() {
  static const RpcProbe table;
  return table;
}

}  // namespace rpcroute::tables
