// Eponymous virtual tables: a table is a value – its columns, each with the accessor that shows it, its arguments, and
// one function that opens a scan.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sqlite/connection.hpp"
#include "sqlite/constraints.hpp"
#include "sqlite/doc.hpp"
#include "sqlite/error.hpp"
#include "sqlite/execution.hpp"
#include "sqlite/result.hpp"
#include "sqlite/value.hpp"

namespace rpcroute::sqlite {

/// What a term on a column does before the scan begins. Whatever it does, SQLite checks the row against the term too.
enum class Role {
  plain,     ///< nothing
  key,       ///< =, IS and IN restrict the work
  choice,    ///< the same, and they choose what there is to see: a plan that cannot know them first is refused
  addressee  ///< the same, and money goes there: other comparisons, which act after the deed, are refused too
};

/// A column whose rows are of a type that only the table knows.
struct AnyColumn {
  const char* name;
  const char* type;  ///< "TEXT", "INTEGER", "REAL" or "" for any
  const char* meaning;
  Role role;
  std::function<void(const void* row, Result)> show;
};

/// A column of rows of type `Row`.
template <class Row>
struct Column : AnyColumn {};

/// Declares a column. `accessor` is a member of Row, or a function of it: either gives the value, in a type that
/// Result::set() takes, or takes the Result as its second argument.
template <class Row, class Accessor>
Column<Row> column(const char* name, const char* type, const char* meaning, Accessor accessor,
                   Role role = Role::plain) {
  return {{name, type, meaning, role, [accessor](const void* row, Result result) {
             if constexpr (std::is_invocable_v<Accessor, const Row&, Result>) {
               accessor(*static_cast<const Row*>(row), result);
             } else {
               result.set(std::invoke(accessor, *static_cast<const Row*>(row)));
             }
           }}};
}

template <class Row, class Member>
Column<Row> column(const char* name, const char* type, const char* meaning, Member Row::*member,
                   Role role = Role::plain) {
  return column<Row, Member Row::*>(name, type, meaning, member, role);
}

/// One scan. Positioned on its first row when opened.
class AnyScan {
 public:
  virtual ~AnyScan() = default;
  virtual bool at_end() const = 0;
  virtual void next() = 0;
  /// Identifies the row within the connection.
  virtual std::int64_t rowid() const = 0;
  virtual const void* any_row() const = 0;
};

template <class Row>
class Scan : public AnyScan {
 public:
  virtual const Row& row() const = 0;
  const void* any_row() const final { return &row(); }
};

template <class Row>
using OpenScan =
    std::function<std::unique_ptr<Scan<Row>>(Connection& connection, Execution& execution, const Constraints&)>;

struct Table {
  const char* name;
  Reach reach;
  Doc doc;
  /// May also be instantiated by CREATE VIRTUAL TABLE temp.x USING name.
  bool creatable;
  std::vector<AnyColumn> columns;
  std::vector<Argument> arguments;  ///< hidden columns, after the others
  /// Opens a scan. What cannot be done without an argument is an error here, not at planning, where an OR is tried
  /// branch by branch.
  std::function<std::unique_ptr<AnyScan>(Connection&, Execution&, const Constraints&)> open;

  /// Registers the table's module; throws SqlError.
  void create(const std::shared_ptr<Connection>& connection) const;

  /// The table as CREATE TABLE declares it, with the meaning of each column.
  std::string schema() const;
};

/// What a table is made of, with the type of its rows.
template <class Row>
struct TableOf {
  const char* name;
  Reach reach;
  Doc doc;
  bool creatable = false;
  std::vector<Column<Row>> columns;
  std::vector<Argument> arguments = {};
  OpenScan<Row> open;

  Table table() && {
    return {name,
            reach,
            doc,
            creatable,
            {std::make_move_iterator(columns.begin()), std::make_move_iterator(columns.end())},
            std::move(arguments),
            std::move(open)};
  }
};

/// A scan over rows that are kept by somebody else, each with its connection-wide rowid.
template <class Row>
struct Numbered {
  Numbered(std::int64_t number, Row content) : rowid(number), row(std::move(content)) {}
  std::int64_t rowid;
  Row row;
};

template <class Row>
class RowsScan : public Scan<Row> {
 public:
  using Rows = std::vector<std::shared_ptr<const Numbered<Row>>>;
  explicit RowsScan(Rows rows) : rows_(std::move(rows)) {}

  bool at_end() const override { return position_ >= rows_.size(); }
  void next() override { ++position_; }
  const Row& row() const override { return rows_[position_]->row; }
  std::int64_t rowid() const override { return rows_[position_]->rowid; }

 private:
  Rows rows_;
  std::size_t position_ = 0;
};

}  // namespace rpcroute::sqlite
