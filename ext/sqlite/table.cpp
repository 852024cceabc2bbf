// The module that serves every Table.
//
// Plan, shared by xBestIndex and xFilter: idxNum is the generation of the statement (see execution.hpp); idxStr lists,
// for each value passed to xFilter in order, 'e' (one value) or 'i' (the whole IN list) and the column number: "e18i1".
#include "sqlite/table.hpp"

#include <cstdlib>
#include <cstring>

namespace rpcroute::sqlite {
namespace {

/// What the module's pAux points to.
struct Module {
  const Table& table;
  std::shared_ptr<Connection> connection;
};

struct VirtualTable : sqlite3_vtab {
  explicit VirtualTable(const Module& owner) : sqlite3_vtab{}, module(owner) {}
  Module module;
};

struct Cursor : sqlite3_vtab_cursor {
  Cursor() : sqlite3_vtab_cursor{} {}
  std::unique_ptr<Scan> scan;
  Constraints constraints;
  bool filtered = false;
  int generation = 0;

  VirtualTable& virtual_table() const { return *static_cast<VirtualTable*>(pVtab); }
  const Table& table() const { return virtual_table().module.table; }
  Connection& connection() const { return *virtual_table().module.connection; }
};

Cursor& as_cursor(sqlite3_vtab_cursor* cursor) {
  return *static_cast<Cursor*>(cursor);
}

std::string declaration(const Table& table) {
  std::string ddl = "CREATE TABLE x(";
  const char* separator = "";
  for (const Column& column : table.columns()) {
    ddl += separator + std::string("\"") + column.name + "\" " + column.type;
    if (column.role == Column::Role::argument) ddl += " HIDDEN";
    separator = ", ";
  }
  return ddl + ")";
}

int connect(sqlite3* db, void* aux, int argc, const char* const* argv, sqlite3_vtab** out, char** error) noexcept {
  const Module& module = *static_cast<Module*>(aux);
  const Outcome outcome = guard(module.table.name(), [&] {
    const bool eponymous = argc == 3 && sqlite3_stricmp(argv[2], module.table.name()) == 0;
    if (!eponymous && sqlite3_stricmp(argv[1], "temp") != 0) {
      throw Error("CREATE VIRTUAL TABLE is for TEMP only: CREATE VIRTUAL TABLE temp." + std::string(argv[2]) +
                  " USING " + module.table.name());
    }
    if (argc > 3) throw Error("USING " + std::string(module.table.name()) + " takes no arguments");
    if (const int code = sqlite3_declare_vtab(db, declaration(module.table).c_str()); code != SQLITE_OK) {
      throw SqlError(code, sqlite3_errmsg(db));
    }
    // Set in xConnect, where it covers the eponymous table and every instance.
    if (module.table.reach() == Reach::pure) sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
    if (is_direct_only(module.table.reach())) sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
    *out = new VirtualTable(module);
  });
  if (!outcome.message.empty()) *error = sqlite3_mprintf("%s", outcome.message.c_str());
  return outcome.code;
}

int disconnect(sqlite3_vtab* table) noexcept {
  delete static_cast<VirtualTable*>(table);
  return SQLITE_OK;
}

bool is_equality(const sqlite3_index_info::sqlite3_index_constraint& constraint) {
  return constraint.op == SQLITE_INDEX_CONSTRAINT_EQ || constraint.op == SQLITE_INDEX_CONSTRAINT_IS;
}

/// The constraint on `column` to take: the first usable equality; -1 when there is none, -2 when there are only
/// unusable ones.
int usable_equality(const sqlite3_index_info& info, int column) {
  int found = -1;
  for (int i = 0; i < info.nConstraint; ++i) {
    const auto& constraint = info.aConstraint[i];
    if (constraint.iColumn != column || !is_equality(constraint)) continue;
    if (constraint.usable) return i;
    found = -2;
  }
  return found;
}

int best_index(sqlite3_vtab* vtab, sqlite3_index_info* info) noexcept {
  auto& virtual_table = *static_cast<VirtualTable*>(vtab);
  const Table& table = virtual_table.module.table;
  int verdict = SQLITE_OK;
  const Outcome outcome = guard(table.name(), [&] {
    // Costs: a scan is dear (it may poll), so it goes outermost; restricting a key by a join is dearer still, since the
    // keys would be asked one after another; an argument makes a plan that has it win over one that lacks it.
    double cost = 1e9;
    std::string plan;
    int arguments = 0;
    for (int column = 0; column < static_cast<int>(table.columns().size()); ++column) {
      const Column::Role role = table.columns()[static_cast<std::size_t>(column)].role;
      if (role == Column::Role::plain) continue;
      const int chosen = usable_equality(*info, column);
      if (chosen == -2 && role == Column::Role::argument) {
        verdict = SQLITE_CONSTRAINT;
        return;
      }
      if (chosen < 0) continue;
      const bool whole_list = role == Column::Role::key && sqlite3_vtab_in(info, chosen, -1) != 0;
      if (whole_list) sqlite3_vtab_in(info, chosen, 1);
      info->aConstraintUsage[chosen].argvIndex = ++arguments;
      // An argument is used as given, NULL included, and its echo equals it: a check by SQLite could only drop every
      // row of asof_join(…, NULL, …), since NULL = NULL is not true.
      if (role == Column::Role::argument) info->aConstraintUsage[chosen].omit = 1;
      plan += (whole_list ? 'i' : 'e') + std::to_string(column);
      cost *= role == Column::Role::key ? 4.0 : 0.05;
    }
    info->idxNum = virtual_table.module.connection->executions().generation_being_prepared();
    info->estimatedCost = cost;
    info->estimatedRows = 25;
    info->idxStr = sqlite3_mprintf("%s", plan.c_str());
    if (info->idxStr == nullptr) throw std::bad_alloc();
    info->needToFreeIdxStr = 1;
  });
  return outcome.code == SQLITE_OK ? verdict : report(vtab, outcome);
}

int open(sqlite3_vtab* vtab, sqlite3_vtab_cursor** out) noexcept {
  auto& virtual_table = *static_cast<VirtualTable*>(vtab);
  return report(vtab, guard(virtual_table.module.table.name(), [&] {
                  *out = new Cursor();
                  virtual_table.module.connection->executions().cursor_opened();
                }));
}

int close(sqlite3_vtab_cursor* base) noexcept {
  std::unique_ptr<Cursor> cursor(&as_cursor(base));
  cursor->scan.reset();
  cursor->connection().executions().cursor_closed(cursor->filtered, cursor->generation);
  return SQLITE_OK;
}

std::vector<OwnedValue> whole_list(sqlite3_value* list) {
  std::vector<OwnedValue> values;
  sqlite3_value* value = nullptr;
  for (int code = sqlite3_vtab_in_first(list, &value); code == SQLITE_OK; code = sqlite3_vtab_in_next(list, &value)) {
    values.emplace_back(value);
  }
  return values;
}

Constraints read_plan(const Table& table, const char* plan, sqlite3_value** values) {
  Constraints constraints;
  for (int i = 0; *plan != '\0'; ++i) {
    const char how = *plan++;
    char* end = nullptr;
    const auto column = static_cast<std::size_t>(std::strtol(plan, &end, 10));
    plan = end;
    std::vector<OwnedValue> given;
    if (how == 'i') {
      given = whole_list(values[i]);
    } else {
      given.emplace_back(values[i]);
    }
    constraints.add(table.columns()[column].name, std::move(given));
  }
  return constraints;
}

int filter(sqlite3_vtab_cursor* base, int number, const char* plan, int, sqlite3_value** values) noexcept {
  Cursor& cursor = as_cursor(base);
  return report(base->pVtab, guard(cursor.table().name(), [&] {
                  cursor.scan.reset();
                  const bool first = !cursor.filtered;
                  if (first) cursor.generation = number;
                  cursor.filtered = true;
                  Execution& execution = cursor.connection().executions().cursor_filtered(first, cursor.generation);
                  if (cursor.table().reach() == Reach::outside && cursor.connection().in_nested_statement()) {
                    throw Error("refuses to run inside a statement that rpcroute itself started");
                  }
                  cursor.constraints = read_plan(cursor.table(), plan, values);
                  cursor.scan = cursor.table().open(cursor.connection(), execution, cursor.constraints);
                }));
}

int next(sqlite3_vtab_cursor* base) noexcept {
  Cursor& cursor = as_cursor(base);
  return report(base->pVtab, guard(cursor.table().name(), [&] { cursor.scan->next(); }));
}

int at_end(sqlite3_vtab_cursor* base) noexcept {
  const Cursor& cursor = as_cursor(base);
  return cursor.scan == nullptr || cursor.scan->at_end() ? 1 : 0;
}

int column(sqlite3_vtab_cursor* base, sqlite3_context* context, int index) noexcept {
  const Cursor& cursor = as_cursor(base);
  const Outcome outcome = guard(cursor.table().name(), [&] {
    const Column& declared = cursor.table().columns()[static_cast<std::size_t>(index)];
    if (declared.role != Column::Role::argument) return cursor.scan->column(index, Result(context));
    // Arguments are echoed as given: SQLite checks a second term on the same argument against the echo.
    if (const OwnedValue* given = cursor.constraints.argument(declared.name)) Result(context).set(given->view());
  });
  report(context, outcome);
  return outcome.code;
}

int rowid(sqlite3_vtab_cursor* base, sqlite3_int64* out) noexcept {
  const Cursor& cursor = as_cursor(base);
  return report(base->pVtab, guard(cursor.table().name(), [&] { *out = cursor.scan->rowid(); }));
}

int rename(sqlite3_vtab*, const char*) noexcept {
  return SQLITE_OK;
}

sqlite3_module make_module(bool creatable) {
  sqlite3_module module{};
  // A module whose xCreate is xConnect is eponymous and can be instantiated; one without xCreate is eponymous only.
  if (creatable) {
    module.xCreate = connect;
    module.xDestroy = disconnect;
    module.xRename = rename;
  }
  module.xConnect = connect;
  module.xDisconnect = disconnect;
  module.xBestIndex = best_index;
  module.xOpen = open;
  module.xClose = close;
  module.xFilter = filter;
  module.xNext = next;
  module.xEof = at_end;
  module.xColumn = column;
  module.xRowid = rowid;
  return module;
}

}  // namespace

void Table::create(const std::shared_ptr<Connection>& connection) const {
  static const sqlite3_module eponymous_only = make_module(false);
  static const sqlite3_module instantiable = make_module(true);
  auto module = std::make_unique<Module>(Module{*this, connection});
  const int code = sqlite3_create_module_v2(connection->db(), name(), creatable() ? &instantiable : &eponymous_only,
                                            module.release(), [](void* aux) { delete static_cast<Module*>(aux); });
  if (code != SQLITE_OK) {
    throw SqlError(code, std::string("cannot register ") + name() + ": " + sqlite3_errmsg(connection->db()));
  }
}

}  // namespace rpcroute::sqlite
