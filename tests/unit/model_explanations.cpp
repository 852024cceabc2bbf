// Contributions and importances are those of XGBoost.
#include <catch2/catch.hpp>
#include <numeric>

#include "model/booster.hpp"
#include "model/error.hpp"
#include "model/explain.hpp"
#include "model/flat_forest.hpp"
#include "model/xgboost_library.hpp"
#include "model_support.hpp"

namespace rpcroute::model {
namespace {

using namespace test;

TEST_CASE("Contributions and bias sum to the margin", "[model]") {
  const std::string objective = GENERATE("reg:squarederror", "binary:logistic", "reg:gamma");
  const auto model = compiled(trained(3, objective));
  Explainer explainer(model, unlimited());
  const auto rows = telling_rows(model->forest(), 200);
  for (std::size_t row = 0; row < 200; ++row) {
    const std::vector<double> features{rows[row * 3], rows[row * 3 + 1], rows[row * 3 + 2]};
    if (std::isinf(features[0]) || std::isinf(features[1]) || std::isinf(features[2])) continue;
    const Contributions why = explainer.explain(features, unlimited());
    REQUIRE(why.features.size() == 3);
    const float sum = std::accumulate(why.features.begin(), why.features.end(), why.bias);
    CHECK(sum == Approx(FlatForest(model->forest(), unlimited()).margin(features)).margin(1e-4));
  }
}

TEST_CASE("Contributions are those of XGBoost for the file as it was trained", "[model]") {
  const std::string json = trained(2);
  const std::vector<float> row{321, 4};
  Explainer explainer(compiled(json), unlimited());
  const QuietScope quiet;
  const auto expected = Booster::load(json).contributions(row, 2);
  const Contributions why = explainer.explain(std::vector<double>{321, 4}, unlimited());
  CHECK(bits(why.features[0]) == bits(expected[0]));
  CHECK(bits(why.features[1]) == bits(expected[1]));
  CHECK(bits(why.bias) == bits(expected[2]));
}

TEST_CASE("The feature that decides gets the contribution", "[model]") {
  Explainer explainer(compiled(trained(2)), unlimited());
  const auto fast = explainer.explain(std::vector<double>{200, 0}, unlimited());
  const auto late = explainer.explain(std::vector<double>{200, 8}, unlimited());
  CHECK(fast.features[1] < 0);
  CHECK(late.features[1] > 10);
  CHECK(late.bias == fast.bias);
}

TEST_CASE("What cannot be explained is an error", "[model]") {
  Explainer explainer(compiled(trained(2)), unlimited());
  CHECK_THROWS_AS(explainer.explain(std::vector<double>{1}, unlimited()), std::invalid_argument);
  CHECK_THROWS_AS(explainer.explain(std::vector<double>{1, 1e300}, unlimited()), std::invalid_argument);
}

TEST_CASE("Importances equal XGBoost's scores", "[model]") {
  const std::string objective = GENERATE("reg:squarederror", "binary:logistic");
  const std::string json = trained(4, objective);
  const auto ours = importance(forest_of(json), unlimited());
  const QuietScope quiet;
  Booster booster = Booster::load(json);
  const auto check = [&](const std::string& type, auto value) {
    for (const auto& [name, score] : booster.scores(type)) {
      for (const Importance& feature : ours) {
        if (feature.feature == name) CHECK(static_cast<float>(value(feature)) == score);
      }
    }
  };
  check("gain", [](const Importance& i) { return i.gain; });
  check("weight", [](const Importance& i) { return i.weight; });
  check("cover", [](const Importance& i) { return i.cover; });
  check("total_gain", [](const Importance& i) { return i.total_gain; });
  double sum = 0;
  for (const Importance& feature : ours) sum += feature.importance;
  CHECK(sum == Approx(1));
}

TEST_CASE("A feature that no tree uses has importance zero", "[model]") {
  TrainingRows rows;
  rows.width = 2;
  for (int i = 0; i < 200; ++i) rows.add(i % 9, std::vector<double>{5, i % 9 + 0.0});
  const auto scores = importance(forest_of(train(rows, small(2, "\"num_round\":3"))), unlimited());
  CHECK(scores[0].weight == 0);
  CHECK(scores[0].importance == 0);
  CHECK(scores[1].importance == 1);
}

}  // namespace
}  // namespace rpcroute::model
