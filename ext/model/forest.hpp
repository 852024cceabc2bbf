// A validated model: trees that can be walked without a further check.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/objective.hpp"
#include "text/budget.hpp"

namespace rpcroute::model {

/// The nodes of one tree, in parallel arrays; node 0 is the root. Guaranteed by read_model(): children lie behind their
/// parent, the right child is the left one + 1, every node is reached exactly once, features are below
/// Forest::num_feature, thresholds and leaf values are finite.
struct Tree {
  std::vector<std::int32_t> left;          ///< left child, or -1 for a leaf
  std::vector<std::uint32_t> feature;      ///< of a split; unspecified for a leaf
  std::vector<float> value;                ///< threshold of a split (goes left when x < threshold), or a leaf's value
  std::vector<std::uint8_t> default_left;  ///< 1 when a missing value goes left
  std::vector<float> gain;                 ///< of a split: how much it reduced the loss
  std::vector<float> cover;                ///< sum of the hessian over the training rows that reached the node

  std::size_t size() const { return left.size(); }
  bool is_leaf(std::size_t node) const { return left[node] < 0; }
  std::size_t leaves() const { return (size() + 1) / 2; }
  std::uint32_t depth() const;  ///< splits on the longest way from the root; 0 for a single leaf
};

/// A gbtree ensemble with one output. Immutable after reading.
struct Forest {
  std::string objective;  ///< XGBoost's name, "reg:squarederror"
  Link link = Link::identity;
  float base_score = 0;   ///< as the file holds it
  float base_margin = 0;  ///< what the trees' values are added to, in order
  std::uint32_t num_feature = 0;
  std::vector<std::string> feature_names;      ///< num_feature of them; "f0", "f1", … when the file has none
  std::size_t rounds = 0;                      ///< of boosting; a round may add several trees
  std::optional<std::int64_t> best_iteration;  ///< the round at which early stopping found it best, from 0
  std::array<int, 3> version{};                ///< of the XGBoost that wrote it
  std::vector<Tree> trees;

  std::size_t nodes() const;
  std::vector<std::uint32_t> split_features() const;  ///< those that some tree splits on, ascending
};

/// Reads a model saved by XGBoost 1.0 to 3.x as JSON or UBJSON, distrusting every field. Throws ModelError, which names
/// the field, for what is corrupt and for what cannot be evaluated exactly (DART, linear boosters, several outputs,
/// categorical splits, unknown objectives). Throws text::OverBudget.
Forest read_model(std::span<const std::byte> bytes, text::Budget& budget);

}  // namespace rpcroute::model
