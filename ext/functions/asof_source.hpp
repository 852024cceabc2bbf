// Where asof_join reads its histories from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "functions/align_argument.hpp"
#include "sqlite/query.hpp"

namespace rpcroute::functions {

/// An ordinary table, or a view over ordinary tables, with rowids. Everything that is wrong with it throws
/// sqlite::Error that names it.
class AsofSource {
 public:
  /// `written` is the name as parse_qualified_name() takes it.
  AsofSource(sqlite::Connection& connection, std::string_view written);

  /// One scan over some of the columns.
  class Reader;
  /// Single look-ups through an index that the source has.
  class Lookup;

 private:
  std::string column(std::string_view name) const;

  sqlite::Connection& connection_;
  sqlite::Relation relation_;
  std::vector<std::string> columns_;
};

class AsofSource::Reader {
 public:
  /// `by` is nullopt for a history without a key: all rows have the same one then. Columns are named as they are, not
  /// quoted.
  Reader(const AsofSource& source, const std::optional<std::string>& by, const std::string& time,
         const std::vector<std::string>& more = {});

  bool step() { return query_.step(); }
  std::int64_t rowid() const;
  /// Valid until the next step().
  std::optional<align::KeyView> key() const { return key_argument(query_.value(1)); }
  std::optional<align::Time> time() const { return time_argument(time_name_, query_.value(2)); }
  /// As the row has it, and what it is called.
  sqlite::Value raw_time() const { return query_.value(2); }
  const std::string& time_name() const { return time_name_; }
  /// The value of the `index`-th of `more`, valid until the next step().
  sqlite::Value value(std::size_t index) const { return query_.value(3 + static_cast<int>(index)); }

 private:
  std::string source_name_;
  std::string time_name_;
  sqlite::Query query_;
};

class AsofSource::Lookup {
 public:
  struct Row {
    std::int64_t rowid;
    align::Time time;
  };

  /// Arguments as for Reader; `source` must outlive this.
  Lookup(const AsofSource& source, const std::optional<std::string>& by, const std::string& time);

  /// Whether an index of the source finds the last row of a key before a time without sorting or scanning.
  bool has_index() const;
  /// The last row of `key` before `at`, or at it with `or_at`. Throws sqlite::Error as AsofHistory does. A few
  /// microseconds each: the statement is not kept, since a host may finalize all statements of a connection it wants to
  /// close.
  std::optional<Row> last_before(sqlite::Value key, sqlite::Value at, bool or_at) const;

 private:
  std::string select(const char* match) const;

  const AsofSource& source_;
  std::string time_name_;
  std::string time_;
  std::string same_key_;
};

/// All of a source, sorted for look-up. A row whose key or time is NULL is no part of it. A time that is no number is
/// an error for whoever asks for that key, and for nobody else: so it is through an index too, which sees no other
/// keys.
class AsofHistory {
 public:
  class Builder;

  /// As AsofIndex::find(). Throws sqlite::Error when the asked key has a time that is no number.
  std::optional<align::AsofIndex::Position> find(const align::AsofQuestion& question) const;
  const align::AsofIndex& index() const { return index_; }

 private:
  /// The row of lowest rowid whose time is no number.
  struct Misfit {
    std::int64_t rowid;
    std::string time;
  };

  align::AsofIndex index_;
  std::string time_name_;
  align::KeyTable misfit_keys_;
  std::vector<Misfit> misfits_;  ///< by the number of their key
};

class AsofHistory::Builder {
 public:
  explicit Builder(bool keep_ordinals = false) : rows_(keep_ordinals) {}

  /// Takes the reader's row; false when it is no part of the history.
  bool add(const AsofSource::Reader& row);
  AsofHistory build(const text::Pulse& pulse) &&;

 private:
  AsofHistory history_;
  align::AsofIndex::Builder rows_;
};

/// Held while a source is read: a TEMP view may call asof_join() itself, and could name itself as the source.
class AsofNesting {
 public:
  /// Throws sqlite::Error when views call each other too deeply.
  explicit AsofNesting(sqlite::Connection& connection);
  ~AsofNesting() { --depth_; }
  AsofNesting(const AsofNesting&) = delete;
  AsofNesting& operator=(const AsofNesting&) = delete;

 private:
  int& depth_;
};

/// The key of a history without one.
inline align::KeyView no_key() {
  return align::KeyView::integer(0);
}

}  // namespace rpcroute::functions
