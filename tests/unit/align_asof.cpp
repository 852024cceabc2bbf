#include <catch2/catch.hpp>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "align/asof.hpp"

using rpcroute::align::AsofIndex;
using rpcroute::align::compare;
using rpcroute::align::KeyView;
using rpcroute::align::Match;
using rpcroute::align::Time;
using rpcroute::align::Tolerance;
using rpcroute::align::within;

namespace {

struct Row {
  int key;
  Time time;
  std::int64_t rowid;
};

AsofIndex index_of(const std::vector<Row>& rows) {
  AsofIndex::Builder builder;
  for (const Row& row : rows) builder.add(KeyView::integer(row.key), row.time, row.rowid);
  return std::move(builder).build();
}

std::optional<std::int64_t> find(const AsofIndex& index, int key, Time at, Match match, Tolerance tolerance = {}) {
  const auto found = index.find({KeyView::integer(key), at, match, tolerance});
  if (!found) return std::nullopt;
  return index.rowid(*found);
}

bool satisfies(Match match, const Time& time, const Time& at) {
  const auto order = compare(time, at);
  if (match == Match::before) return order < 0;
  if (match == Match::before_or_at) return order <= 0;
  if (match == Match::after) return order > 0;
  return match == Match::nearest || order >= 0;
}

/// -1, 0 or 1: whether `left` is nearer to `at`, all of them multiples of 1/4 below 2^61.
int nearer(const Time& left, const Time& right, const Time& at) {
  const auto quarters = [](const Time& time) {
    return std::visit(
        [](auto value) -> std::int64_t {
          if constexpr (std::is_same_v<decltype(value), double>)
            return static_cast<std::int64_t>(value * 4.0);
          else
            return static_cast<std::int64_t>(value) * 4;
        },
        time);
  };
  const auto distance = [&](const Time& time) {
    const std::int64_t apart = quarters(time) - quarters(at);
    return apart < 0 ? -apart : apart;
  };
  return distance(left) < distance(right) ? -1 : distance(left) > distance(right);
}

/// The definition, row by row.
std::optional<std::int64_t> look(const std::vector<Row>& rows, int key, const Time& at, Match match,
                                 const Tolerance& tolerance) {
  const Row* best = nullptr;
  for (const Row& row : rows) {
    if (row.key != key || !satisfies(match, row.time, at)) continue;
    const bool is_before = compare(row.time, at) < 0;
    if (!within(tolerance, is_before ? row.time : at, is_before ? at : row.time)) continue;
    const int order = best == nullptr ? -1 : nearer(row.time, best->time, at);
    const auto times = best == nullptr ? std::weak_ordering::less : compare(row.time, best->time);
    if (order < 0 || (order == 0 && (times < 0 || (times == 0 && row.rowid > best->rowid)))) best = &row;
  }
  return best == nullptr ? std::nullopt : std::optional(best->rowid);
}

}  // namespace

TEST_CASE("strictly before means that an observation at the same moment is not used") {
  const AsofIndex index = index_of({{1, 10, 1}, {1, 20, 2}});
  CHECK(find(index, 1, 20, Match::before) == 1);
  CHECK(find(index, 1, 20.0, Match::before_or_at) == 2);
  CHECK(find(index, 1, 10, Match::after) == 2);
  CHECK(find(index, 1, 10, Match::after_or_at) == 1);
  CHECK_FALSE(find(index, 1, 10, Match::before));
  CHECK_FALSE(find(index, 1, 20, Match::after));
  CHECK_FALSE(find(index, 2, 20, Match::nearest));
}

TEST_CASE("among rows of one time the highest rowid wins, whatever the order they came in") {
  CHECK(find(index_of({{1, 5, 3}, {1, 5, 9}, {1, 5, 4}}), 1, 10, Match::before) == 9);
  CHECK(find(index_of({{1, 5, 9}, {1, 5, 3}, {1, 7, 1}}), 1, 5, Match::after_or_at) == 9);
}

TEST_CASE("an unsorted history matches like a sorted one") {
  const AsofIndex index = index_of({{1, 7, 1}, {1, 3, 2}});
  CHECK(find(index, 1, 10, Match::before) == 1);
  CHECK(find(index, 1, 5, Match::before) == 2);
}

TEST_CASE("the row of another key is never returned") {
  const AsofIndex index = index_of({{2, 10, 1}, {1, 100, 2}, {2, 11, 3}});
  CHECK_FALSE(find(index, 1, 50, Match::before));
  CHECK(find(index, 1, 50, Match::nearest) == 2);
  CHECK(find(index, 2, 50, Match::before) == 3);
}

