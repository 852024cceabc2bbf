// Nested SQL: statements that rpcroute runs inside a callback. Never kept beyond the callback that made them, since an
// open statement would make sqlite3_close() report SQLITE_BUSY.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sqlite/connection.hpp"
#include "sqlite/error.hpp"
#include "sqlite/value.hpp"

namespace rpcroute::sqlite {

class Query {
 public:
  /// Throws SqlError with SQLite's message when the text does not compile.
  Query(Connection& connection, std::string_view sql);
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  Query& bind(int index, std::string_view text);
  Query& bind(int index, std::int64_t value);
  Query& bind(int index, double value);
  Query& bind(int index, Value value);

  /// Moves to the next row; false at the end. Throws SqlError.
  bool step();

  bool is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  double real(int column) const { return sqlite3_column_double(statement_, column); }
  std::string text(int column) const;
  /// Valid until the next step().
  Value value(int column) const { return Value(sqlite3_column_value(statement_, column)); }

 private:
  Query& bound(int code);

  Connection& connection_;
  sqlite3_stmt* statement_ = nullptr;
};

/// Whether SQLite takes the two for one name: it folds the case of ASCII letters.
bool same_name(std::string_view left, std::string_view right);

/// `name` as an SQL identifier: "na""me".
std::string identifier(std::string_view name);

/// A table's name as SQL writes it: name or schema.name, either part quoted ("na""me", [name], `name`) or bare.
struct QualifiedName {
  std::string schema;  ///< empty when not given
  std::string name;
};

/// Throws Error when `text` is not such a name.
QualifiedName parse_qualified_name(std::string_view text);

/// What a name stands for in the database: an ordinary table or a view may be read by functions that are not
/// DIRECTONLY; a virtual or eponymous table never.
struct Relation {
  std::string schema;
  std::string name;
  bool is_view = false;
  bool without_rowid = false;

  std::string sql() const { return identifier(schema) + "." + identifier(name); }
};

/// Finds `name`, in `schema` or (empty) in SQLite's own order temp, main, attached; nullopt when there is no such
/// table or view. Throws Error when it is a virtual table.
std::optional<Relation> find_relation(Connection& connection, std::string_view schema, std::string_view name);

/// The relation `name` of rpcroute's own schema, found likewise; throws Error that names the script to run when it is
/// missing.
Relation required_relation(Connection& connection, std::string_view name, std::string_view schema = {});

/// What stands for rpc_providers, rpc_chains or rpc_settings now: the relation of that name, or the TEMP copy of it
/// where Connection::reads_copies(); nullopt when there is none.
std::optional<Relation> find_own(Connection& connection, std::string_view name);
Relation required_own(Connection& connection, std::string_view name);

}  // namespace rpcroute::sqlite
