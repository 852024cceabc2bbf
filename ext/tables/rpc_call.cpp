// rpc_call(method, params): any read method, on every provider at once.
//
//   SELECT provider_id, result FROM rpc_call('eth_getBalance', '["0x…", "latest"]');
#include <algorithm>

#include "chain/height.hpp"
#include "observe/ask.hpp"
#include "rpc/canonical.hpp"
#include "rpc/json.hpp"
#include "tables/network.hpp"
#include "tables/tables.hpp"

namespace rpcroute::tables {
namespace {

using sqlite::Column;

const std::vector<std::string_view> kArguments{"method", "params", "providers", "mode", "timeout_ms"};

struct Reply {
  rpc::Provider provider;
  rpc::Answer answer;
  std::string digest;  ///< of the canonical result; empty when there is none
};

using Row = sqlite::Numbered<Reply>;

/// What one execution has asked with one set of arguments.
struct Asked {
  bool prepared = false;
  std::vector<rpc::Provider> providers;
  observe::Question question;
  std::map<std::string, std::shared_ptr<const Row>> replies;  // by provider_id
};

std::string method_argument(const sqlite::Constraints& constraints) {
  const auto method = constraints.text("method");
  if (!method) throw sqlite::Error("needs a method: rpc_call('eth_chainId')");
  if (!chain::is_read_method(*method)) {
    throw sqlite::Error("method must be one that only reads, got '" + *method + "'");
  }
  return *method;
}

observe::Question read_question(sqlite::Connection& connection, const sqlite::Constraints& constraints) {
  const Settings settings(connection);
  observe::Question question;
  question.method = method_argument(constraints);
  if (const auto params = constraints.text("params")) {
    if (rpc::json_problem(*params) || params->find_first_not_of(" \t\r\n") != params->find('[')) {
      throw sqlite::Error("params must be a JSON array, got '" + *params + "'");
    }
    question.params = *params;
  }
  question.mode = mode_argument(constraints);
  const auto timeout = timeout_argument(constraints);
  question.timeout = timeout ? *timeout : call_timeout(settings);
  question.max_response_bytes = max_response_bytes(settings);
  return question;
}

/// Asks those of `wanted` who know the method and were not asked before.
void ask(sqlite::Connection& connection, Asked& asked, const std::vector<rpc::Provider>& wanted) {
  std::vector<rpc::Provider> unasked;
  for (const rpc::Provider& provider : wanted) {
    if (!asked.replies.contains(provider.provider_id)) unasked.push_back(provider);
  }
  std::vector<rpc::Answer> answers = interruptible(
      connection, [&] { return observe::ask(client(connection), unasked, asked.question, interrupt(connection)); });
  for (std::size_t i = 0; i < unasked.size(); ++i) {
    Reply reply{unasked[i], std::move(answers[i]), {}};
    if (!reply.answer.failure) reply.digest = rpc::canonical_digest(reply.answer.result, asked.question.method);
    asked.replies[unasked[i].provider_id] = std::make_shared<Row>(connection.next_rowid(), std::move(reply));
  }
}

void show(const Reply& row, int column, sqlite::Result result) {
  const auto& failure = row.answer.failure;
  switch (column) {
    case 0:
      return result.set(row.provider.provider_id);
    case 1:
      return row.provider.chain.empty() ? result.set_null() : result.set(row.provider.chain);
    case 2:
      return result.set(row.answer.timestamp);
    case 3:
      return result.set(!failure);
    case 4:
      return failure ? result.set_null() : result.set(row.answer.result);
    case 5:
      return failure ? result.set_null() : result.set(row.digest);
    case 6:
      return result.set(row.answer.error_code);
    case 7:
      return failure ? result.set(name(failure->error_class)) : result.set_null();
    case 8:
      return failure && !failure->kind.empty() ? result.set(failure->kind) : result.set_null();
    case 9:
      return failure ? result.set(failure->message) : result.set_null();
    case 10:
      return result.set(row.answer.latency_ms);
    case 11:
      return row.answer.http_status ? result.set(static_cast<std::int64_t>(*row.answer.http_status))
                                    : result.set_null();
  }
}

class RpcCall : public sqlite::Table {
 public:
  const char* name() const override { return "rpc_call"; }
  sqlite::Reach reach() const override { return sqlite::Reach::outside; }
  bool creatable() const override { return true; }
  sqlite::Doc doc() const override {
    return {"rpc_call(method [, params [, providers [, mode [, timeout_ms]]]])",
            "Calls a method that only reads on every provider of the kind of chain that has it: one row for each, also "
            "for those that failed. digest is equal where answers mean the same.",
            "SELECT provider_id, ok, result, digest FROM rpc_call('eth_chainId')"};
  }
  const std::vector<Column>& columns() const override {
    using Role = Column::Role;
    static const std::vector<Column> columns{
        {"provider_id", "TEXT", Role::key, "whom"},
        {"chain", "TEXT", Role::plain, "the provider's chain"},
        {"timestamp", "REAL", Role::plain, "Unix seconds at which the answer, or the failure, was complete"},
        {"ok", "INTEGER", Role::plain, "1 when a result arrived"},
        {"result", "TEXT", Role::plain, "JSON as the provider sent it"},
        {"digest", "TEXT", Role::plain, "rpc_digest() of the result"},
        {"error_code", "INTEGER", Role::plain, "of a JSON-RPC error object"},
        {"error_class", "TEXT", Role::plain, "as in rpc_probe"},
        {"error_kind", "TEXT", Role::plain, "refines the class"},
        {"error", "TEXT", Role::plain, "the provider's words, at most 200 characters, no secrets"},
        {"latency_ms", "REAL", Role::plain, "the request's round trip, without set-up"},
        {"http_status", "INTEGER", Role::plain, "NULL when no status arrived"},
        {"method", "", Role::argument, "a method that only reads"},
        {"params", "", Role::argument, "JSON array; the method's usual ones unless given"},
        {"providers", "", Role::argument, "as in rpc_probe"},
        {"mode", "", Role::argument, "'parallel' or 'sequential'"},
        {"timeout_ms", "", Role::argument, "for each request, 1..600000"}};
    return columns;
  }

  std::unique_ptr<sqlite::Scan> open(sqlite::Connection& connection, sqlite::Execution& execution,
                                     const sqlite::Constraints& constraints) const override {
    const auto asked = execution.memo<Asked>(constraints.fingerprint(kArguments));
    if (!asked->prepared) {
      asked->question = read_question(connection, constraints);
      asked->providers = providers(connection, constraints);
      std::erase_if(asked->providers, [&](const rpc::Provider& provider) {
        return !chain::is_read_method(provider.kind, asked->question.method);
      });
      asked->prepared = true;
    }
    const auto wanted = restricted(asked->providers, constraints.texts("provider_id"));
    ask(connection, *asked, wanted);
    sqlite::RowsScan<Reply>::Rows rows;
    for (const rpc::Provider& provider : wanted) rows.push_back(asked->replies[provider.provider_id]);
    return std::make_unique<sqlite::RowsScan<Reply>>(std::move(rows), show);
  }
};

}  // namespace

const sqlite::Table& rpc_call() {
  static const RpcCall table;
  return table;
}

}  // namespace rpcroute::tables
