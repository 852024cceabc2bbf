#include "sqlite/query.hpp"

#include <algorithm>
#include <utility>

namespace rpcroute::sqlite {
namespace {

/// Takes the name that `text` begins with off it; empty when it begins with none.
std::string take_name(std::string_view& text) {
  std::string name;
  const char open = text.empty() ? '\0' : text.front();
  if (open != '"' && open != '`' && open != '[') {
    name = text.substr(0, text.find('.'));
    text.remove_prefix(name.size());
    return name;
  }
  const char close = open == '[' ? ']' : open;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == close) {
      const bool doubled = close != ']' && i + 1 < text.size() && text[i + 1] == close;
      if (!doubled) {
        text.remove_prefix(i + 1);
        return name;
      }
      ++i;
    }
    name += text[i];
  }
  return {};  // the quote is not closed
}

}  // namespace

Query::Query(Connection& connection, std::string_view sql) : connection_(connection) {
  const Connection::NestedScope nested(connection_);
  const int code = sqlite3_prepare_v2(connection.db(), sql.data(), static_cast<int>(sql.size()), &statement_, nullptr);
  if (code != SQLITE_OK) throw SqlError(code, sqlite3_errmsg(connection.db()));
}

Query::~Query() {
  sqlite3_finalize(statement_);
}

Query& Query::bound(int code) {
  if (code != SQLITE_OK) throw SqlError(code, sqlite3_errmsg(connection_.db()));
  return *this;
}

Query& Query::bind(int index, std::string_view text) {
  return bound(sqlite3_bind_text(statement_, index, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT));
}

Query& Query::bind(int index, std::int64_t value) {
  return bound(sqlite3_bind_int64(statement_, index, value));
}

Query& Query::bind(int index, double value) {
  return bound(sqlite3_bind_double(statement_, index, value));
}

Query& Query::bind(int index, Value value) {
  return bound(sqlite3_bind_value(statement_, index, value.raw()));
}

bool Query::step() {
  const Connection::NestedScope nested(connection_);
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  throw SqlError(code, sqlite3_errmsg(connection_.db()));
}

std::string Query::text(int column) const {
  return std::string(value(column).text());
}

bool same_name(std::string_view left, std::string_view right) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [&](char l, char r) { return lower(l) == lower(r); });
}

std::string identifier(std::string_view name) {
  std::string quoted = "\"";
  for (const char character : name) {
    quoted += character;
    if (character == '"') quoted += '"';
  }
  return quoted + '"';
}

QualifiedName parse_qualified_name(std::string_view text) {
  std::string_view rest = text;
  QualifiedName result{{}, take_name(rest)};
  bool valid = !result.name.empty() && text.find('\0') == std::string_view::npos;
  if (valid && rest.starts_with('.')) {
    rest.remove_prefix(1);
    result.schema = std::exchange(result.name, take_name(rest));
    valid = !result.name.empty();
  }
  if (!valid || !rest.empty()) throw Error("'" + std::string(text) + "' is not the name of a table");
  return result;
}

namespace {

Relation relation_of(std::string schema, std::string name, std::string_view type, bool without_rowid) {
  if (type == "virtual" || type == "shadow") {
    throw Error("'" + name + "' is a virtual table; only ordinary tables and views are read");
  }
  return {std::move(schema), std::move(name), type == "view", without_rowid};
}

/// What `pragma` lists of that name; of `schema` alone unless that is empty. By a PRAGMA statement, since a database
/// can hold a table named pragma_table_list that lies. Eponymous tables are not listed, and what is not listed cannot
/// be read.
std::optional<Relation> listed(Connection& connection, const std::string& pragma, std::string_view schema,
                               std::string_view name) {
  Query list(connection, "PRAGMA " + pragma + "(" + identifier(name) + ")");  // schema, name, type, ncol, wr, strict
  while (list.step()) {
    if (!schema.empty() && !same_name(list.text(0), schema)) continue;
    return relation_of(list.text(0), list.text(1), list.text(2), list.integer(4) != 0);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Relation> find_relation(Connection& connection, std::string_view schema, std::string_view name) {
  // TEMP tables come first in SQLite's order of names. The pragma for that schema alone opens no transaction on the
  // database; it would last as long as the statement that asks, which may be waiting for a provider.
  const bool temporary = same_name(schema, "temp");
  if (schema.empty() || temporary) {
    auto relation = listed(connection, "temp.table_list", "", name);
    if (relation || temporary) return relation;
  }
  return listed(connection, "table_list", schema, name);
}

Relation required_relation(Connection& connection, std::string_view name, std::string_view schema) {
  if (auto relation = find_relation(connection, schema, name)) return *relation;
  throw Error("no table " + std::string(name) + " in this database: run sql/schema.sql first");
}

std::optional<Relation> find_own(Connection& connection, std::string_view name) {
  if (!connection.reads_copies()) return find_relation(connection, "", name);
  constexpr std::string_view prefix = "rpc_";
  return find_relation(connection, "temp", "rpcroute_" + std::string(name.substr(prefix.size())));
}

Relation required_own(Connection& connection, std::string_view name) {
  if (auto relation = find_own(connection, name)) return *relation;
  if (!connection.reads_copies()) return required_relation(connection, name);
  throw Error("there is no TEMP copy of " + std::string(name) + " to read");
}

}  // namespace rpcroute::sqlite
