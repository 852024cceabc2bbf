#include "model/flat_forest.hpp"

#include <algorithm>
#include <limits>

namespace rpcroute::model {
namespace {

std::uint32_t depth(const Tree& tree) {
  std::vector<std::uint32_t> depths(tree.size(), 0);
  for (std::size_t node = 0; node < tree.size(); ++node) {
    if (tree.is_leaf(node)) continue;
    const auto left = static_cast<std::size_t>(tree.left[node]);
    depths[left] = depths[left + 1] = depths[node] + 1;
  }
  return *std::max_element(depths.begin(), depths.end());
}

}  // namespace

FlatForest::FlatForest(const Forest& forest) : link_(forest.link), base_margin_(forest.base_margin) {
  nodes_.reserve(forest.nodes());
  for (std::size_t i = 0; i < forest.trees.size(); ++i) {
    if (i % group_size == 0) groups_.push_back({});
    Group& group = groups_.back();
    const auto root = static_cast<std::uint32_t>(nodes_.size());
    // Places without a tree repeat the last one; their leaves are not added.
    std::fill(group.roots + group.trees, group.roots + group_size, root);
    ++group.trees;
    group.depth = std::max(group.depth, depth(forest.trees[i]));
    append(forest.trees[i], forest.num_feature);
  }
}

void FlatForest::append(const Tree& tree, std::uint32_t always_missing) {
  const auto root = static_cast<std::uint32_t>(nodes_.size());
  for (std::size_t node = 0; node < tree.size(); ++node) {
    const auto self = root + static_cast<std::uint32_t>(node);
    if (tree.is_leaf(node)) {
      nodes_.push_back({tree.value[node], always_missing << 1 | 1, self});
    } else {
      const auto left = root + static_cast<std::uint32_t>(tree.left[node]);
      nodes_.push_back({tree.value[node], tree.feature[node] << 1 | tree.default_left[node], left});
    }
  }
}

float FlatForest::margin(const float* features) const {
  // XGBoost adds the trees in their order to the base margin, in float32: any other order rounds differently.
  float sum = base_margin_;
  for (const Group& group : groups_) {
    std::uint32_t at[group_size];
    std::copy_n(group.roots, group_size, at);
    for (std::uint32_t step = 0; step < group.depth; ++step) {
      for (std::uint32_t& position : at) {
        const Node& node = nodes_[position];
        const float x = features[node.feature >> 1];
        const bool missing_goes_left = (node.feature & 1) != 0;
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
  narrow.resize(features.size() + 1);
  std::transform(features.begin(), features.end(), narrow.begin(), [](double x) { return static_cast<float>(x); });
  narrow[features.size()] = std::numeric_limits<float>::quiet_NaN();
  return margin(narrow.data());
}

}  // namespace rpcroute::model
