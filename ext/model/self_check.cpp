#include "model/self_check.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "model/bins.hpp"
#include "model/booster.hpp"
#include "model/error.hpp"
#include "model/rewrite.hpp"
#include "model/xgboost_library.hpp"

namespace rpcroute::model {
namespace {

// XGBoost needs about 15 ns for a tree and a row. 2,000 rows of the seed's model take it 3 ms; the bound is for forests
// a hundred times larger.
constexpr std::size_t least_rows = 2000;
constexpr std::size_t max_tree_walks = 30'000'000;

std::vector<float> telling_values(const std::vector<float>& thresholds) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> values{std::numeric_limits<float>::quiet_NaN(), 0.0F};
  for (const float threshold : thresholds) {
    values.push_back(std::nextafter(threshold, -infinity));
    values.push_back(threshold);
    values.push_back(std::nextafter(threshold, infinity));
  }
  return values;
}

}  // namespace

std::vector<float> check_rows(const Forest& forest, std::size_t least, std::size_t most) {
  std::vector<std::vector<float>> lists;
  std::size_t longest = 0;
  for (const auto& list : thresholds(forest)) {
    lists.push_back(telling_values(list));
    longest = std::max(longest, lists.back().size());
  }
  const std::size_t count = std::min(std::max(longest, least), most);
  std::vector<float> rows(count * lists.size());
  std::minstd_rand random(1);  // the same rows at every check of a model
  for (std::size_t feature = 0; feature < lists.size(); ++feature) {
    auto& values = lists[feature];
    for (std::size_t row = 0; row < count; ++row) {
      if (row % values.size() == 0) std::shuffle(values.begin(), values.end(), random);
      rows[row * lists.size() + feature] = values[row % values.size()];
    }
  }
  return rows;
}

void self_check(const Forest& forest, const Evaluator& evaluator) {
  const std::size_t width = forest.num_feature;
  const std::size_t most = std::max<std::size_t>(1, max_tree_walks / forest.trees.size());
  const std::vector<float> rows = check_rows(forest, least_rows, most);

  const QuietScope quiet;
  const std::vector<float> expected = Booster::load(rewrite_for_library(forest)).predict(rows, width);
  std::vector<double> features(width);
  for (std::size_t row = 0; row < expected.size(); ++row) {
    std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(row * width), width, features.begin());
    if (std::bit_cast<std::uint32_t>(evaluator.predict(features)) != std::bit_cast<std::uint32_t>(expected[row])) {
      throw ModelError("what was compiled does not reproduce XGBoost " + XgboostLibrary::version_text());
    }
  }
}

}  // namespace rpcroute::model
