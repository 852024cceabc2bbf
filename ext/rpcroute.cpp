// The entry points, and the one table of everything that is registered.
#include "rpcroute.hpp"

#include <mutex>

#include "functions/functions.hpp"
#include "tables/tables.hpp"

SQLITE_EXTENSION_INIT1

namespace rpcroute {

const sqlite::Registry& registry() {
  static const sqlite::Registry everything{
      .functions =
          {
              functions::block_lag(),
              functions::chain_head(),
              functions::asof_join(),
              functions::train_confirm(),
              functions::predict_confirm(),
              functions::predict_confirm_named(),
              functions::predict_confirm_contributions(),
              functions::percentile(),
              functions::median(),
              functions::weighted_percentile(),
              functions::rpc_canonical(),
              functions::rpc_digest(),
              functions::rpc_diff(),
              functions::rpcroute_version(),
              functions::rpcroute_debug(),
              functions::rpcroute_sha256(),
          },
      .tables =
          {
              &tables::rpc_probe(),
              &tables::rpc_call(),
              &tables::tx_probe(),
              &tables::tx_send(),
              &tables::tx_wait(),
              &tables::asof_join(),
              &tables::model_importance(),
              &tables::model_info(),
              &tables::rpcroute_reference(),
          },
  };
  return everything;
}

namespace {

/// Whether `api` is the SQLite of this process's connections: that of the first of them. Another one, such as Node's
/// own beside Python's, has other memory and other structures behind the same pointers.
bool serves(const sqlite3_api_routines* api) {
  static std::mutex mutex;  // connections may load it from several threads at once
  const std::lock_guard lock(mutex);
  if (sqlite3_api == nullptr) SQLITE_EXTENSION_INIT2(api);
  return sqlite3_api == api;
}

/// A message is freed by the SQLite that gets it, and comes from it.
int load(sqlite3* db, char** message, const sqlite3_api_routines* api, bool offline) {
  if (api == nullptr) return SQLITE_ERROR;  // so does sqlite3_auto_extension() where loading was left out of SQLite
  if (api->libversion_number() < sqlite::kOldestVersion) {
    *message = api->mprintf("rpcroute needs SQLite 3.38 or newer; this is %s", api->libversion());
    return SQLITE_ERROR;
  }
  if (!serves(api)) {
    *message = api->mprintf(
        "rpcroute already serves another SQLite library in this process (version %s): load it from one of the two only",
        sqlite3_libversion());
    return SQLITE_ERROR;
  }
  const sqlite::Outcome outcome = sqlite::guard("rpcroute", [&] { sqlite::register_all(db, registry(), offline); });
  if (outcome.code != SQLITE_OK) {
    *message = sqlite3_mprintf("%s", outcome.message.c_str());
    return outcome.code;
  }
  // Unloading a library whose dependencies started threads crashes the host at the next open.
  return SQLITE_OK_LOAD_PERMANENTLY;
}

}  // namespace
}  // namespace rpcroute

#define RPCROUTE_EXPORT extern "C" __attribute__((visibility("default")))

/// Everything.
RPCROUTE_EXPORT int sqlite3_rpcroute_init(sqlite3* db, char** message, const sqlite3_api_routines* api) {
  return rpcroute::load(db, message, api, false);
}

/// Without anything that touches network, keys or files: for analysts and published databases.
RPCROUTE_EXPORT int sqlite3_rpcroute_offline_init(sqlite3* db, char** message, const sqlite3_api_routines* api) {
  return rpcroute::load(db, message, api, true);
}
