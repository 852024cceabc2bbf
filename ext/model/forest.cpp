#include "model/forest.hpp"

#include <algorithm>

namespace rpcroute::model {

std::uint32_t Tree::depth() const {
  std::vector<std::uint32_t> depths(size(), 0);
  for (std::size_t node = 0; node < size(); ++node) {  // children lie behind their parent
    if (is_leaf(node)) continue;
    const auto child = static_cast<std::size_t>(left[node]);
    depths[child] = depths[child + 1] = depths[node] + 1;
  }
  return *std::max_element(depths.begin(), depths.end());
}

std::size_t Forest::nodes() const {
  std::size_t nodes = 0;
  for (const Tree& tree : trees) nodes += tree.size();
  return nodes;
}

std::vector<std::uint32_t> Forest::split_features() const {
  std::vector<bool> used(num_feature, false);
  for (const Tree& tree : trees) {
    for (std::size_t node = 0; node < tree.size(); ++node) {
      if (!tree.is_leaf(node)) used[tree.feature[node]] = true;
    }
  }
  std::vector<std::uint32_t> features;
  for (std::uint32_t feature = 0; feature < num_feature; ++feature) {
    if (used[feature]) features.push_back(feature);
  }
  return features;
}

}  // namespace rpcroute::model
