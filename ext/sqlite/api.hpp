// The only door to SQLite's C interface. Everything else in this room, and nothing outside it, includes this header.
#pragma once

#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3

// Newer than the headers of the oldest SQLite we build against; the value is part of SQLite's stable interface.
#ifndef SQLITE_RESULT_SUBTYPE
#define SQLITE_RESULT_SUBTYPE 0x001000000
#endif

namespace rpcroute::sqlite {

/// The floor: sqlite3_vtab_in() came with 3.38.
inline constexpr int kOldestVersion = 3038000;

/// The subtype by which SQLite's JSON functions know that a text is JSON.
inline constexpr unsigned int kJsonSubtype = 'J';

}  // namespace rpcroute::sqlite
