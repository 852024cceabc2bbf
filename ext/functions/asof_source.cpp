#include "functions/asof_source.hpp"

#include <algorithm>
#include <set>
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

std::int64_t rowid_of(const std::string& relation, sqlite::Value rowid) {
  if (rowid.is_integer()) return rowid.integer();
  throw sqlite::Error("the rowid of " + relation + " must be an INTEGER, got " + sqlite::quoted(rowid));
}

/// Whether the first column of `sql` is a rowid that SQLite itself keeps: told by the operation that fills the register
/// the program shows.
bool shows_true_rowid(sqlite::Connection& connection, const std::string& sql) {
  std::set<std::int64_t> rowids;
  std::int64_t shown = -1;
  sqlite::Query program(connection, "EXPLAIN " + sql);  // addr, opcode, p1, p2, …
  while (program.step()) {
    const std::string operation = program.text(1);
    if (operation == "Rowid" || operation == "IdxRowid") rowids.insert(program.integer(3));
    if (operation == "ResultRow") shown = program.integer(2);
  }
  return rowids.contains(shown);
}

}  // namespace

AsofSource::AsofSource(sqlite::Connection& connection, std::string_view written)
    : connection_(connection), relation_(relation_of(connection, written)) {
  // By the PRAGMA statement, since a database can hold a table named pragma_table_xinfo.
  sqlite::Query list(connection, "PRAGMA " + sqlite::identifier(relation_.schema) + ".table_xinfo(" +
                                     sqlite::identifier(relation_.name) + ")");  // cid, name, …
  while (list.step()) columns_.push_back(list.text(1));
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
  return rowid_of(source_name_, query_.value(0));
}

AsofSource::Lookup::Lookup(const AsofSource& source, const std::optional<std::string>& by, const std::string& time)
    : source_(source), time_name_(source.relation_.name + "." + time), time_(source.column(time)) {
  if (!by) {
    same_key_ = "1";
    return;
  }
  // The first term can use the index but compares with the column's affinity; the plus takes that away.
  const std::string key = source.column(*by);
  same_key_ = key + " = ?1 COLLATE BINARY AND +" + key + " = ?1 COLLATE BINARY";
}

std::string AsofSource::Lookup::select(const char* match) const {
  return "SELECT s.rowid, " + time_ + " FROM " + source_.relation_.sql() + " AS s WHERE " + same_key_ + " AND " +
         time_ + " " + match + " ?2 ORDER BY " + time_ + " DESC, s.rowid DESC LIMIT 1";
}

bool AsofSource::Lookup::has_index() const {
  sqlite::Query plan(source_.connection_, "EXPLAIN QUERY PLAN " + select("<"));
  if (!plan.step()) return false;
  const std::string detail = plan.text(3);
  const bool is_keyed = same_key_ != "1";
  const bool seeks = detail.starts_with("SEARCH ") && detail.find(is_keyed ? "=? AND " : "(") != std::string::npos &&
                     detail.ends_with("<?)");
  // A column named rowid may hold what is no rowid, and then every row must be looked at.
  return seeks && !plan.step() && shows_true_rowid(source_.connection_, select("<"));
}

std::optional<AsofSource::Lookup::Row> AsofSource::Lookup::last_before(sqlite::Value key, sqlite::Value at,
                                                                       bool or_at) const {
  // Texts and blobs come after all numbers: one seek tells whether the key has a time that is none. The plus keeps
  // SQLite from walking the whole source in the order of its rowids.
  sqlite::Query misfit(source_.connection_, "SELECT min(+s.rowid), " + time_ + " FROM " + source_.relation_.sql() +
                                                " AS s WHERE " + same_key_ + " AND " + time_ + " >= ''");
  if (same_key_ != "1") misfit.bind(1, key);
  if (misfit.step()) time_argument(time_name_, misfit.value(1));

  sqlite::Query row(source_.connection_, select(or_at ? "<=" : "<"));
  if (same_key_ != "1") row.bind(1, key);
  row.bind(2, at);
  if (!row.step()) return std::nullopt;
  const auto time = time_argument(time_name_, row.value(1));
  return Row{rowid_of(source_.relation_.name, row.value(0)), time.value()};
}

std::optional<align::AsofIndex::Position> AsofHistory::find(const align::AsofQuestion& question) const {
  if (!misfits_.empty()) {
    if (const auto number = misfit_keys_.find(question.key)) {
      throw sqlite::Error(not_a_time(time_name_, misfits_[*number].time));
    }
  }
  return index_.find(question);
}

bool AsofHistory::Builder::add(const AsofSource::Reader& row) {
  const auto key = row.key();
  const sqlite::Value time = row.raw_time();
  if (!key || time.is_null()) return false;
  if (time.is_number()) {
    rows_.add(*key, *row.time(), row.rowid());
    return true;
  }
  const auto number = history_.misfit_keys_.add(*key);
  Misfit misfit{row.rowid(), sqlite::quoted(time)};
  if (number == history_.misfits_.size()) {
    history_.misfits_.push_back(std::move(misfit));
  } else if (misfit.rowid < history_.misfits_[number].rowid) {
    history_.misfits_[number] = std::move(misfit);
  }
  history_.time_name_ = row.time_name();
  return false;
}

AsofHistory AsofHistory::Builder::build(const text::Pulse& pulse) && {
  history_.index_ = std::move(rows_).build(pulse);
  return std::move(history_);
}

namespace {

struct Depth {
  int value = 0;
};

}  // namespace

AsofNesting::AsofNesting(sqlite::Connection& connection) : depth_(connection.service<Depth>().value) {
  constexpr int kMost = 16;
  if (depth_ >= kMost)
    throw sqlite::Error("a source reads itself, or more than 16 views call asof_join() through each other");
  ++depth_;
}

}  // namespace rpcroute::functions
