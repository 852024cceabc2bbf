// The evaluator that any forest fits: its trees, walked a few at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "model/evaluator.hpp"

namespace rpcroute::model {

/// Several trees are walked in step, without branches on the data: one tree's walk is a chain of loads that wait for
/// each other, eight of them overlap.
class FlatForest final : public Evaluator {
 public:
  FlatForest(const Forest& forest, text::Budget& budget);

  float predict(std::span<const double> features) const override { return apply(link_, margin(features)); }
  float margin(std::span<const double> features) const;
  std::string_view kind() const override { return "forest"; }
  std::size_t steps() const override { return steps_; }
  std::size_t parts() const override { return nodes_.size(); }
  std::size_t bytes() const override {
    return nodes_.size() * sizeof(Node) + groups_.size() * sizeof(Group) + columns_.size() * sizeof(std::uint32_t);
  }

 private:
  static constexpr std::size_t group_size = 8;

  /// A leaf leads to itself: its column is the one behind the last, which is always missing, and missing goes left.
  struct Node {
    float value;           ///< threshold, or a leaf's value
    std::uint32_t column;  ///< of the features that are split on, shifted left by one; the lowest bit says where a
                           ///< missing value goes, 1 = left
    std::uint32_t left;    ///< position of the left child; the right one follows
  };
  struct Group {
    std::uint32_t roots[group_size];
    std::uint32_t trees;  ///< of which the last group may have fewer
    std::uint32_t depth;  ///< of its deepest tree
  };

  void append(const Tree& tree, const std::vector<std::uint32_t>& column_of);
  float margin(const float* columns) const;

  Link link_;
  float base_margin_;
  std::vector<std::uint32_t> columns_;  ///< the features that are split on
  std::vector<Node> nodes_;
  std::vector<Group> groups_;
  std::size_t steps_ = 0;
};

}  // namespace rpcroute::model
