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
  Bitmask(const Forest& forest, std::vector<Axis> axes, text::Budget& budget);

  float predict(std::span<const double> features) const override;
  std::string_view kind() const override { return "bitmask"; }
  std::size_t steps() const override { return trees_ * axes_.size() / block; }
  std::size_t parts() const override { return axes_.size(); }
  std::size_t bytes() const override;

  /// Of the masks for this forest, in bytes.
  static std::size_t table_bytes(std::size_t trees, const std::vector<Axis>& axes);

 private:
  static constexpr std::size_t leaves = sizeof(Mask) * 8;
  /// Masks are and-ed in blocks of this many trees, which compilers turn into vector instructions.
  static constexpr std::size_t block = 8;

  static std::size_t padded(std::size_t trees) { return (trees + block - 1) / block * block; }

  /// What a tree's splits exclude, noted for each bin of each axis where it begins: from there to the last bin, or to
  /// the first. Spread afterwards, so that a tree costs as much as its table has rows, however many splits it has.
  struct Exclusions {
    std::vector<Mask> upwards;
    std::vector<Mask> downwards;
  };
  void add(const Tree& tree, std::size_t column, Exclusions& exclusions);
  void spread(const Exclusions& exclusions, std::size_t column);
  std::size_t rows() const { return masks_.size() / stride_; }
  Mask* row(std::size_t index) { return masks_.data() + index * stride_; }

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
std::unique_ptr<const Evaluator> compile_bitmask(const Forest& forest, const std::vector<Axis>& axes,
                                                 text::Budget& budget);

}  // namespace rpcroute::model
