#include "model/read_tree.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "model/limits.hpp"

namespace rpcroute::model {
namespace {

// XGBoost marks a node that pruning removed with the largest feature index its bit-field holds.
constexpr std::int64_t deleted_feature = 0x7FFFFFFF;

/// The file's arrays, one entry per node. Refers to the document.
struct Nodes {
  std::span<const std::int64_t> left;
  std::span<const std::int64_t> right;
  std::span<const std::int64_t> feature;
  std::span<const std::int64_t> default_left;
  std::vector<float> value;
  std::vector<float> gain;
  std::vector<float> cover;

  std::size_t size() const { return left.size(); }
  bool deleted(std::size_t node) const { return feature[node] == deleted_feature; }
};

void require_size(const Field& tree, std::string_view key, std::size_t nodes) {
  const Field array = tree.at(key);
  if (array.array_size() != nodes) {
    array.refuse("has " + std::to_string(array.array_size()) + " elements, tree_param.num_nodes is " +
                 std::to_string(nodes));
  }
}

void require_empty(const Field& tree, std::string_view key, const std::string& reason) {
  const auto array = tree.find(key);
  if (array && array->array_size() != 0) array->refuse("is not empty: " + reason);
}

void require_numeric_splits(const Field& tree) {
  const std::string reason = "categorical splits are not evaluated";
  for (const auto* key : {"categories", "categories_nodes", "categories_segments", "categories_sizes"}) {
    require_empty(tree, key, reason);
  }
  const auto types = tree.find("split_type");
  if (!types) return;
  const auto values = types->integers();
  for (std::size_t node = 0; node < values.size(); ++node) {
    if (values[node] != 0) types->refuse_element(node, "is " + std::to_string(values[node]) + ": " + reason);
  }
}

Nodes read_nodes(const Field& tree, std::size_t nodes) {
  for (const auto* key : {"left_children", "right_children", "split_indices", "default_left", "split_conditions",
                          "loss_changes", "sum_hessian", "base_weights", "parents"}) {
    require_size(tree, key, nodes);
  }
  return {tree.at("left_children").integers(), tree.at("right_children").integers(),
          tree.at("split_indices").integers(), tree.at("default_left").integers(),
          tree.at("split_conditions").reals(), tree.at("loss_changes").reals(),
          tree.at("sum_hessian").reals()};
}

/// Children of a live node: none, or two neighbours behind it. The predictors of XGBoost itself take right = left + 1
/// for granted, so a file that says otherwise has no meaning that could be reproduced.
void require_children(const Field& tree, const Nodes& nodes, std::size_t node) {
  const std::int64_t left = nodes.left[node];
  const std::int64_t right = nodes.right[node];
  const auto last = static_cast<std::int64_t>(nodes.size()) - 1;
  if (left == -1 && right == -1) return;
  if (left <= static_cast<std::int64_t>(node) || left > last) {
    tree.at("left_children")
        .refuse_element(node, "is " + std::to_string(left) + ", accepted is -1 for a leaf or " +
                                  std::to_string(node + 1) + " to " + std::to_string(last));
  }
  if (right != left + 1 || right > last) {
    tree.at("right_children")
        .refuse_element(node, "is " + std::to_string(right) +
                                  ", accepted is left_children + 1 = " + std::to_string(left + 1) +
                                  " within the tree's " + std::to_string(nodes.size()) + " nodes");
  }
}

void require_values(const Field& tree, const Nodes& nodes, std::size_t node, std::uint32_t num_feature) {
  if (!std::isfinite(nodes.value[node])) tree.at("split_conditions").refuse_element(node, "is not finite");
  if (nodes.left[node] == -1) return;
  if (nodes.feature[node] < 0 || nodes.feature[node] >= num_feature) {
    tree.at("split_indices")
        .refuse_element(
            node, "is " + std::to_string(nodes.feature[node]) + ", num_feature is " + std::to_string(num_feature));
  }
  if (nodes.default_left[node] != 0 && nodes.default_left[node] != 1) {
    tree.at("default_left").refuse_element(node, "is " + std::to_string(nodes.default_left[node]) + ", not 0 or 1");
  }
}

/// Marks what the root reaches. Since children lie behind their parent, one pass in order sees every parent first.
std::vector<bool> require_tree(const Field& tree, const Nodes& nodes, std::uint32_t num_feature) {
  std::vector<bool> reached(nodes.size(), false);
  reached[0] = true;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    if (!reached[node]) {
      if (nodes.deleted(node)) continue;
      tree.at("left_children").refuse("never reaches node " + std::to_string(node));
    }
    require_children(tree, nodes, node);
    require_values(tree, nodes, node, num_feature);
    if (nodes.left[node] == -1) continue;
    const auto left = static_cast<std::size_t>(nodes.left[node]);
    if (reached[left] || reached[left + 1]) {
      tree.at("left_children").refuse_element(node, "is " + std::to_string(left) + ", the child of another node too");
    }
    reached[left] = reached[left + 1] = true;
  }
  return reached;
}

/// Keeps the reached nodes in their order. A split's children are reached or deleted together, so they stay neighbours.
Tree compact(const Nodes& nodes, const std::vector<bool>& reached) {
  std::vector<std::int32_t> position(nodes.size(), -1);
  std::int32_t kept = 0;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    if (reached[node]) position[node] = kept++;
  }
  Tree tree;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    if (!reached[node]) continue;
    const bool leaf = nodes.left[node] == -1;
    tree.left.push_back(leaf ? -1 : position[static_cast<std::size_t>(nodes.left[node])]);
    tree.feature.push_back(leaf ? 0 : static_cast<std::uint32_t>(nodes.feature[node]));
    tree.value.push_back(nodes.value[node]);
    tree.default_left.push_back(leaf ? 0 : static_cast<std::uint8_t>(nodes.default_left[node]));
    tree.gain.push_back(nodes.gain[node]);
    tree.cover.push_back(nodes.cover[node]);
  }
  return tree;
}

}  // namespace

Tree read_tree(const Field& tree, std::uint32_t num_feature, text::Budget& budget) {
  const Field param = tree.at("tree_param");
  const auto num_nodes = static_cast<std::size_t>(param.at("num_nodes").count(limits::tree_nodes));
  budget.steps(limits::keys + num_nodes);
  if (num_nodes == 0) param.at("num_nodes").refuse("is 0: a tree has a root");
  // A tree that knows no number, 0, still has its split_indices checked.
  const std::int64_t known_features = param.at("num_feature").count(0x7FFFFFFE);
  if (known_features != 0 && known_features != num_feature) {
    param.at("num_feature").refuse("differs from learner.learner_model_param.num_feature");
  }
  if (const auto outputs = param.find("size_leaf_vector"); outputs && outputs->count(0x7FFFFFFE) > 1) {
    outputs->refuse("is more than 1: only models with one output are evaluated");
  }
  require_empty(tree, "leaf_weights", "only models with one output are evaluated");
  require_numeric_splits(tree);

  const Nodes nodes = read_nodes(tree, num_nodes);
  const std::vector<bool> reached = require_tree(tree, nodes, num_feature);
  const auto unreached = std::count(reached.begin(), reached.end(), false);
  const auto deleted = param.find("num_deleted");
  if (unreached != (deleted ? deleted->count(0x7FFFFFFE) : 0)) {
    param.at("num_nodes")
        .refuse("counts " + std::to_string(unreached) + " nodes that are out of reach, num_deleted differs");
  }
  return compact(nodes, reached);
}

}  // namespace rpcroute::model
