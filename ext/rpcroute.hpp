// The registration table, for those who describe it.
#pragma once

#include "sqlite/registry.hpp"

namespace rpcroute {

/// Everything rpcroute adds to SQLite.
const sqlite::Registry& registry();

}  // namespace rpcroute
