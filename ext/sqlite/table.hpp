// Eponymous virtual tables: a table is its columns, declared as data, and one function that opens a scan.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sqlite/connection.hpp"
#include "sqlite/doc.hpp"
#include "sqlite/error.hpp"
#include "sqlite/execution.hpp"
#include "sqlite/result.hpp"
#include "sqlite/value.hpp"

namespace rpcroute::sqlite {

struct Column {
  enum class Role {
    plain,    ///< filled by the table
    key,      ///< filled by the table, and an equality or IN on it restricts the work done
    argument  ///< hidden: an argument, by position or as a WHERE term
  };
  const char* name;
  const char* type;  ///< "TEXT", "INTEGER", "REAL" or "" – arguments have none, so that they compare as given
  Role role = Role::plain;
  const char* meaning = "";
};

/// What the statement demands of one scan.
class Constraints {
 public:
  /// An argument given by position or WHERE term; nullptr when absent. A NULL that was given is present.
  const OwnedValue* argument(std::string_view name) const;

  /// The values a key column is restricted to, NULLs left out; nullopt when it is free.
  std::optional<std::vector<std::string>> texts(std::string_view name) const;

  /// The argument as a whole number in [low, high]; `fallback` when absent. Throws Error for NULL, other types, or a
  /// value outside the range.
  std::int64_t integer(std::string_view name, std::int64_t low, std::int64_t high, std::int64_t fallback) const;
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t low, std::int64_t high) const;
  /// The same for a finite real number.
  std::optional<double> real(std::string_view name, double low, double high) const;
  /// The argument as text without embedded NUL; nullopt when absent. Throws Error otherwise.
  std::optional<std::string> text(std::string_view name) const;

  /// A key that is equal exactly when all the named arguments are: for memos.
  std::string fingerprint(const std::vector<std::string_view>& names) const;

  void add(const std::string& column, std::vector<OwnedValue> values);

 private:
  std::map<std::string, std::vector<OwnedValue>, std::less<>> values_;
};

/// One scan. Positioned on its first row when opened.
class Scan {
 public:
  virtual ~Scan() = default;
  virtual bool at_end() const = 0;
  virtual void next() = 0;
  /// `index` counts the declared columns from 0; arguments are answered by the caller.
  virtual void column(int index, Result result) const = 0;
  /// Identifies the row within the connection.
  virtual std::int64_t rowid() const = 0;
};

class Table {
 public:
  virtual ~Table() = default;
  virtual const char* name() const = 0;
  virtual Reach reach() const = 0;
  virtual Doc doc() const = 0;
  virtual const std::vector<Column>& columns() const = 0;
  /// May also be instantiated by CREATE VIRTUAL TABLE temp.x USING name.
  virtual bool creatable() const { return false; }
  /// Opens a scan. What cannot be done without an argument is an error here, not at planning, where an OR is tried
  /// branch by branch.
  virtual std::unique_ptr<Scan> open(Connection& connection, Execution& execution,
                                     const Constraints& constraints) const = 0;

  /// Registers the table's module; throws SqlError.
  void create(const std::shared_ptr<Connection>& connection) const;
};

/// A scan over rows that are kept by somebody else, each with its connection-wide rowid.
template <class Row>
struct Numbered {
  Numbered(std::int64_t number, Row content) : rowid(number), row(std::move(content)) {}
  std::int64_t rowid;
  Row row;
};

template <class Row>
class RowsScan : public Scan {
 public:
  using Rows = std::vector<std::shared_ptr<const Numbered<Row>>>;
  using Show = void (*)(const Row&, int, Result);
  RowsScan(Rows rows, Show show) : rows_(std::move(rows)), show_(show) {}

  bool at_end() const override { return position_ >= rows_.size(); }
  void next() override { ++position_; }
  void column(int index, Result result) const override { show_(rows_[position_]->row, index, result); }
  std::int64_t rowid() const override { return rows_[position_]->rowid; }

 private:
  Rows rows_;
  Show show_;
  std::size_t position_ = 0;
};

}  // namespace rpcroute::sqlite
