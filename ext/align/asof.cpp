#include "align/asof.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace rpcroute::align {
namespace {

/// The first index in [begin, end) of `times` that is not before `at`, and whether it is at `at`.
template <class Stored>
std::pair<std::size_t, bool> seek(std::span<const Stored> times, std::size_t begin, std::size_t end, const Time& at) {
  return std::visit(
      [&](auto moment) {
        const auto before = [](const Stored& time, decltype(moment) value) { return compare(time, value) < 0; };
        const auto first = times.begin();
        const auto found = std::lower_bound(first + static_cast<std::ptrdiff_t>(begin),
                                            first + static_cast<std::ptrdiff_t>(end), moment, before);
        const auto index = static_cast<std::size_t>(found - first);
        return std::pair(index, index < end && compare(*found, moment) == 0);
      },
      at);
}

/// Appends to an empty `values` until there are `size`, in steps: memory that is touched for the first time may cost
/// more than what is done with it.
template <class T>
void grow(std::vector<T>& values, std::size_t size, text::Budget& steps) {
  values.reserve(size);
  for (; values.size() < size; steps.step()) values.emplace_back();
}

/// Where each key's rows begin when they are laid out key after key.
std::vector<std::size_t> starts_of(const std::vector<KeyTable::Number>& numbers, std::size_t keys,
                                   text::Budget& steps) {
  std::vector<std::size_t> starts(keys + 1, 0);
  for (const KeyTable::Number number : numbers) {
    ++starts[number + 1];
    steps.step();
  }
  for (std::size_t key = 0; key < keys; ++key) starts[key + 1] += starts[key];
  return starts;
}

/// Moves `values` to where their keys' rows are, keeping the order within a key.
template <class T>
void scatter(std::vector<T>& values, const std::vector<KeyTable::Number>& numbers, std::vector<std::size_t> next,
             text::Budget& steps) {
  std::vector<T> placed;
  grow(placed, values.size(), steps);
  for (std::size_t i = 0; i < values.size(); ++i) {
    placed[next[numbers[i]]++] = values[i];
    steps.step();
  }
  values = std::move(placed);
}

template <class T>
struct Row {
  T time;
  std::int64_t rowid;
  std::uint32_t ordinal;
  bool operator<(const Row& other) const {
    const auto order = compare(time, other.time);
    return order != 0 ? order < 0 : rowid < other.rowid;
  }
};

/// The parallel arrays of an index under construction, seen as rows.
template <class T>
struct Rows {
  std::vector<T>& times;
  std::vector<std::int64_t>& rowids;
  std::vector<std::uint32_t>& ordinals;  ///< empty when nobody asks
  text::Budget& steps;

  Row<T> get(std::size_t i) const { return {times[i], rowids[i], ordinals.empty() ? 0 : ordinals[i]}; }
  void set(std::size_t i, const Row<T>& row) {
    times[i] = row.time;
    rowids[i] = row.rowid;
    if (!ordinals.empty()) ordinals[i] = row.ordinal;
  }

  /// By time and rowid. A history mostly comes sorted.
  void sort(std::size_t begin, std::size_t end) {
    std::size_t i = begin + 1;
    for (; i < end && !(get(i) < get(i - 1)); ++i) steps.step();
    if (i >= end) return;
    std::vector<Row<T>> sorted;
    sorted.reserve(end - begin);
    for (i = begin; i < end; ++i, steps.step()) sorted.push_back(get(i));
    std::sort(sorted.begin(), sorted.end(), [this](const Row<T>& left, const Row<T>& right) {
      steps.step();
      return left < right;
    });
    for (i = begin; i < end; ++i, steps.step()) set(i, sorted[i - begin]);
  }

  /// Moves the last row of each time in [begin, end) down to `out`; returns where the next goes.
  std::size_t keep_last_of_each_time(std::size_t begin, std::size_t end, std::size_t out) {
    for (std::size_t i = begin; i < end; ++i) {
      steps.step();
      if (i + 1 < end && compare(times[i], times[i + 1]) == 0) continue;
      if (out != i) set(out, get(i));
      ++out;
    }
    return out;
  }

