// A forest in the hands of libxgboost, in parts between which an interrupt is seen: the library itself has no such
// thing.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/booster.hpp"
#include "model/forest.hpp"

namespace rpcroute::model {

/// Boosters of consecutive trees, one after the other adding to the same margin, so that the bits are those of one
/// booster; most forests are one. Only the features that are split on reach the library, as columns: what it does for
/// each column of each row must not grow with features that nobody uses. Every call within a QuietScope. Not
/// thread-safe.
class LibraryForest {
 public:
  /// `steps_of` says what a row costs the library in a tree.
  LibraryForest(const Forest& forest, const std::function<std::uint64_t(const Tree&)>& steps_of, text::Budget& budget);

  /// What each column of a row is.
  const std::vector<std::uint32_t>& features() const { return features_; }
  /// Columns of a row: a forest without a split has one that means nothing.
  std::size_t width() const { return std::max<std::size_t>(features_.size(), 1); }
  /// Of one row.
  std::uint64_t steps() const { return steps_; }

  /// Outputs of rows, row-major, NaN for missing.
  std::vector<float> predict(std::span<const float> rows, text::Budget& budget);
  /// Exact TreeSHAP of a row: what each column contributes, and the bias.
  std::vector<float> contributions(std::span<const float> row, text::Budget& budget);

 private:
  struct Part {
    Booster booster;
    std::uint64_t steps;
  };
  std::vector<float> predict_some(std::span<const float> rows, text::Budget& budget);

  std::vector<std::uint32_t> features_;
  std::vector<Part> parts_;
  std::uint64_t steps_ = 0;
};

}  // namespace rpcroute::model
