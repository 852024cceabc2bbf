// The module that serves every Table.
//
// Plan, shared by xBestIndex and xFilter, in idxStr: the tag of the statement (see execution.hpp); then, for each value
// passed to xFilter in order, a letter and the number of the column: "a18" an argument, "k1b" a key that equals one
// value, "s1b" one that IS it, "i1b" one that is in a list, each with the letter of its collation, "n1" a key that is
// NULL, "x1" any other term on a column; at last, where this plan may not run, '!' and the reason.
#include "sqlite/table.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "sqlite/late_terms.hpp"
#include "sqlite/query.hpp"

namespace rpcroute::sqlite {
namespace {

/// What the module's pAux points to.
struct Module {
  const Table& table;
  std::shared_ptr<Connection> connection;
};

struct VirtualTable : sqlite3_vtab {
  VirtualTable(const Module& owner, bool reads_copies) : sqlite3_vtab{}, module(owner), copies(reads_copies) {}
  Module module;
  bool copies;  ///< see Connection::reads_copies()
};

struct Cursor : sqlite3_vtab_cursor {
  explicit Cursor(const Table& table) : sqlite3_vtab_cursor{}, constraints(table.arguments) {}
  std::unique_ptr<AnyScan> scan;
  Constraints constraints;
  std::optional<ExecutionId> execution;

  VirtualTable& virtual_table() const { return *static_cast<VirtualTable*>(pVtab); }
  const Table& table() const { return virtual_table().module.table; }
  Connection& connection() const { return *virtual_table().module.connection; }
};

Cursor& as_cursor(sqlite3_vtab_cursor* cursor) {
  return *static_cast<Cursor*>(cursor);
}

/// A column's number in what is declared to SQLite: the columns, then the arguments.
const Argument* argument_at(const Table& table, std::size_t number) {
  return number < table.columns.size() ? nullptr : &table.arguments[number - table.columns.size()];
}

/// CREATE TABLE, one column a line; with comments it is for people.
std::string declaration(const Table& table, const char* name, bool with_comments) {
  struct Line {
    std::string declared;
    std::string comment;
  };
  std::vector<Line> lines;
  for (const AnyColumn& column : table.columns) {
    const std::string type = *column.type == 0 ? "" : std::string(" ") + column.type;
    lines.push_back({identifier(column.name) + type, column.meaning});
  }
  for (const Argument& argument : table.arguments) {
    lines.push_back(
        {identifier(argument.name) + " HIDDEN", std::string(argument.meaning) + "; " + argument.accepts.description()});
  }
  std::string ddl = std::string("CREATE TABLE ") + name + "(\n";
  for (const Line& line : lines) {
    const char* separator = &line == &lines.back() ? "" : ",";
    ddl += "  " + line.declared + separator + (with_comments ? " -- " + line.comment : "") + "\n";
  }
  return ddl + ")";
}

int connect(sqlite3* db, void* aux, int argc, const char* const* argv, sqlite3_vtab** out, char** error) noexcept {
  const Module& module = *static_cast<Module*>(aux);
  const Table& table = module.table;
  const Outcome outcome = guard(table.name, [&] {
    const bool eponymous = argc == 3 && sqlite3_stricmp(argv[2], table.name) == 0;
    if (!eponymous && sqlite3_stricmp(argv[1], "temp") != 0) {
      throw Error("CREATE VIRTUAL TABLE is for TEMP only: CREATE VIRTUAL TABLE temp." + std::string(argv[2]) +
                  " USING " + table.name);
    }
    const bool copies = argc == 4 && sqlite3_stricmp(argv[3], "copies") == 0;
    if (argc > 3 && !copies) {
      throw Error("USING " + std::string(table.name) +
                  " takes no argument but copies, which has it read the TEMP tables "
                  "rpcroute_providers, rpcroute_chains and rpcroute_settings instead of rpc_providers, rpc_chains and "
                  "rpc_settings");
    }
    if (const int code = sqlite3_declare_vtab(db, declaration(table, "x", false).c_str()); code != SQLITE_OK) {
      throw SqlError(code, sqlite3_errmsg(db));
    }
    // Set in xConnect, where it covers the eponymous table and every instance.
    if (table.reach == Reach::pure) sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
    if (is_direct_only(table.reach)) sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
    *out = new VirtualTable(module, copies);
  });
  return report(error, outcome);
}

int disconnect(sqlite3_vtab* table) noexcept {
  delete static_cast<VirtualTable*>(table);
  return SQLITE_OK;
}

bool chooses(Role role) {
  return role == Role::choice || role == Role::addressee;
}

bool sends(const Table& table) {
  return std::any_of(table.columns.begin(), table.columns.end(),
                     [](const AnyColumn& column) { return column.role == Role::addressee; });
}

/// Builds a plan from the terms that SQLite offers.
class Planner {
 public:
  Planner(const Table& table, sqlite3_index_info& info) : table_(table), info_(info) {
    given_.resize(table.arguments.size());
    if (sends(table)) scan_ = kSending;
    cost_ = scan_.cost;
  }

