// The evaluator that any forest fits: its trees, one after another.
#pragma once

#include <cstdint>
#include <vector>

#include "model/evaluator.hpp"

namespace rpcroute::model {

class FlatForest final : public Evaluator {
 public:
  explicit FlatForest(const Forest& forest);

  float predict(std::span<const double> features) const override { return apply(link_, margin(features)); }
  float margin(std::span<const double> features) const;
  std::string_view kind() const override { return "forest"; }
  std::size_t parts() const override { return nodes_.size(); }
  std::size_t bytes() const override { return nodes_.size() * sizeof(Node) + roots_.size() * sizeof(std::uint32_t); }

 private:
  struct Node {
    float value;            ///< threshold, or a leaf's value
    std::uint32_t feature;  ///< shifted left by one; the lowest bit says where a missing value goes, 1 = left
    std::uint32_t left;     ///< position of the left child, the right one follows; 0 for a leaf
  };

  std::uint32_t leaf(std::uint32_t root, std::span<const double> features) const;

  Link link_;
  float base_margin_;
  std::vector<std::uint32_t> roots_;
  std::vector<Node> nodes_;
};

}  // namespace rpcroute::model
