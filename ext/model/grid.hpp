// The evaluator for forests that split on one or two features: a table of all outputs there are.
#pragma once

#include <memory>
#include <vector>

#include "model/bins.hpp"
#include "model/evaluator.hpp"

namespace rpcroute::model {

/// A cell for each pair of bins. Between thresholds a forest is constant, so looking a cell up is exact by
/// construction.
class Grid final : public Evaluator {
 public:
  /// Nothing when the forest splits on more than two features or the table would be too large or too slow to make.
  static std::unique_ptr<const Evaluator> compile(const Forest& forest, const std::vector<Axis>& axes,
                                                  text::Budget& budget);

  float predict(std::span<const double> features) const override {
    const std::uint32_t row = rows_.bins.find(features[rows_.feature]);
    const std::uint32_t column = columns_.bins.find(features[columns_.feature]);
    return cells_[row * columns_.bins.size() + column];
  }
  std::string_view kind() const override { return "grid"; }
  std::size_t steps() const override { return 1; }
  std::size_t parts() const override { return cells_.size(); }
  std::size_t bytes() const override {
    return cells_.size() * sizeof(float) + rows_.bins.bytes() + columns_.bins.bytes();
  }

 private:
  Grid(const Forest& forest, Axis rows, Axis columns, text::Budget& budget);
  void add(const Tree& tree);

  struct Range;
  struct Region;
  void add(const Region& region, float value);

  Axis rows_;
  Axis columns_;
  std::vector<float> cells_;  ///< row-major
};

}  // namespace rpcroute::model