  void plan(std::string tag) {
    plan_ = std::move(tag);
    for (int i = 0; i < info_.nConstraint; ++i) take(i);
    require_all_arguments();
    if (!refusal_.empty()) plan_ += "!" + refusal_;
    info_.estimatedCost = cost_;
    info_.estimatedRows = scan_.rows;
    info_.idxStr = sqlite3_mprintf("%s", plan_.c_str());
    if (info_.idxStr == nullptr) throw std::bad_alloc();
    info_.needToFreeIdxStr = 1;
  }

 private:
  /// A scan may wait for the network: the fewer of them the better, so it goes outermost. One that sends goes
  /// innermost: where nothing else is found, nothing is sent.
  struct Estimate {
    double cost;
    sqlite3_int64 rows;
  };
  static constexpr Estimate kAsking{1e9, 25};
  static constexpr Estimate kSending{1e4, 1'000'000'000};
  /// Terms make a scan cheaper and are passed even where they do nothing, so that SQLite scans each branch of an OR for
  /// itself: only then is it known what a branch chooses. Not so cheap that a join asks for one key after another.
  static constexpr double kTerm = 0.1;
  static constexpr double kChoice = 1e-3;
  /// What must not run if there is any other way.
  static constexpr double kRefused = 1e18;

  void take(int i) {
    const auto& constraint = info_.aConstraint[i];
    if (constraint.op == SQLITE_INDEX_CONSTRAINT_LIMIT || constraint.op == SQLITE_INDEX_CONSTRAINT_OFFSET) return;
    if (constraint.iColumn < 0) return;  // the rowid
    const auto number = static_cast<std::size_t>(constraint.iColumn);
    if (const Argument* argument = argument_at(table_, number)) {
      take_argument(i, number, *argument);
    } else {
      take_term(i, number, table_.columns[number]);
    }
  }

  void take_argument(int i, std::size_t number, const Argument& argument) {
    const auto& constraint = info_.aConstraint[i];
    const std::string name = argument.name;
    given_[number - table_.columns.size()] = true;
    const bool is_list = sqlite3_vtab_in(&info_, i, -1) != 0;
    if (is_list || !is_equality(constraint.op)) {
      refuse(name + " is an argument: it takes one value, by = or by position" + (is_list ? ", not IN" : ""));
      cost_ = 1;  // wrong under any plan: the sooner it is told the better
      return;
    }
    if (!constraint.usable) return refuse(name + " is an argument: its value must be known before the table is read");
    // An argument is used as given, NULL included, and its echo equals it: a check by SQLite could only drop every row
    // of asof_join(…, NULL, …), since NULL = NULL is not true.
    info_.aConstraintUsage[i].omit = 1;
    pass(i, 'a', number);
  }

  void take_term(int i, std::size_t number, const AnyColumn& column) {
    const auto& constraint = info_.aConstraint[i];
    if (constraint.usable && !chooses(column.role)) cheapen(kTerm);
    if (column.role == Role::plain || constraint.op == SQLITE_INDEX_CONSTRAINT_ISNOTNULL) {
      if (constraint.usable) pass(i, 'x', number);
      return;
    }
    const bool is_null = constraint.op == SQLITE_INDEX_CONSTRAINT_ISNULL;
    const std::string decides = std::string(column.name) + " decides what is asked: ";
    if (!is_null && !is_equality(constraint.op)) {
      if (column.role == Role::addressee) {
        refuse(decides + "it takes = and IN, for other terms would act too late");
      } else if (constraint.usable) {
        pass(i, 'x', number);
      }
      return;
    }
    const auto collation = find_collation(sqlite3_vtab_collation(&info_, i));
    if (!collation || !constraint.usable) {
      if (chooses(column.role) && collation) refuse(decides + "what it equals must be known before this table is read");
      if (chooses(column.role) && !collation) refuse(decides + "it compares under the collations of SQLite itself");
      return;
    }
    if (chooses(column.role)) cheapen(kChoice);
    const bool whole_list = !is_null && sqlite3_vtab_in(&info_, i, -1) != 0;
    if (whole_list) sqlite3_vtab_in(&info_, i, 1);
    const char equality = constraint.op == SQLITE_INDEX_CONSTRAINT_IS ? 's' : 'k';
    // Where it sends, the table alone decides: a comparison that is left then is one it has not seen.
    if (column.role == Role::addressee) info_.aConstraintUsage[i].omit = 1;
    pass(i, is_null ? 'n' : whole_list ? 'i' : equality, number);
    if (!is_null) plan_ += static_cast<char>(*collation);
  }

  /// An argument that is used, but not given by =, is NULL in every row, and a term on it would drop what was asked.
  void require_all_arguments() {
    constexpr sqlite3_uint64 kEverything = ~sqlite3_uint64{0};
    if (info_.colUsed == kEverything) return;  // SQLite does not know
    for (std::size_t i = 0; i < given_.size(); ++i) {
      const std::size_t number = table_.columns.size() + i;
      if (given_[i] || number >= 63 || (info_.colUsed >> number & 1) == 0) continue;
      if (refusal_.empty()) {
        refusal_ = std::string(table_.arguments[i].name) +
                   " is an argument: it is used here, but not given a value by = or by position";
      }
    }
  }

  static bool is_equality(unsigned char op) {
    return op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_IS;
  }

  void pass(int i, char how, std::size_t number) {
    info_.aConstraintUsage[i].argvIndex = ++passed_;
    plan_ += how + std::to_string(number);
  }

  void cheapen(double factor) {
    if (cost_ < kRefused && factor < cheapened_) {
      cost_ = scan_.cost * factor;
      cheapened_ = factor;
    }
  }

  void refuse(std::string why) {
    if (refusal_.empty()) refusal_ = std::move(why);
    cost_ = kRefused;
  }

  const Table& table_;
  sqlite3_index_info& info_;
  std::string plan_;
  std::string refusal_;
  std::vector<bool> given_;
  Estimate scan_ = kAsking;
  double cost_ = 0;
  double cheapened_ = 1;
  int passed_ = 0;
};

int best_index(sqlite3_vtab* vtab, sqlite3_index_info* info) noexcept {
  const Module& module = static_cast<VirtualTable*>(vtab)->module;
  return report(vtab, guard(module.table.name,
                            [&] { Planner(module.table, *info).plan(module.connection->executions().tag()); }));
}

int open(sqlite3_vtab* vtab, sqlite3_vtab_cursor** out) noexcept {
  const Module& module = static_cast<VirtualTable*>(vtab)->module;
  return report(vtab, guard(module.table.name, [&] {
                  auto cursor = std::make_unique<Cursor>(module.table);
                  module.connection->executions().cursor_opened();
                  *out = cursor.release();
                }));
}

int close(sqlite3_vtab_cursor* base) noexcept {
  std::unique_ptr<Cursor> cursor(&as_cursor(base));
  cursor->scan.reset();
  cursor->connection().executions().cursor_closed(cursor->execution);
  return SQLITE_OK;
}

std::vector<OwnedValue> whole_list(sqlite3_value* list) {
  std::vector<OwnedValue> values;
  sqlite3_value* value = nullptr;
  int code = sqlite3_vtab_in_first(list, &value);
  for (; code == SQLITE_OK; code = sqlite3_vtab_in_next(list, &value)) values.emplace_back(value);
  if (code != SQLITE_DONE) throw SqlError(code, "cannot read the list of an IN");
  return values;
}

Constraints read_plan(const Table& table, const char* plan, sqlite3_value** values) {
  Constraints constraints(table.arguments);
  for (int i = 0; *plan != '\0'; ++i) {
    const char how = *plan++;
    if (how == '!') throw Error(plan);
    char* end = nullptr;
    const auto number = static_cast<std::size_t>(std::strtol(plan, &end, 10));
    plan = end;
    if (const Argument* argument = argument_at(table, number)) {
      constraints.give(*argument, OwnedValue(values[i]));
      continue;
    }
    const char* key = table.columns[number].name;
    if (how == 'x') {
      constraints.see(key);
      continue;
    }
    const auto collation = how == 'n' ? Collation::binary : static_cast<Collation>(*plan++);
    if (how == 'n' || (how == 's' && Value(values[i]).is_null())) {
      constraints.restrict(key, KeyTerm::is_null());
      continue;
    }
    std::vector<OwnedValue> given;
    if (how == 'i') {
      given = whole_list(values[i]);
    } else {
      given.emplace_back(values[i]);
    }
    constraints.restrict(key, KeyTerm::equals_any(std::move(given), collation));
  }
  return constraints;
}

/// Throws Error when the statement compares what decides whom to ask where this table learns of it too late, so that
/// rows would be hidden or missing. Where money is at stake that is told of the whole statement, before its first scan:
/// terms that the table has taken are compared nowhere else.
void refuse_late_terms(const Cursor& cursor, Execution& execution) {
  const Table& table = cursor.table();
  sqlite3_stmt* statement = cursor.execution->first;
  std::vector<std::size_t> watched;
  if (sends(table)) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].role == Role::addressee) watched.push_back(i);
    }
    for (std::size_t i = 0; i < table.arguments.size(); ++i) watched.push_back(table.columns.size() + i);
  } else {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const AnyColumn& column = table.columns[i];
      if (column.role == Role::choice && !cursor.constraints.knows(column.name)) watched.push_back(i);
    }
  }
  if (watched.empty() || statement == nullptr) return;
  const auto late = execution.memo<std::optional<bool>>("late");
  const auto comparison = sends(table) ? Comparison::any : Comparison::equality;
  if (!*late) *late = compares_late(cursor.connection(), statement, &cursor.virtual_table(), watched, comparison);
  if (!**late) return;
  const char* name = table.columns[watched.front()].name;
  throw Error(
      std::string(name) + (watched.size() > 1 ? ", or an argument," : "") +
      " is compared where this table learns of it too late: give it = or IN in a term of its own, or compare what "
      "WITH … AS MATERIALIZED has kept");
}

