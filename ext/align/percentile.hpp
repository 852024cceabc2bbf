// Percentiles of a sample.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "text/budget.hpp"

namespace rpcroute::align {

/// A growing and shrinking sample of finite numbers, and its percentiles by linear interpolation (Hyndman and Fan's
/// type 7; SQLite's percentile extension, requirement 10).
class Sample {
 public:
  void add(double value);
  /// Takes back one value added before.
  void remove(double value);
  bool empty() const { return values_.empty(); }
  /// The height at percent * (n - 1) / 100 of the line through the sorted values; `percent` in 0 … 100. nullopt when
  /// empty.
  std::optional<double> percentile(double percent, const text::Pulse& pulse = {}) const;

 private:
  void sort(const text::Pulse& pulse = {}) const;
  // Appending is cheap and sorting once is enough, until something is removed: a window keeps its order.
  mutable std::vector<double> values_;
  mutable bool sorted_ = true;
  bool keep_sorted_ = false;
};

struct Weighted {
  double value;
  double weight;  ///< finite, 0 or more
  auto operator<=>(const Weighted&) const = default;
};

/// The smallest value whose cumulative share of the weight reaches percent / 100: the inverse of the weighted
/// distribution function (Hyndman and Fan's type 1; SQL's PERCENTILE_DISC, with weights). Sorts `sample`. Values
/// without weight do not count; nullopt when nothing has weight.
std::optional<double> weighted_percentile(std::span<Weighted> sample, double percent, const text::Pulse& pulse = {});

}  // namespace rpcroute::align
