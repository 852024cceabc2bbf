#include "model/library_forest.hpp"

#include <algorithm>

#include "model/limits.hpp"
#include "model/rewrite.hpp"

namespace rpcroute::model {
namespace {

/// Trees of a forest as a forest of its own, on columns instead of features.
Forest part_of(const Forest& forest, std::size_t begin, std::size_t end, const std::vector<std::uint32_t>& column_of,
               std::size_t width) {
  Forest part;
  part.link = forest.link;
  // The margin of the first begins with the forest's, that of the others with none.
  part.base_score = begin == 0 ? forest.base_score : apply(forest.link, 0);
  part.num_feature = static_cast<std::uint32_t>(width);
  part.trees.assign(forest.trees.begin() + static_cast<std::ptrdiff_t>(begin),
                    forest.trees.begin() + static_cast<std::ptrdiff_t>(end));
  for (Tree& tree : part.trees) {
    for (std::size_t node = 0; node < tree.size(); ++node) {
      if (!tree.is_leaf(node)) tree.feature[node] = column_of[tree.feature[node]];
    }
  }
  return part;
}

}  // namespace

LibraryForest::LibraryForest(const Forest& forest, const std::function<std::uint64_t(const Tree&)>& steps_of,
                             text::Budget& budget)
    : features_(forest.split_features()) {
  std::vector<std::uint32_t> column_of(forest.num_feature);
  for (std::uint32_t column = 0; column < features_.size(); ++column) column_of[features_[column]] = column;
  for (std::size_t begin = 0, end = 0; begin < forest.trees.size(); begin = end) {
    std::size_t nodes = 0;
    std::uint64_t steps = 0;
    const auto fits = [&] {
      return end - begin < limits::part_trees && nodes < limits::part_nodes && steps < limits::call_steps;
    };
    for (; end < forest.trees.size() && fits(); ++end) {
      nodes += forest.trees[end].size();
      steps += steps_of(forest.trees[end]);
    }
    const std::string rewritten = rewrite_for_library(part_of(forest, begin, end, column_of, width()));
    budget.steps(rewritten.size());
    parts_.push_back({Booster::load(rewritten), steps});
    steps_ += steps;
  }
}

std::vector<float> LibraryForest::predict(std::span<const float> rows, text::Budget& budget) {
  const std::size_t together = std::max<std::size_t>(1, limits::call_steps / (width() + steps_)) * width();
  std::vector<float> outputs;
  outputs.reserve(rows.size() / width());
  for (; !rows.empty(); rows = rows.subspan(std::min(together, rows.size()))) {
    const auto some = predict_some(rows.first(std::min(together, rows.size())), budget);
    outputs.insert(outputs.end(), some.begin(), some.end());
  }
  return outputs;
}

std::vector<float> LibraryForest::predict_some(std::span<const float> rows, text::Budget& budget) {
  std::vector<float> outputs;
  for (Part& part : parts_) {
    budget.steps(rows.size() / width() * (width() + part.steps));
    outputs = part.booster.predict(rows, width(), &part != &parts_.back(), outputs);
  }
  return outputs;
}

std::vector<float> LibraryForest::contributions(std::span<const float> row, text::Budget& budget) {
  std::vector<float> sum(width() + 1, 0.0F);
  for (Part& part : parts_) {
    budget.steps(part.steps);
    const auto some = part.booster.contributions(row, width());
    std::transform(some.begin(), some.end(), sum.begin(), sum.begin(), std::plus());
  }
  return sum;
}

}  // namespace rpcroute::model
