#include "model/flat_forest.hpp"

#include <algorithm>
#include <limits>

namespace rpcroute::model {

FlatForest::FlatForest(const Forest& forest, text::Budget& budget)
    : link_(forest.link), base_margin_(forest.base_margin), columns_(forest.split_features()), steps_(columns_.size()) {
  std::vector<std::uint32_t> column_of(forest.num_feature);
  for (std::uint32_t column = 0; column < columns_.size(); ++column) column_of[columns_[column]] = column;
  nodes_.reserve(forest.nodes());
  for (std::size_t i = 0; i < forest.trees.size(); ++i) {
    budget.steps(forest.trees[i].size());
    if (i % group_size == 0) groups_.push_back({});
    Group& group = groups_.back();
    const auto root = static_cast<std::uint32_t>(nodes_.size());
    // Places without a tree repeat the last one; their leaves are not added.
    std::fill(group.roots + group.trees, group.roots + group_size, root);
    ++group.trees;
    group.depth = std::max(group.depth, forest.trees[i].depth());
    append(forest.trees[i], column_of);
  }
  for (const Group& group : groups_) steps_ += group.depth * group_size;
}

void FlatForest::append(const Tree& tree, const std::vector<std::uint32_t>& column_of) {
  const auto root = static_cast<std::uint32_t>(nodes_.size());
  const auto always_missing = static_cast<std::uint32_t>(columns_.size());
  for (std::size_t node = 0; node < tree.size(); ++node) {
    const auto self = root + static_cast<std::uint32_t>(node);
    if (tree.is_leaf(node)) {
      nodes_.push_back({tree.value[node], always_missing << 1 | 1, self});
    } else {
      const auto left = root + static_cast<std::uint32_t>(tree.left[node]);
      nodes_.push_back({tree.value[node], column_of[tree.feature[node]] << 1 | tree.default_left[node], left});
    }
  }
}

float FlatForest::margin(const float* columns) const {
  // XGBoost adds the trees in their order to the base margin, in float32: any other order rounds differently.
  float sum = base_margin_;
  for (const Group& group : groups_) {
    std::uint32_t at[group_size];
    std::copy_n(group.roots, group_size, at);
    for (std::uint32_t step = 0; step < group.depth; ++step) {
      for (std::uint32_t& position : at) {
        const Node& node = nodes_[position];
        const float x = columns[node.column >> 1];
        const bool missing_goes_left = (node.column & 1) != 0;
        const bool goes_left = (x < node.value) | ((x != x) & missing_goes_left);
        position = node.left + static_cast<std::uint32_t>(!goes_left);
      }
    }
    for (std::uint32_t i = 0; i < group.trees; ++i) sum += nodes_[at[i]].value;
  }
  return sum;
}

float FlatForest::margin(std::span<const double> features) const {
  thread_local std::vector<float> narrow;  // no row allocates, and none is too wide for the stack
  narrow.resize(columns_.size() + 1);
  std::transform(columns_.begin(), columns_.end(), narrow.begin(),
                 [&](std::uint32_t feature) { return static_cast<float>(features[feature]); });
  narrow.back() = std::numeric_limits<float>::quiet_NaN();
  return margin(narrow.data());
}

}  // namespace rpcroute::model
