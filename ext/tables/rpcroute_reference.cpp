// rpcroute_reference: what the extension adds, documented by itself.
#include <set>

#include "rpc/json.hpp"
#include "rpcroute.hpp"
#include "sqlite/query.hpp"
#include "tables/tables.hpp"

namespace rpcroute::tables {
namespace {

using sqlite::Column;

struct Entry {
  std::string name;
  const char* kind;
  sqlite::Doc doc;
  std::string columns;  ///< JSON array, empty for functions
};

std::string columns_json(const sqlite::Table& table) {
  std::string json = "[";
  for (const Column& column : table.columns()) {
    if (json.size() > 1) json += ",";
    json += "{\"name\":" + rpc::json_literal(column.name) + ",\"type\":" + rpc::json_literal(column.type) +
            ",\"argument\":" + (column.role == Column::Role::argument ? "true" : "false") +
            ",\"meaning\":" + rpc::json_literal(column.meaning) + "}";
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

void show(const Entry& entry, int column, sqlite::Result result) {
  switch (column) {
    case 0:
      return result.set(entry.name);
    case 1:
      return result.set(entry.kind);
    case 2:
      return result.set(entry.doc.signature);
    case 3:
      return result.set(entry.doc.summary);
    case 4:
      return result.set(entry.doc.example);
    case 5:
      return entry.columns.empty() ? result.set_null() : result.set(entry.columns);
  }
}

class RpcrouteReference : public sqlite::Table {
 public:
  const char* name() const override { return "rpcroute_reference"; }
  sqlite::Reach reach() const override { return sqlite::Reach::pure; }
  sqlite::Doc doc() const override {
    return {"rpcroute_reference",
            "One row for each function, aggregate and table that rpcroute has added to this connection.",
            "SELECT signature, summary FROM rpcroute_reference WHERE name LIKE 'rpc%'"};
  }
  const std::vector<Column>& columns() const override {
    static const std::vector<Column> columns{
        {"name", "TEXT", Column::Role::plain, "the SQL name"},
        {"kind", "TEXT", Column::Role::plain, "scalar, aggregate, window function or table"},
        {"signature", "TEXT", Column::Role::plain, "how it is called"},
        {"summary", "TEXT", Column::Role::plain, "what it does"},
        {"example", "TEXT", Column::Role::plain, "SQL that runs"},
        {"columns", "TEXT", Column::Role::plain, "JSON array of a table's columns; NULL for functions"}};
    return columns;
  }
  std::unique_ptr<sqlite::Scan> open(sqlite::Connection& connection, sqlite::Execution& execution,
                                     const sqlite::Constraints&) const override {
    using Rows = sqlite::RowsScan<Entry>::Rows;
    const auto rows = execution.memo<Rows>(name());
    if (rows->empty()) {
      const auto add = [&](Entry entry) {
        rows->push_back(std::make_shared<sqlite::Numbered<Entry>>(connection.next_rowid(), std::move(entry)));
      };
      for (const sqlite::Function& function : registry().functions) {
        add({function.spec.name, kind_of(function), function.spec.doc, {}});
      }
      const auto usable = usable_tables(connection);
      for (const sqlite::Table* table : registry().tables) {
        if (usable.contains(table->name())) add({table->name(), "table", table->doc(), columns_json(*table)});
      }
    }
    return std::make_unique<sqlite::RowsScan<Entry>>(*rows, show);
  }
};

}  // namespace

const sqlite::Table& rpcroute_reference() {
  static const RpcrouteReference table;
  return table;
}

}  // namespace rpcroute::tables
