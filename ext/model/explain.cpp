#include "model/explain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "model/error.hpp"
#include "model/library_forest.hpp"
#include "model/limits.hpp"
#include "model/xgboost_library.hpp"

namespace rpcroute::model {

namespace {

/// What a row costs TreeSHAP: each node copies and extends the way to it, each leaf sums over the way once for each of
/// its features. A feature counts once on a way.
std::uint64_t steps_of(const Tree& tree, std::uint64_t features) {
  std::vector<std::uint32_t> depths(tree.size(), 0);
  std::uint64_t steps = features;
  for (std::size_t node = 0; node < tree.size(); ++node) {
    const std::uint64_t way = std::min<std::uint64_t>(depths[node], features);
    steps += 1 + way + (tree.is_leaf(node) ? way * way : 0);
    if (tree.is_leaf(node)) continue;
    const auto left = static_cast<std::size_t>(tree.left[node]);
    depths[left] = depths[left + 1] = depths[node] + 1;
  }
  return steps;
}

/// Beforehand, since nothing stops the library's recursion.
void require_explicable(const Forest& forest, std::uint64_t features) {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < forest.trees.size(); ++i) {
    const std::string tree = "contributions are not computed for it: tree " + std::to_string(i) + " ";
    const std::uint32_t depth = forest.trees[i].depth();
    if (depth > limits::explained_depth) {
      throw ModelError(tree + "is " + std::to_string(depth) + " deep, accepted is " +
                       std::to_string(limits::explained_depth));
    }
    const std::uint64_t steps = steps_of(forest.trees[i], features);
    if (steps > limits::explained_tree_steps) throw ModelError(tree + "would take " + std::to_string(steps) + " steps");
    all += steps;
  }
  if (all > limits::explained_steps) {
    throw ModelError("contributions are not computed for it: a row would take " + std::to_string(all) + " steps");
  }
}

}  // namespace

Explainer::Explainer(std::shared_ptr<const Model> model, text::Budget& budget) : model_(std::move(model)) {
  const Forest& forest = model_->forest();
  const std::uint64_t features = forest.split_features().size();
  require_explicable(forest, features);
  const QuietScope quiet;
  library_ = std::make_unique<LibraryForest>(
      forest, [&](const Tree& tree) { return steps_of(tree, features); }, budget);
}

Explainer::~Explainer() = default;

Contributions Explainer::explain(std::span<const double> features, text::Budget& budget) {
  model_->require_width(features.size());
  for (const double feature : features) {
    if (std::isinf(static_cast<float>(feature))) {
      throw std::invalid_argument("a feature is not a finite number in single precision");
    }
  }
  const std::lock_guard lock(mutex_);
  std::vector<float> row(library_->width(), std::numeric_limits<float>::quiet_NaN());
  const auto& columns = library_->features();
  std::transform(columns.begin(), columns.end(), row.begin(),
                 [&](std::uint32_t feature) { return static_cast<float>(features[feature]) + 0.0F; });
  const QuietScope quiet;
  const std::vector<float> parts = library_->contributions(row, budget);
  Contributions result{std::vector<float>(features.size(), 0.0F), parts.back()};
  for (std::size_t column = 0; column < columns.size(); ++column) result.features[columns[column]] = parts[column];
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

std::vector<Importance> importance(const Forest& forest, text::Budget& budget) {
  std::vector<Importance> scores(forest.num_feature);
  std::vector<float> covers(forest.num_feature, 0.0F);
  budget.steps(scores.size());
  for (const Tree& tree : forest.trees) {
    budget.steps(tree.size());
    add_splits(tree, scores, covers);
  }

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