  void cut(std::size_t size) {
    times.resize(size);
    rowids.resize(size);
    if (!ordinals.empty()) ordinals.resize(size);
  }
};

}  // namespace

std::optional<Match> parse_match(std::string_view text) {
  if (text == "<") return Match::before;
  if (text == "<=") return Match::before_or_at;
  if (text == ">") return Match::after;
  if (text == ">=") return Match::after_or_at;
  if (text == "nearest") return Match::nearest;
  return std::nullopt;
}

void AsofIndex::Builder::add(const KeyView& key, const Time& time, std::int64_t rowid) {
  if (rowids_.size() >= std::numeric_limits<std::uint32_t>::max()) throw std::length_error("too many rows");
  numbers_.push_back(keys_.add(key));
  times_.add(time);
  rowids_.push_back(rowid);
}

AsofIndex AsofIndex::Builder::build(const text::Pulse& pulse) && {
  text::Budget steps(pulse);
  AsofIndex index;
  index.starts_ = starts_of(numbers_, keys_.size(), steps);
  if (keep_ordinals_) {
    grow(index.ordinals_, numbers_.size(), steps);
    for (std::size_t i = 0; i < numbers_.size(); ++i) index.ordinals_[i] = static_cast<std::uint32_t>(i);
    scatter(index.ordinals_, numbers_, index.starts_, steps);
  }
  scatter(rowids_, numbers_, index.starts_, steps);
  std::visit([&](auto& times) { scatter(times, numbers_, index.starts_, steps); }, times_.values());
  numbers_ = {};
  index.keys_ = std::move(keys_);
  index.times_ = std::move(times_);
  index.rowids_ = std::move(rowids_);

  std::visit(
      [&](auto& times) {
        using T = typename std::decay_t<decltype(times)>::value_type;
        Rows<T> rows{times, index.rowids_, index.ordinals_, steps};
        std::size_t out = 0;
        for (std::size_t key = 0; key + 1 < index.starts_.size(); ++key) {
          const std::size_t begin = std::exchange(index.starts_[key], out);
          const std::size_t end = index.starts_[key + 1];
          rows.sort(begin, end);
          out = rows.keep_last_of_each_time(begin, end, out);
        }
        index.starts_.back() = out;
        rows.cut(out);
      },
      index.times_.values());
  return index;
}

std::optional<AsofIndex::Position> AsofIndex::find(const AsofQuestion& question) const {
  const auto number = keys_.find(question.key);
  if (!number) return std::nullopt;
  const std::size_t begin = starts_[*number];
  const std::size_t end = starts_[*number + 1];
  const auto [seen, exact] =
      std::visit([&](const auto& times) { return seek(std::span(times), begin, end, question.at); }, times_.values());

  // Rows [begin, seen) are before the moment, `seen` is at it when exact, the rest is after it.
  const auto before = [&, at = seen]() -> std::optional<Position> {
    if (at == begin || !within(question.tolerance, times_[at - 1], question.at)) return std::nullopt;
    return at - 1;
  };
  const auto after = [&](std::size_t candidate) -> std::optional<Position> {
    if (candidate == end || !within(question.tolerance, question.at, times_[candidate])) return std::nullopt;
    return candidate;
  };
  switch (question.match) {
    case Match::before:
      return before();
    case Match::before_or_at:
      return exact ? seen : before();
    case Match::after:
      return after(exact ? seen + 1 : seen);
    case Match::after_or_at:
      return after(seen);
    case Match::nearest:
      break;
  }
  if (exact || seen == begin) return after(seen);
  if (seen != end && later_is_nearer(times_[seen - 1], question.at, times_[seen])) return after(seen);
  return before();
}

}  // namespace rpcroute::align
