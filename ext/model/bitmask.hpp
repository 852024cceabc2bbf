// The evaluator for small trees on many features: which leaves each bin leaves possible, as bit masks.
#pragma once

#include <memory>
#include <vector>

#include "model/bins.hpp"
#include "model/evaluator.hpp"

namespace rpcroute::model {

/// For every bin of every feature, one mask a tree: bit i says that leaf i is not excluded by the tree's splits on that
/// feature. The masks of a row's bins, one a feature, leave exactly one leaf a tree. (The method of QuickScorer,
/// Lucchese et al. 2015, with the exclusions of a whole bin and-ed together beforehand.) Mask is 32 or 64 bits wide, as
/// many leaves as a tree may have.
template <class Mask>
class Bitmask final : public Evaluator {
 public:
  Bitmask(const Forest& forest, std::vector<Axis> axes);

  float predict(std::span<const double> features) const override;
  std::string_view kind() const override { return "bitmask"; }
  std::size_t parts() const override { return axes_.size(); }
  std::size_t bytes() const override;

  /// Of the masks for this forest, in bytes.
  static std::size_t table_bytes(std::size_t trees, const std::vector<Axis>& axes);

 private:
  static constexpr std::size_t leaves = sizeof(Mask) * 8;

  void exclude(const Tree& tree, std::size_t column);
  Mask* masks(std::size_t axis, std::uint32_t bin) { return masks_.data() + (begins_[axis] + bin) * stride_; }

  Link link_;
  float base_margin_;
  std::size_t trees_;
  std::size_t stride_;  ///< trees, rounded up to whole blocks
  std::vector<Axis> axes_;
  std::vector<std::size_t> begins_;  ///< per axis: rows of masks before its own
  std::vector<Mask> masks_;          ///< a row of `stride_` masks for each bin of each axis
  std::vector<float> values_;        ///< `leaves` leaf values for each tree
};

/// Nothing when a tree has more than 64 leaves, the tables would exceed 8 MiB, or too many features are split on.
std::unique_ptr<const Evaluator> compile_bitmask(const Forest& forest, const std::vector<Axis>& axes);

}  // namespace rpcroute::model
