// What the tables that reach the network share: whom to ask, under which settings, and how to stop.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "observe/observe.hpp"
#include "rpc/client.hpp"
#include "rpc/provider.hpp"
#include "sqlite/table.hpp"

namespace rpcroute::tables {

/// The rows of `rpc_settings`; a database without that table has none.
class Settings {
 public:
  explicit Settings(sqlite::Connection& connection);

  std::optional<std::string> text(const std::string& key) const;
  /// A whole number in [low, high]; `fallback` when there is no such row or its value is NULL. Throws sqlite::Error
  /// naming the setting when the value is something else.
  std::int64_t integer(const std::string& key, std::int64_t low, std::int64_t high, std::int64_t fallback) const;

 private:
  std::map<std::string, std::string> values_;
};

/// Where the probe runs: RPCROUTE_REGION, else the setting `region`, else 'local'.
std::string region(const Settings& settings);

/// What the argument `timeout_ms` says.
std::optional<rpc::Milliseconds> timeout(const sqlite::Constraints& constraints);

/// How long one request may take: the setting `timeout_ms`.
rpc::Milliseconds call_timeout(const Settings& settings);

/// Decompressed bytes of an answer that are still read: the setting `max_response_bytes`.
std::size_t max_response_bytes(const Settings& settings);

/// What the argument `mode` says: 'parallel' unless it is 'sequential'.
observe::Mode mode(const sqlite::Constraints& constraints);

/// The `providers` argument, completed from `rpc_chains` where that table knows the chain; without the argument, the
/// enabled rows of `rpc_providers`. A row whose chain is unknown carries that as its config error. Throws sqlite::Error
/// naming schema.sql when there is neither argument nor table.
std::vector<rpc::Provider> providers(sqlite::Connection& connection, const sqlite::Constraints& constraints);

/// Keeps the providers that the terms on `provider_id` admit.
std::vector<rpc::Provider> restricted(std::vector<rpc::Provider> providers, const sqlite::Constraints& constraints);

/// The arguments `providers`, `mode` and `timeout_ms`, as the functions above read them.
extern const sqlite::Argument providers_argument;
extern const sqlite::Argument mode_argument;
extern const sqlite::Argument timeout_argument;

/// A text for a column; NULL when there is none.
inline std::optional<std::string_view> or_null(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

/// error_class, error_kind and error of rows whose failure `failure(row)` gives, as an optional.
template <class Row, class Failure>
std::vector<sqlite::Column<Row>> failure_columns(const char* classes, Failure failure) {
  using sqlite::StaticText;
  const auto part = [failure](auto show) {
    return [failure, show](const Row& row, sqlite::Result result) {
      if (const std::optional<rpc::Failure>& what = failure(row)) result.set(show(*what));
    };
  };
  return {sqlite::column<Row>("error_class", "TEXT", classes,
                              part([](const rpc::Failure& what) { return StaticText{name(what.error_class)}; })),
          sqlite::column<Row>("error_kind", "TEXT", "refines the class",
                              part([](const rpc::Failure& what) { return or_null(what.kind); })),
          sqlite::column<Row>("error", "TEXT", "the provider's words, at most 200 characters, no secrets",
                              part([](const rpc::Failure& what) { return std::string_view(what.message); }))};
}

/// The one client of a database connection: connections stay warm between its queries.
rpc::RpcClient& client(sqlite::Connection& connection);

/// What ends a wait: sqlite3_interrupt().
rpc::Interrupt interrupt(sqlite::Connection& connection);

/// Runs `work`, leaving nothing outstanding on the client when it fails, and reporting an interrupt as SQLite's.
template <class Work>
auto interruptible(sqlite::Connection& connection, Work&& work) {
  try {
    return work();
  } catch (const rpc::Interrupted&) {
    client(connection).cancel_all();
    throw sqlite::Interruption{};
  } catch (...) {
    client(connection).cancel_all();
    throw;
  }
}

}  // namespace rpcroute::tables
