#include "model/flat_forest.hpp"

#include <cmath>

namespace rpcroute::model {

FlatForest::FlatForest(const Forest& forest) : link_(forest.link), base_margin_(forest.base_margin) {
  nodes_.reserve(forest.nodes());
  roots_.reserve(forest.trees.size());
  for (const Tree& tree : forest.trees) {
    const auto root = static_cast<std::uint32_t>(nodes_.size());
    roots_.push_back(root);
    for (std::size_t node = 0; node < tree.size(); ++node) {
      const std::uint32_t left = tree.is_leaf(node) ? 0 : root + static_cast<std::uint32_t>(tree.left[node]);
      nodes_.push_back({tree.value[node], tree.feature[node] << 1 | tree.default_left[node], left});
    }
  }
}

std::uint32_t FlatForest::leaf(std::uint32_t root, std::span<const double> features) const {
  std::uint32_t at = root;
  while (nodes_[at].left != 0) {
    const Node& node = nodes_[at];
    const auto x = static_cast<float>(features[node.feature >> 1]);
    const bool goes_left = std::isnan(x) ? (node.feature & 1) != 0 : x < node.value;
    at = node.left + (goes_left ? 0 : 1);
  }
  return at;
}

float FlatForest::margin(std::span<const double> features) const {
  // XGBoost adds the trees in their order to the base margin, in float32: any other order rounds differently.
  float sum = base_margin_;
  for (const std::uint32_t root : roots_) sum += nodes_[leaf(root, features)].value;
  return sum;
}

}  // namespace rpcroute::model
