// Registering what an entry point offers, and describing it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sqlite/connection.hpp"
#include "sqlite/function.hpp"
#include "sqlite/table.hpp"

namespace rpcroute::sqlite {

/// Everything the extension can register.
struct Registry {
  std::vector<Function> functions;
  std::vector<const Table*> tables;
};

/// Adds to `db` what is not there yet: loading twice changes nothing, and what the host has under one of our names
/// stays. With `offline`, tables that reach outside are left out. Throws Error or SqlError that names what failed.
void register_all(sqlite3* db, const Registry& registry, bool offline);

}  // namespace rpcroute::sqlite
