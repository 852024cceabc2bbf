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

/// The `timeout_ms` argument.
std::optional<rpc::Milliseconds> timeout_argument(const sqlite::Constraints& constraints);

/// How long one request may take: the setting `timeout_ms`.
rpc::Milliseconds call_timeout(const Settings& settings);

/// Decompressed bytes of an answer that are still read: the setting `max_response_bytes`.
std::size_t max_response_bytes(const Settings& settings);

/// The `mode` argument: 'parallel' unless it says 'sequential'.
observe::Mode mode_argument(const sqlite::Constraints& constraints);

/// The `providers` argument, completed from `rpc_chains` where that table knows the chain; without the argument, the
/// enabled rows of `rpc_providers`. A row whose chain is unknown carries that as its config error. Throws sqlite::Error
/// naming schema.sql when there is neither argument nor table.
std::vector<rpc::Provider> providers(sqlite::Connection& connection, const sqlite::Constraints& constraints);

/// Keeps the providers whose id is among `ids`; all of them when nullopt.
std::vector<rpc::Provider> restricted(std::vector<rpc::Provider> providers,
                                      const std::optional<std::vector<std::string>>& ids);

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
