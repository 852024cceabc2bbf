// Rows that tell two evaluators of a forest apart.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "model/bins.hpp"

namespace rpcroute::model {

/// Rows in which every feature has one of its telling values – each threshold, one ulp below and above it, zero and a
/// missing value – in changing company, so that all are met after as many rows as the longest list has values. A row
/// has a column for each feature that is split on. The same rows for the same forest.
class TellingRows {
 public:
  explicit TellingRows(const std::vector<Thresholds>& lists);

  /// Rows after which every value was met.
  std::size_t enough() const { return enough_; }
  /// Valid until the next.
  std::span<float> next();

 private:
  std::vector<std::vector<float>> columns_;
  std::vector<float> row_;
  std::size_t made_ = 0;
  std::size_t enough_ = 0;
  std::minstd_rand random_{1};
};

/// Turns rows into such as reach a certain leaf, since chance alone does not go deep: half of the rows leave at each
/// split.
class Aim {
 public:
  /// `lists` are those of the rows' columns, out of `num_feature` features.
  Aim(const std::vector<Thresholds>& lists, std::size_t num_feature);

  /// The tree that is meant from now on.
  void take(const Tree& tree);
  /// Changes what the way to the leaf asks for; a leaf that nothing reaches is missed.
  void at(std::size_t leaf, std::span<float> row);

 private:
  /// What the splits on a way leave of a column.
  struct Range {
    float begin = -std::numeric_limits<float>::infinity();
    float end = std::numeric_limits<float>::infinity();
    bool may_miss = true;

    bool is_whole() const { return std::isinf(begin) && std::isinf(end); }
    void split(float threshold, bool left, bool default_left);
    float edge(float otherwise) const;
  };

  std::vector<std::uint32_t> column_of_;
  std::vector<Range> ranges_;
  std::vector<std::uint32_t> narrowed_;
  const Tree* tree_ = nullptr;
  std::vector<std::uint32_t> parents_;
};

}  // namespace rpcroute::model
