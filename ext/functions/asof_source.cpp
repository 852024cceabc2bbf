#include "functions/asof_source.hpp"

#include <algorithm>
#include <utility>

namespace rpcroute::functions {
namespace {

sqlite::Relation relation_of(sqlite::Connection& connection, std::string_view written) {
  const sqlite::QualifiedName name = sqlite::parse_qualified_name(written);
  auto relation = sqlite::find_relation(connection, name.schema, name.name);
  if (!relation) throw sqlite::Error("no table or view " + std::string(written) + "; only those are read");
  if (relation->without_rowid)
    throw sqlite::Error(relation->name + " is WITHOUT ROWID: its rows have no rowid to return");
  return *relation;
}

std::vector<std::string> columns_of(sqlite::Connection& connection, const sqlite::Relation& relation) {
  std::vector<std::string> columns;
  sqlite::Query query(connection, "SELECT name FROM pragma_table_xinfo(?1, ?2)");
  query.bind(1, relation.name).bind(2, relation.schema);
  while (query.step()) columns.push_back(query.text(0));
  return columns;
}

/// A view may hide a virtual table, and reading that for a view of a stranger would be the way around DIRECTONLY. The
/// program SQLite makes of a statement opens every virtual table by name of the opcode, however deep it lies.
void refuse_virtual_tables(sqlite::Connection& connection, const std::string& view, const std::string& sql) {
  sqlite::Query program(connection, "EXPLAIN " + sql);
  while (program.step()) {
    if (program.text(1) == "VOpen") {
      throw sqlite::Error("view " + view + " reads a virtual table; only ordinary tables and views over them are read");
    }
  }
}

}  // namespace

AsofSource::AsofSource(sqlite::Connection& connection, std::string_view written)
    : connection_(connection),
      relation_(relation_of(connection, written)),
      columns_(columns_of(connection, relation_)) {
  const bool has_rowid_column =
      std::any_of(columns_.begin(), columns_.end(), [](const auto& name) { return sqlite::same_name(name, "rowid"); });
  // SQLite 3.40 answers NULL for the rowid of a view without saying so.
  if (relation_.is_view && !has_rowid_column) {
    throw sqlite::Error("view " + relation_.name + " has no column named rowid: its rows cannot be told apart");
  }
  if (relation_.is_view) refuse_virtual_tables(connection, relation_.name, "SELECT * FROM " + relation_.sql());
}

std::string AsofSource::column(std::string_view name) const {
  const auto found = std::find_if(columns_.begin(), columns_.end(),
                                  [&](const auto& column) { return sqlite::same_name(column, name); });
  // Qualified, since SQLite takes a quoted name that is no column for a string.
  if (found != columns_.end()) return "s." + sqlite::identifier(*found);
  std::string known;
  for (const std::string& column : columns_) known += (known.empty() ? "" : ", ") + column;
  throw sqlite::Error("no column " + std::string(name) + " in " + relation_.name + ", which has " + known);
}

AsofSource::Reader::Reader(const AsofSource& source, const std::optional<std::string>& by, const std::string& time,
                           const std::vector<std::string>& more)
    : source_name_(source.relation_.name),
      time_name_(source.relation_.name + "." + time),
      query_(source.connection_, [&] {
        std::string sql = "SELECT s.rowid, " + (by ? source.column(*by) : "0") + ", " + source.column(time);
        for (const std::string& name : more) sql += ", " + source.column(name);
        return sql + " FROM " + source.relation_.sql() + " AS s";
      }()) {}

std::int64_t AsofSource::Reader::rowid() const {
  const sqlite::Value rowid = query_.value(0);
  if (rowid.is_integer()) return rowid.integer();
  throw sqlite::Error("the rowid of " + source_name_ + " must be an INTEGER, got " + sqlite::quoted(rowid));
}

}  // namespace rpcroute::functions
