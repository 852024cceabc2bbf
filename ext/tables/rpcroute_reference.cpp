// rpcroute_reference: what the extension adds, documented by itself.
#include <set>

#include "rpcroute.hpp"
#include "sqlite/query.hpp"
#include "tables/network.hpp"
#include "tables/tables.hpp"
#include "text/json.hpp"

namespace rpcroute::tables {
namespace {

using sqlite::column;

struct Entry {
  std::string name;
  const char* kind;
  sqlite::Doc doc;
  std::string columns;  ///< JSON array, empty for functions
  std::string schema;   ///< CREATE TABLE, empty for functions
};

std::string columns_json(const sqlite::Table& table) {
  std::string json;
  const auto add = [&](const char* name, const char* type, bool argument, const std::string& meaning) {
    json += (json.empty() ? "[{\"name\":" : ",{\"name\":") + text::json_literal(name) +
            ",\"type\":" + text::json_literal(type) + ",\"argument\":" + (argument ? "true" : "false") +
            ",\"meaning\":" + text::json_literal(meaning) + "}";
  };
  for (const sqlite::AnyColumn& column : table.columns) add(column.name, column.type, false, column.meaning);
  for (const sqlite::Argument& argument : table.arguments) {
    add(argument.name, "", true, argument.meaning + (", " + argument.accepts.description()));
  }
  return json + "]";
}

/// The names of the tables this connection can use: after sqlite3_rpcroute_offline_init not all of ours.
std::set<std::string> usable_tables(sqlite::Connection& connection) {
  std::set<std::string> names;
  sqlite::Query rows(connection, "PRAGMA module_list");
  while (rows.step()) names.insert(rows.text(0));
  return names;
}

const char* kind_of(const sqlite::Function& function) {
  if (function.value != nullptr) return "window function";
  return function.step != nullptr ? "aggregate" : "scalar";
}

std::unique_ptr<sqlite::Scan<Entry>> open(sqlite::Connection& connection, sqlite::Execution& execution,
                                          const sqlite::Constraints&) {
  const auto rows = execution.memo<sqlite::RowsScan<Entry>::Rows>("");
  if (rows->empty()) {
    const auto add = [&](Entry entry) {
      rows->push_back(std::make_shared<sqlite::Numbered<Entry>>(connection.next_rowid(), std::move(entry)));
    };
    for (const sqlite::Function& function : registry().functions) {
      add({function.spec.name, kind_of(function), function.spec.doc, {}, {}});
    }
    const auto usable = usable_tables(connection);
    for (const sqlite::Table* table : registry().tables) {
      if (usable.contains(table->name)) add({table->name, "table", table->doc, columns_json(*table), table->schema()});
    }
  }
  return std::make_unique<sqlite::RowsScan<Entry>>(*rows);
}

}  // namespace

const sqlite::Table& rpcroute_reference() {
  using Row = Entry;
  static const sqlite::Table table =
      sqlite::TableOf<Row>{
          .name = "rpcroute_reference",
          .reach = sqlite::Reach::pure,
          .doc = {"rpcroute_reference",
                  "One row for each function, aggregate and table that rpcroute has added to this connection.",
                  "SELECT signature, summary FROM rpcroute_reference WHERE name LIKE 'rpc%'"},
          .columns = {column("name", "TEXT", "the SQL name", &Row::name),
                      column("kind", "TEXT", "scalar, aggregate, window function or table", &Row::kind),
                      column<Row>("signature", "TEXT", "how it is called",
                                  [](const Row& row) { return row.doc.signature; }),
                      column<Row>("summary", "TEXT", "what it does", [](const Row& row) { return row.doc.summary; }),
                      column<Row>("example", "TEXT", "SQL that runs", [](const Row& row) { return row.doc.example; }),
                      column<Row>("columns", "TEXT", "JSON array of a table's columns; NULL for functions",
                                  [](const Row& row) { return or_null(row.columns); }),
                      column<Row>("schema", "TEXT", "CREATE TABLE of a table, as SQLite sees it; NULL for functions",
                                  [](const Row& row) { return or_null(row.schema); })},
          .open = open}
          .table();
  return table;
}

}  // namespace rpcroute::tables
