#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "align/percentile.hpp"

using rpcroute::align::Sample;
using rpcroute::align::Weighted;
using rpcroute::align::weighted_percentile;

namespace {

Sample sample_of(std::initializer_list<double> values) {
  Sample sample;
  for (const double value : values) sample.add(value);
  return sample;
}

std::optional<double> weighted(std::vector<Weighted> sample, double percent) {
  return weighted_percentile(sample, percent);
}

}  // namespace

TEST_CASE("a percentile lies on the line between its neighbours") {
  const Sample sample = sample_of({60, 12, 14, 13});
  CHECK(sample.percentile(0) == 12.0);
  CHECK(sample.percentile(50) == 13.5);
  CHECK(*sample.percentile(95) == Approx(53.1));
  CHECK(sample.percentile(100) == 60.0);
  CHECK(sample_of({7}).percentile(33) == 7.0);
  CHECK_FALSE(Sample().percentile(50));
  CHECK(sample_of({-1.7e308, 1.7e308}).percentile(50) == 0.0);
}

TEST_CASE("a sample that shrinks has the percentiles of what is left") {
  Sample sample = sample_of({5, 1, 9, 1});
  sample.remove(1);
  CHECK(sample.percentile(50) == 5.0);
  sample.add(0);
  CHECK(sample.percentile(0) == 0.0);
  CHECK(sample.percentile(50) == 3.0);
  for (const double value : {0.0, 1.0, 5.0, 9.0}) sample.remove(value);
  CHECK(sample.empty());
}

TEST_CASE("a weighted percentile is the smallest value whose share of the weight reaches it") {
  CHECK(weighted({{60, 2}, {12, 4}, {13, 1}}, 50) == 12.0);
  CHECK(weighted({{60, 2}, {12, 4}, {13, 1}}, 60) == 13.0);
  CHECK(weighted({{60, 2}, {12, 4}, {13, 1}}, 95) == 60.0);
  CHECK(weighted({{1, 1}, {2, 1}, {3, 1}, {4, 1}}, 50) == 2.0);
  CHECK(weighted({{1, 0}, {2, 5}, {3, 0}}, 0) == 2.0);
  CHECK(weighted({{1, 0}, {2, 5}, {3, 0}}, 100) == 2.0);
  CHECK_FALSE(weighted({{1, 0}}, 50));
  CHECK_FALSE(weighted({}, 50));
}

TEST_CASE("a share that is met exactly is not missed by rounding") {
  std::vector<Weighted> tenths;
  for (int i = 1; i <= 10; ++i) tenths.push_back({static_cast<double>(i), 0.1});
  for (int i = 1; i <= 10; ++i) CHECK(weighted(tenths, 10.0 * i) == static_cast<double>(i));
}

TEST_CASE("sorting a sample pulses as it goes and ends when the pulse says so") {
  struct Stop {};
  const auto stop = [] { throw Stop{}; };
  std::mt19937 random(5);
  Sample sample;
  std::vector<Weighted> weights;
  for (int i = 0; i < 300000; ++i) {
    sample.add(static_cast<double>(random()));
    weights.push_back({static_cast<double>(random()), 1.0});
  }
  CHECK_THROWS_AS(sample.percentile(50, stop), Stop);
  CHECK_THROWS_AS(weighted_percentile(weights, 50, stop), Stop);
  int pulses = 0;
  sample.percentile(50, [&] { ++pulses; });
  CHECK(pulses > 300000 * 10 / 65536);
}
