// What DIRECTONLY does not keep out.
#pragma once

#include <string_view>

#include "sqlite/connection.hpp"

namespace rpcroute::sqlite {

/// Whether the text of a CREATE statement defines a table or an index by an expression that calls `function`.
bool definition_calls(std::string_view sql, std::string_view function);

/// Throws Error when the call in progress may come from a CHECK constraint, a generated column or an index of a
/// database file rather than from the statement: when a table or index of a database that the statement uses calls
/// `function`.
///
/// SQLite enforces DIRECTONLY in views, triggers and DEFAULTs. In a CHECK it does not up to 3.40 at least where the
/// function is not deterministic, and nowhere in a definition that it read before the function was registered (by a
/// host that loads the extension late). The function itself is told nothing of its caller.
void refuse_stored_calls(Connection& connection, std::string_view function);

}  // namespace rpcroute::sqlite
