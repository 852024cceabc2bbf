// asof_join(left_source, right_source, by, time [, tolerance [, match [, columns]]]): two histories aligned, row by
// row.
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "align/asof.hpp"
#include "functions/asof_source.hpp"
#include "sqlite/value_column.hpp"
#include "tables/tables.hpp"
#include "text/json.hpp"

namespace rpcroute::tables {
namespace {

using functions::AsofSource;
using sqlite::Accepts;
using sqlite::column;

constexpr std::size_t kMostColumns = 8;
constexpr std::array kColumnNames{"c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"};
static_assert(kColumnNames.size() == kMostColumns);

/// A column name on either side.
struct NamePair {
  std::string left;
  std::string right;

  /// Reads 'name' or 'left_name=right_name'.
  static NamePair parse(const std::string& text) {
    const auto equals = text.find('=');
    if (equals == std::string::npos) return {text, text};
    return {trimmed(text.substr(0, equals)), trimmed(text.substr(equals + 1))};
  }

 private:
  static std::string trimmed(const std::string& text) {
    const auto begin = text.find_first_not_of(' ');
    if (begin == std::string::npos) return {};
    return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
  }
};

std::vector<std::string> parse_columns(const std::string& json) {
  const text::JsonTree tree(json);
  bool valid = tree.root().is_array();
  std::vector<std::string> names;
  for (const text::Json name : tree.root().elements()) {
    valid = valid && name.is_text() && names.size() < kMostColumns;
    if (valid) names.emplace_back(name.text());
  }
  if (!valid) throw sqlite::Error("columns must be a JSON array of up to 8 column names, got '" + json + "'");
  return names;
}

struct Request {
  std::string left_source;
  std::string right_source;
  std::optional<NamePair> by;
  NamePair time;
  align::Tolerance tolerance;
  align::Match match = align::Match::before;
  std::vector<std::string> columns;

  explicit Request(const sqlite::Constraints& constraints)
      : left_source(required(constraints, "left_source")),
        right_source(required(constraints, "right_source")),
        time(NamePair::parse(required(constraints, "time"))) {
    const auto* key = constraints.argument("by");
    if (key == nullptr) throw sqlite::Error("by is missing; by = NULL matches by time alone");
    if (!key->view().is_null()) by = NamePair::parse(required(constraints, "by"));
    if (const auto* given = constraints.argument("tolerance")) tolerance = functions::tolerance_argument(given->view());
    if (const auto* given = constraints.argument("match")) match = functions::match_argument(given->view());
    if (const auto json = constraints.text("columns")) columns = parse_columns(*json);
  }

  AsofSource::Reader left_rows(sqlite::Connection& connection) const {
    return {AsofSource(connection, left_source), by ? std::optional(by->left) : std::nullopt, time.left};
  }
  AsofSource::Reader right_rows(sqlite::Connection& connection) const {
    return {AsofSource(connection, right_source), by ? std::optional(by->right) : std::nullopt, time.right, columns};
  }

 private:
  static std::string required(const sqlite::Constraints& constraints, const char* name) {
    if (auto text = constraints.text(name)) return *text;
    throw sqlite::Error(std::string(name) + " is missing: asof_join(left_source, right_source, by, time)");
  }
};

/// The right side: sorted for look-up, with the values asked for.
class RightSide {
 public:
  RightSide(sqlite::Connection& connection, const Request& request, AsofSource::Reader& rows)
      : columns_(request.columns.size()) {
    const functions::AsofNesting nesting(connection);
    functions::AsofHistory::Builder builder(!columns_.empty());
    while (rows.step()) {
      if (!builder.add(rows)) continue;
      for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i].add(rows.value(i));
    }
    history_ = std::move(builder).build(connection.pulse());
  }

  std::optional<std::size_t> find(const align::AsofQuestion& question) const { return history_.find(question); }
  const align::AsofIndex& index() const { return history_.index(); }

  void show(std::size_t column, std::size_t position, sqlite::Result result) const {
    if (column < columns_.size()) columns_[column].show(index().ordinal(position), result);
  }

 private:
  functions::AsofHistory history_;
  std::vector<sqlite::ValueColumn> columns_;  ///< in the order the rows were read
};

/// The whole answer, made once for each execution and arguments.
class Alignment {
 public:
  // Both sides are opened before either is read: no row hides a wrong name.
  Alignment(sqlite::Connection& connection, const Request& request)
      : Alignment(connection, request, request.left_rows(connection), request.right_rows(connection)) {}

  std::size_t size() const { return left_rowids_.size(); }
  std::int64_t rowid(std::size_t row) const { return first_rowid_ + static_cast<std::int64_t>(row); }

  std::int64_t left_rowid(std::size_t row) const { return left_rowids_[row]; }

  std::optional<std::int64_t> right_rowid(std::size_t row) const {
    return is_matched(row) ? std::optional(right_.index().rowid(matches_[row])) : std::nullopt;
  }

  std::optional<align::Time> gap(std::size_t row) const {
    if (!is_matched(row)) return std::nullopt;
    return align::difference(left_times_[row], right_.index().time(matches_[row]));
  }

