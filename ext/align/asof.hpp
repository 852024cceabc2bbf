// As-of matching: for a key and a moment, the one row of a history that was current then.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "align/key.hpp"
#include "align/time.hpp"
#include "text/budget.hpp"

namespace rpcroute::align {

/// Which side of the moment asked about the row's time must be on.
enum class Match { before, before_or_at, after, after_or_at, nearest };

/// '<', '<=', '>', '>=' or 'nearest'; nullopt for anything else.
std::optional<Match> parse_match(std::string_view text);

struct AsofQuestion {
  KeyView key;
  Time at;
  Match match = Match::before;
  Tolerance tolerance;
};

/// An immutable history, sorted: per key the distinct times and the row at each, in two flat arrays (16 bytes a row
/// while all times are of one type). Safe to ask from several threads.
class AsofIndex {
 public:
  /// Where a row stands in the index.
  using Position = std::size_t;

  class Builder;

  /// The row of the asked key nearest to `at` among those on the asked side and within the tolerance. 'nearest' takes
  /// the earlier of two that are equally near. nullopt when there is none.
  std::optional<Position> find(const AsofQuestion& question) const;

  std::int64_t rowid(Position position) const { return rowids_[position]; }
  Time time(Position position) const { return times_[position]; }
  /// Which call of Builder::add() brought the row, from 0. Only if the builder was told to keep it.
  std::uint32_t ordinal(Position position) const { return ordinals_[position]; }

 private:
  KeyTable keys_;
  std::vector<Position> starts_;  ///< of each key's rows; one more at the end
  TimeColumn times_;
  std::vector<std::int64_t> rowids_;
  std::vector<std::uint32_t> ordinals_;
};

/// Takes the history in any order; at most 2^32 - 1 rows.
class AsofIndex::Builder {
 public:
  explicit Builder(bool keep_ordinals = false) : keep_ordinals_(keep_ordinals) {}

  void add(const KeyView& key, const Time& time, std::int64_t rowid);
  /// Of rows with the same key and time, the one with the highest rowid stands for all.
  AsofIndex build(const text::Pulse& pulse = {}) &&;

 private:
  bool keep_ordinals_;
  KeyTable keys_;
  std::vector<KeyTable::Number> numbers_;
  TimeColumn times_;
  std::vector<std::int64_t> rowids_;
};

}  // namespace rpcroute::align
