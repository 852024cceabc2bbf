#include "model/explain.hpp"

#include <cmath>
#include <stdexcept>

#include "model/booster.hpp"
#include "model/rewrite.hpp"
#include "model/xgboost_library.hpp"

namespace rpcroute::model {

struct Explainer::Loaded {
  Booster booster;
};

Explainer::Explainer(std::shared_ptr<const Model> model) : model_(std::move(model)) {
  const QuietScope quiet;
  loaded_ = std::make_unique<Loaded>(Loaded{Booster::load(rewrite_for_library(model_->forest()))});
}

Explainer::~Explainer() = default;

Contributions Explainer::explain(std::span<const double> features) {
  model_->require_width(features.size());
  std::vector<float> row;
  for (const double feature : features) {
    row.push_back(static_cast<float>(feature) + 0.0F);
    if (std::isinf(row.back())) throw std::invalid_argument("a feature is not a finite number in single precision");
  }
  const std::lock_guard lock(mutex_);
  const QuietScope quiet;
  Contributions result{loaded_->booster.contributions(row, row.size()), 0};
  result.bias = result.features.back();
  result.features.pop_back();
  return result;
}

namespace {

/// Adds a tree's splits in the order in which XGBoost visits them, the right subtree first: float32 sums depend on it.
void add_splits(const Tree& tree, std::vector<Importance>& scores, std::vector<float>& covers) {
  std::vector<std::size_t> open{0};
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    if (tree.is_leaf(node)) continue;
    Importance& score = scores[tree.feature[node]];
    ++score.weight;
    score.total_gain += tree.gain[node];
    covers[tree.feature[node]] += tree.cover[node];
    open.push_back(static_cast<std::size_t>(tree.left[node]));
    open.push_back(static_cast<std::size_t>(tree.left[node]) + 1);
  }
}

}  // namespace

std::vector<Importance> importance(const Forest& forest) {
  std::vector<Importance> scores(forest.num_feature);
  std::vector<float> covers(forest.num_feature, 0.0F);
  for (const Tree& tree : forest.trees) add_splits(tree, scores, covers);

  double all_gains = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    Importance& score = scores[i];
    score.feature = forest.feature_names[i];
    if (score.weight == 0) continue;
    score.gain = score.total_gain / static_cast<float>(score.weight);
    score.cover = covers[i] / static_cast<float>(score.weight);
    all_gains += score.gain;
  }
  if (all_gains > 0) {
    for (Importance& score : scores) score.importance = score.gain / all_gains;
  }
  return scores;
}

}  // namespace rpcroute::model