  /// The value of the `column`-th of the columns asked for.
  void show(std::size_t row, std::size_t column, sqlite::Result result) const {
    if (is_matched(row)) right_.show(column, matches_[row], result);
  }

 private:
  static constexpr std::uint32_t kUnmatched = std::numeric_limits<std::uint32_t>::max();

  bool is_matched(std::size_t row) const { return matches_[row] != kUnmatched; }

  Alignment(sqlite::Connection& connection, const Request& request, AsofSource::Reader rows,
            AsofSource::Reader right_rows)
      : right_(connection, request, right_rows) {
    const functions::AsofNesting nesting(connection);
    while (rows.step()) {
      const auto key = rows.key();
      const auto time = rows.time();
      std::optional<std::size_t> match;
      if (key && time) match = right_.find({*key, *time, request.match, request.tolerance});
      left_rowids_.push_back(rows.rowid());
      left_times_.add(time.value_or(0));
      matches_.push_back(match ? static_cast<std::uint32_t>(*match) : kUnmatched);
      const std::int64_t rowid = connection.next_rowid();
      if (left_rowids_.size() == 1) first_rowid_ = rowid;
    }
  }

  RightSide right_;
  std::vector<std::int64_t> left_rowids_;
  align::TimeColumn left_times_;  ///< 0 where NULL
  std::vector<std::uint32_t> matches_;
  std::int64_t first_rowid_ = 0;
};

struct AlignedRow {
  std::shared_ptr<const Alignment> alignment;
  std::size_t position = 0;
};

class AlignmentScan : public sqlite::Scan<AlignedRow> {
 public:
  explicit AlignmentScan(std::shared_ptr<const Alignment> alignment) : row_{std::move(alignment)} {}
  bool at_end() const override { return row_.position >= row_.alignment->size(); }
  void next() override { ++row_.position; }
  const AlignedRow& row() const override { return row_; }
  std::int64_t rowid() const override { return row_.alignment->rowid(row_.position); }

 private:
  AlignedRow row_;
};

std::vector<sqlite::Column<AlignedRow>> columns() {
  using Row = AlignedRow;
  std::vector<sqlite::Column<Row>> columns{
      column<Row>("left_rowid", "INTEGER", "the row of left_source",
                  [](const Row& row) { return row.alignment->left_rowid(row.position); }),
      column<Row>("right_rowid", "INTEGER", "the row of right_source; NULL when unmatched",
                  [](const Row& row) { return row.alignment->right_rowid(row.position); }),
      column<Row>("gap", "", "left time - right time; NULL when unmatched", [](const Row& row, sqlite::Result result) {
        if (const auto gap = row.alignment->gap(row.position)) std::visit([&](auto value) { result.set(value); }, *gap);
      })};
  for (std::size_t i = 0; i < kMostColumns; ++i) {
    columns.push_back(
        column<Row>(kColumnNames[i], "", "the value of that one of columns; NULL when unmatched",
                    [i](const Row& row, sqlite::Result result) { row.alignment->show(row.position, i, result); }));
  }
  return columns;
}

std::unique_ptr<sqlite::Scan<AlignedRow>> open(sqlite::Connection& connection, sqlite::Execution& execution,
                                               const sqlite::Constraints& constraints) {
  using Memo = std::shared_ptr<const Alignment>;
  const auto memo = execution.memo<Memo>(constraints.arguments_fingerprint());
  if (*memo == nullptr) *memo = std::make_shared<const Alignment>(connection, Request(constraints));
  return std::make_unique<AlignmentScan>(*memo);
}

}  // namespace

const sqlite::Table& asof_join() {
  static const sqlite::Table table =
      sqlite::TableOf<AlignedRow>{
          .name = "asof_join",
          .reach = sqlite::Reach::reads,
          .doc =
              {"asof_join(left_source, right_source, by, time [, tolerance [, match [, columns]]])",
               "One row for each row of left_source with the row of right_source that the function asof_join() would "
               "find for it. by and time may be 'left_name=right_name'; by = NULL: no key. Reads both sides before "
               "its first row.",
               "SELECT left_rowid, gap, c1 FROM asof_join('tx_outcomes', 'rpc_metrics', 'provider_id', 'timestamp', "
               "900, '<', '[\"latency_ms\"]')"},
          .columns = columns(),
          .arguments = {{"left_source", Accepts::text(), "table or view, may be schema-qualified or quoted"},
                        {"right_source", Accepts::text(), "table or view, may be schema-qualified or quoted"},
                        {"by", Accepts::text().or_null(), "key column, or 'left_name=right_name'; NULL for no key"},
                        {"time", Accepts::text(), "time column, or 'left_name=right_name'"},
                        {"tolerance", Accepts::anything(), "largest gap, inclusive; NULL or absent for no limit"},
                        {"match", Accepts::anything(), "'<' (default), '<=', '>', '>=' or 'nearest'"},
                        {"columns", Accepts::text(), "JSON array of up to 8 columns of right_source, for c1, c2, …"}},
          .open = open}
          .table();
  return table;
}

}  // namespace rpcroute::tables
