// rpc_call(method, params): any read method, on every provider at once.
//
//   SELECT provider_id, result FROM rpc_call('eth_getBalance', '["0x…", "latest"]');
#include <algorithm>

#include "chain/height.hpp"
#include "observe/ask.hpp"
#include "rpc/canonical.hpp"
#include "tables/network.hpp"
#include "tables/tables.hpp"
#include "text/json.hpp"

namespace rpcroute::tables {
namespace {

using sqlite::Accepts;
using sqlite::column;

struct Reply {
  rpc::Provider provider;
  rpc::Answer answer;
  std::string digest;  ///< of the canonical result; empty when there is none
};

/// What one execution has asked with one set of arguments.
struct Asked {
  bool prepared = false;
  std::vector<rpc::Provider> providers;
  observe::Question question;
  std::map<std::string, std::shared_ptr<const sqlite::Numbered<Reply>>> replies;  // by provider_id
};

std::string method(const sqlite::Constraints& constraints) {
  const auto given = constraints.text("method");
  if (!given) throw sqlite::Error("needs a method: rpc_call('eth_chainId')");
  if (!chain::is_read_method(*given)) {
    throw sqlite::Error("method must be one that only reads, got '" + *given + "'");
  }
  return *given;
}

observe::Question read_question(sqlite::Connection& connection, const sqlite::Constraints& constraints) {
  const Settings settings(connection);
  observe::Question question;
  question.method = method(constraints);
  if (const auto params = constraints.text("params")) {
    if (!text::JsonTree(*params).root().is_array()) {
      throw sqlite::Error("params must be a JSON array, got '" + *params + "'");
    }
    question.params = *params;
  }
  question.mode = mode(constraints);
  question.timeout = timeout(constraints).value_or(call_timeout(settings));
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
    if (!reply.answer.failure) {
      reply.digest = rpc::canonical_digest(reply.answer.result, asked.question.method, connection.pulse());
    }
    asked.replies[unasked[i].provider_id] =
        std::make_shared<sqlite::Numbered<Reply>>(connection.next_rowid(), std::move(reply));
  }
}

std::vector<sqlite::Column<Reply>> columns() {
  using Row = Reply;
  const auto failure = [](const Row& row) -> const auto& {
    return row.answer.failure;
  };
  std::vector<sqlite::Column<Row>> columns{
      column<Row>(
          "provider_id", "TEXT", "whom", [](const Row& row) { return std::string_view(row.provider.provider_id); },
          sqlite::Role::key),
      column<Row>("chain", "TEXT", "the provider's chain", [](const Row& row) { return or_null(row.provider.chain); }),
      column<Row>("timestamp", "REAL", "Unix seconds at which the answer, or the failure, was complete",
                  [](const Row& row) { return row.answer.timestamp; }),
      column<Row>("ok", "INTEGER", "1 when a result arrived", [](const Row& row) { return !row.answer.failure; }),
      column<Row>("result", "TEXT", "JSON as the provider sent it",
                  [](const Row& row, sqlite::Result result) {
                    if (!row.answer.failure) result.set(row.answer.result);
                  }),
      column<Row>("digest", "TEXT", "rpc_digest() of the result", [](const Row& row) { return or_null(row.digest); }),
      column<Row>("error_code", "INTEGER", "of a JSON-RPC error object",
                  [](const Row& row) { return row.answer.error_code; })};
  const auto failures = failure_columns<Row>("as in rpc_probe", failure);
  columns.insert(columns.end(), failures.begin(), failures.end());
  columns.push_back(column<Row>("latency_ms", "REAL", "the request's round trip, without set-up",
                                [](const Row& row) { return row.answer.latency_ms; }));
  columns.push_back(column<Row>("http_status", "INTEGER", "NULL when no status arrived",
                                [](const Row& row) { return row.answer.http_status; }));
  return columns;
}

std::unique_ptr<sqlite::Scan<Reply>> open(sqlite::Connection& connection, sqlite::Execution& execution,
                                          const sqlite::Constraints& constraints) {
  const auto asked = execution.memo<Asked>(constraints.arguments_fingerprint());
  if (!asked->prepared) {
    asked->question = read_question(connection, constraints);
    asked->providers = providers(connection, constraints);
    std::erase_if(asked->providers, [&](const rpc::Provider& provider) {
      return !chain::is_read_method(provider.kind, asked->question.method);
    });
    asked->prepared = true;
  }
  const auto wanted = restricted(asked->providers, constraints);
  ask(connection, *asked, wanted);
  sqlite::RowsScan<Reply>::Rows rows;
  for (const rpc::Provider& provider : wanted) rows.push_back(asked->replies[provider.provider_id]);
  return std::make_unique<sqlite::RowsScan<Reply>>(std::move(rows));
}

}  // namespace

const sqlite::Table& rpc_call() {
  static const sqlite::Table table =
      sqlite::TableOf<Reply>{
          .name = "rpc_call",
          .reach = sqlite::Reach::outside,
          .doc =
              {"rpc_call(method [, params [, providers [, mode [, timeout_ms]]]])",
               "Calls a method that only reads on every provider of the kind of chain that has it: one row for each, "
               "also for those that failed. digest is equal where answers mean the same.",
               "SELECT provider_id, ok, result, digest FROM rpc_call('eth_chainId')"},
          .creatable = true,
          .columns = columns(),
          .arguments = {{"method", Accepts::text(), "a method that only reads"},
                        {"params", Accepts::text(), "JSON array; the method's usual ones unless given"},
                        providers_argument,
                        mode_argument,
                        timeout_argument},
          .open = open}
          .table();
  return table;
}

}  // namespace rpcroute::tables