int filter(sqlite3_vtab_cursor* base, int, const char* plan, int, sqlite3_value** values) noexcept {
  Cursor& cursor = as_cursor(base);
  return report(base->pVtab, guard(cursor.table().name, [&] {
                  // Kept until the next scan is open: what it holds may be held by both.
                  const std::unique_ptr<AnyScan> previous = std::move(cursor.scan);
                  const Table& table = cursor.table();
                  const bool lasts = table.reach == Reach::outside;
                  Execution& execution =
                      cursor.connection().executions().cursor_filtered(cursor.execution, {&table, plan, lasts});
                  if (table.reach == Reach::outside && cursor.connection().in_nested_statement()) {
                    throw Error("refuses to run inside a statement that rpcroute itself started");
                  }
                  cursor.constraints = read_plan(table, Executions::behind_tag(plan), values);
                  if (cursor.constraints.contradict()) return;
                  refuse_late_terms(cursor, execution);
                  const Connection::CopiesScope copies(cursor.connection(), cursor.virtual_table().copies);
                  cursor.scan = table.open(cursor.connection(), execution, cursor.constraints);
                }));
}

int next(sqlite3_vtab_cursor* base) noexcept {
  Cursor& cursor = as_cursor(base);
  return report(base->pVtab, guard(cursor.table().name, [&] { cursor.scan->next(); }));
}

