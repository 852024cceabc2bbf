// Every way to evaluate a forest gives the bits that XGBoost gives.
#include <catch2/catch.hpp>

#include "model/bins.hpp"
#include "model/bitmask.hpp"
#include "model/booster.hpp"
#include "model/check_rows.hpp"
#include "model/error.hpp"
#include "model/evaluator.hpp"
#include "model/flat_forest.hpp"
#include "model/grid.hpp"
#include "model/rewrite.hpp"
#include "model/self_check.hpp"
#include "model/xgboost_library.hpp"
#include "model_support.hpp"

namespace rpcroute::model {
namespace {

using namespace test;

std::size_t mismatches(const Evaluator& evaluator, const std::vector<float>& rows, const std::vector<float>& expected) {
  const std::size_t width = rows.size() / expected.size();
  std::size_t count = 0;
  for (std::size_t row = 0; row < expected.size(); ++row) {
    const auto first = rows.begin() + static_cast<std::ptrdiff_t>(row * width);
    const std::vector<double> features(first, first + static_cast<std::ptrdiff_t>(width));
    if (bits(evaluator.predict(features)) != bits(expected[row])) ++count;
  }
  return count;
}

std::vector<float> library_predictions(const Forest& forest, const std::vector<float>& rows) {
  const QuietScope quiet;
  return Booster::load(rewrite_for_library(forest)).predict(rows, forest.num_feature);
}

TEST_CASE("Grid, bit masks and plain forest agree with XGBoost at and around every threshold", "[model]") {
  const std::size_t width = GENERATE(1, 2, 3, 6);
  const std::string objective = GENERATE("reg:squarederror", "binary:logistic", "reg:gamma");
  const std::string method = GENERATE("hist", "exact");
  const std::string depth = GENERATE("3", "6");
  INFO(width << " features, " << objective << ", " << method << ", depth " << depth);
  const Forest forest = forest_of(
      trained(width, objective, "\"num_round\":25,\"tree_method\":\"" + method + "\",\"max_depth\":" + depth));
  const auto rows = test::telling_rows(forest, 5000);
  const auto expected = library_predictions(forest, rows);

  CHECK(mismatches(FlatForest(forest, unlimited()), rows, expected) == 0);
  const auto bitmask = compile_bitmask(forest, axes(thresholds(forest, unlimited())), unlimited());
  REQUIRE(bitmask);
  CHECK(mismatches(*bitmask, rows, expected) == 0);
  const auto grid = Grid::compile(forest, axes(thresholds(forest, unlimited())), unlimited());
  CHECK((grid != nullptr) == (width <= 2));
  if (grid) CHECK(mismatches(*grid, rows, expected) == 0);
}

TEST_CASE("The evaluator is chosen by what the forest needs", "[model]") {
  const auto kind = [](const std::string& json) {
    return std::string(choose_evaluator(forest_of(json), unlimited())->kind());
  };
  CHECK(kind(trained(1)) == "grid");
  CHECK(kind(trained(2)) == "grid");
  CHECK(kind(trained(5)) == "bitmask");
  CHECK(kind(trained(5, "reg:squarederror", R"("num_round":5,"max_depth":12)")) == "forest");
}

TEST_CASE("A model that uses two of its features is a grid, however many it takes", "[model]") {
  TrainingRows rows;
  rows.width = 4;
  for (int i = 0; i < 500; ++i) rows.add(i % 7 + i % 5, std::vector<double>{1, i % 7 + 0.0, 2, i % 5 + 0.0});
  const auto model = compiled(train(rows, small(4, "\"num_round\":10")));
  CHECK(model->info().evaluator == "grid");
  CHECK(model->predict(std::vector<double>{9, 6, missing, 0}, unlimited()) ==
        model->predict(std::vector<double>{1, 6, 2, 0}, unlimited()));
}

TEST_CASE("A model without a single split predicts its one value", "[model]") {
  TrainingRows rows;
  rows.width = 2;
  for (int i = 0; i < 10; ++i) rows.add(12, std::vector<double>{1, 1});
  const auto model = compiled(train(rows, small(2)));
  CHECK(model->predict(std::vector<double>{5, missing}, unlimited()) == Approx(12));
  CHECK(model->info().parts == 4);
}

TEST_CASE("A double is rounded to single precision before it meets a threshold", "[model]") {
  const Forest forest = forest_of(trained(1));
  const auto cuts = thresholds(forest, unlimited())[0].values;
  const float threshold = cuts.front();
  const Bins bins(cuts);
  const double just_below = static_cast<double>(threshold) * (1 - 1e-12);  // rounds up to the threshold
  REQUIRE(just_below < threshold);
  CHECK(bins.find(just_below) == bins.find(threshold));
  CHECK(bins.find(std::nextafter(threshold, 0.0F)) + 1 == bins.find(threshold));
}

TEST_CASE("Bins follow the thresholds through zeros, denormals and infinities", "[model]") {
  const float denormal = 1e-40F;
  const Bins bins({3.0F, -1.0F, 0.0F, denormal, 3.0F});
  CHECK(bins.thresholds() == 4);
  const auto bin = [&](double x) { return bins.find(x); };
  CHECK(bin(-HUGE_VAL) == 0);
  CHECK(bin(-1e300) == 0);
  CHECK(bin(-1) == 1);
  CHECK(bin(-1e-40) == 1);
  CHECK(bin(-0.0) == 2);
  CHECK(bin(0.0) == 2);
  CHECK(bin(denormal) == 3);
  CHECK(bin(2.9999999) == 4);  // in single precision that is 3
  CHECK(bin(1e300) == 4);
  CHECK(bin(HUGE_VAL) == 4);
  CHECK(bin(missing) == 5);
}

TEST_CASE("A threshold of minus zero is a threshold of zero", "[model]") {
  const Bins bins({-0.0F});
  CHECK(bins.find(-1e-45) == 0);
  CHECK(bins.find(-0.0) == 1);
}

TEST_CASE("Thousands of crowded thresholds are found like a few", "[model]") {
  std::mt19937 random(3);
  std::vector<float> list{-1e30F, 1e30F};
  for (int i = 0; i < 5000; ++i) list.push_back(1000 + static_cast<float>(random() % 100000) / 100);
  const Bins bins(list);
  std::set<float> sorted(list.begin(), list.end());
  std::size_t wrong = 0;
  for (int i = 0; i < 20000; ++i) {
    const float x = 990 + static_cast<float>(random() % 102000) / 100;
    const auto expected = static_cast<std::uint32_t>(std::distance(sorted.begin(), sorted.upper_bound(x)));
    if (bins.find(x) != expected) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("The self-check meets every threshold and its neighbours", "[model]") {
  const Forest forest = forest_of(trained(2));
  const auto lists = thresholds(forest, unlimited());
  for (std::size_t feature = 0; feature < 2; ++feature) {
    TellingRows telling(lists);
    std::set<std::uint32_t> seen;
    for (std::size_t i = 0; i < telling.enough(); ++i) seen.insert(bits(telling.next()[feature]));
    for (const float threshold : lists[feature].values) {
      CHECK(seen.contains(bits(threshold)));
      CHECK(seen.contains(bits(std::nextafter(threshold, -HUGE_VALF))));
      CHECK(seen.contains(bits(std::nextafter(threshold, HUGE_VALF))));
    }
    CHECK(seen.contains(bits(missing)));
  }
}

TEST_CASE("An evaluator that is off at one threshold does not pass the self-check", "[model]") {
  const Forest forest = forest_of(trained(3));
  CHECK_NOTHROW(self_check(forest, *choose_evaluator(forest, unlimited()), unlimited()));
  Forest other = forest;
  other.trees[7].value[0] = std::nextafter(other.trees[7].value[0], HUGE_VALF);
  CHECK_THROWS_AS(self_check(forest, *choose_evaluator(other, unlimited()), unlimited()), ModelError);
}

}  // namespace
}  // namespace rpcroute::model