TEST_CASE("keys are equal as SQLite's = finds them without affinity") {
  AsofIndex::Builder builder;
  builder.add(KeyView::integer(1), 1, 1);
  builder.add(KeyView::text("1"), 1, 2);
  builder.add(KeyView::blob("1"), 1, 3);
  builder.add(KeyView::real(0.5), 1, 4);
  builder.add(KeyView::text("a"), 1, 5);
  builder.add(KeyView::integer(9007199254740993), 1, 6);
  const AsofIndex index = std::move(builder).build();
  const auto row = [&](const KeyView& key) {
    const auto found = index.find({key, 2, Match::before, {}});
    return found ? index.rowid(*found) : 0;
  };
  CHECK(row(KeyView::real(1.0)) == 1);
  CHECK(row(KeyView::text("1")) == 2);
  CHECK(row(KeyView::blob("1")) == 3);
  CHECK(row(KeyView::real(0.5)) == 4);
  CHECK(row(KeyView::text("A")) == 0);
  CHECK(row(KeyView::real(9007199254740992.0)) == 0);
  CHECK(row(KeyView::real(-0.0)) == 0);
}

TEST_CASE("a match farther than the tolerance is no match, not the next one on the other side") {
  const AsofIndex index = index_of({{1, 0, 1}, {1, 100, 2}});
  CHECK(find(index, 1, 10, Match::before, Time(10)) == 1);
  CHECK_FALSE(find(index, 1, 10, Match::before, Time(9.999)));
  CHECK_FALSE(find(index, 1, 50, Match::nearest, Time(49)));
  CHECK(find(index, 1, 50, Match::nearest, Time(50)) == 1);
  CHECK_FALSE(find(index_of({{1, std::numeric_limits<std::int64_t>::min(), 1}}), 1,
                   std::numeric_limits<std::int64_t>::max(), Match::before, Time(5)));
}

TEST_CASE("an empty history matches nothing") {
  CHECK_FALSE(find(index_of({}), 1, 10, Match::nearest));
}

TEST_CASE("every match and tolerance agrees with the definition on random histories") {
  std::mt19937_64 random(20240601);
  const auto pick = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  for (int round = 0; round < 300; ++round) {
    const std::int64_t base = round % 3 == 0 ? 0 : (std::int64_t{1} << 53) * (round % 3) * 100;
    const bool reals = round % 2 == 0;
    const auto time = [&]() -> Time {
      if (base == 0 && reals && pick(2) == 0) return pick(80) * 0.25;
      if (reals && pick(4) == 0) return static_cast<double>(base + pick(40));
      return base + pick(20);
    };
    std::vector<Row> rows;
    for (int i = pick(40); i > 0; --i) rows.push_back({pick(3), time(), pick(1000)});
    const AsofIndex index = index_of(rows);
    for (int i = 0; i < 40; ++i) {
      const int key = pick(4);
      const Time at = time();
      const Match match = static_cast<Match>(pick(5));
      const Tolerance tolerance = pick(2) == 0 ? Tolerance{} : reals ? Tolerance(pick(12) * 0.25) : Tolerance(pick(5));
      CHECK(find(index, key, at, match, tolerance) == look(rows, key, at, match, tolerance));
    }
  }
}

TEST_CASE("building an index of any shape pulses as it goes and ends when the pulse says so") {
  struct Stop {};
  constexpr std::size_t kRows = 300000;
  for (const std::uint32_t keys : {1U, 1000U, 200000U}) {
    const auto history = [&] {
      std::mt19937 random(keys);
      AsofIndex::Builder builder(true);
      for (std::size_t i = 0; i < kRows; ++i) {
        builder.add(KeyView::integer(random() % keys), Time(static_cast<std::int64_t>(random())), 1);
      }
      return builder;
    };
    std::size_t pulses = 0;
    history().build([&] { ++pulses; });
    // Counted once, laid out in three arrays, kept or not.
    CHECK(pulses >= 5 * kRows / rpcroute::text::Budget::steps_between_pulses);
    for (std::size_t last = 1; last <= pulses; last += pulses / 8 + 1) {
      std::size_t seen = 0;
      const auto stop = [&] {
        if (++seen == last) throw Stop{};
      };
      CHECK_THROWS_AS(history().build(stop), Stop);
      CHECK(seen == last);
    }
  }
}
