// Terms that SQLite checks only once a row is there.
#pragma once

#include <cstddef>
#include <vector>

#include "sqlite/connection.hpp"

namespace rpcroute::sqlite {

enum class Comparison {
  any,
  equality  ///< =, IN and what a join compares; may also find <>, which SQLite runs as the opposite of =
};

/// Whether the program of `statement` compares one of `columns` of the virtual table `table` while it scans it. The
/// table itself learns only of the terms that SQLite offers it: not of those on the right of a CROSS JOIN, in a
/// function, or in some kinds of OR and of row values. Reads what EXPLAIN shows, as far as opcodes go that all versions
/// since 3.38 have; what it does not recognise counts as no comparison. A comparison in a
/// result column counts as one, DISTINCT and ORDER BY do not.
bool compares_late(Connection& connection, sqlite3_stmt* statement, const sqlite3_vtab* table,
                   const std::vector<std::size_t>& columns, Comparison comparison);

}  // namespace rpcroute::sqlite