int at_end(sqlite3_vtab_cursor* base) noexcept {
  const Cursor& cursor = as_cursor(base);
  return cursor.scan == nullptr || cursor.scan->at_end() ? 1 : 0;
}

int column(sqlite3_vtab_cursor* base, sqlite3_context* context, int index) noexcept {
  const Cursor& cursor = as_cursor(base);
  const Outcome outcome = guard(cursor.table().name, [&] {
    const auto number = static_cast<std::size_t>(index);
    const Argument* argument = argument_at(cursor.table(), number);
    if (argument == nullptr) return cursor.table().columns[number].show(cursor.scan->any_row(), Result(context));
    // Arguments are echoed as given: SQLite checks a second term on the same argument against the echo.
    if (const OwnedValue* given = cursor.constraints.argument(argument->name)) Result(context).set(given->view());
  });
  report(context, outcome);
  return outcome.code;
}

int rowid(sqlite3_vtab_cursor* base, sqlite3_int64* out) noexcept {
  const Cursor& cursor = as_cursor(base);
  return report(base->pVtab, guard(cursor.table().name, [&] { *out = cursor.scan->rowid(); }));
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
  const int code = sqlite3_create_module_v2(connection->db(), name, creatable ? &instantiable : &eponymous_only,
                                            module.release(), [](void* aux) { delete static_cast<Module*>(aux); });
  if (code != SQLITE_OK) {
    throw SqlError(code, std::string("cannot register ") + name + ": " + sqlite3_errmsg(connection->db()));
  }
}

std::string Table::schema() const {
  return declaration(*this, name, true);
}

}  // namespace rpcroute::sqlite
