// The intervals into which a forest cuts one feature: within one, no tree tells two values apart.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "model/forest.hpp"

namespace rpcroute::model {

/// Order of float32 as order of unsigned integers; both zeros are one. Not for NaN. Comparing keys instead of floats
/// does not depend on how the thread treats denormals.
inline std::uint32_t ordered_key(float value) {
  const auto key = std::bit_cast<std::uint32_t>(value + 0.0F);  // -0.0 + 0.0 is 0.0
  return key & 0x80000000 ? ~key : key | 0x80000000;
}

/// Bins of one feature. With thresholds t0 < t1 < … < tk-1, bin 0 holds x < t0, bin i holds t(i-1) <= x < t(i), bin k
/// holds the rest up to infinity, and bin k + 1 a missing value. A threshold t(i) thus sends bins 0 … i to the left.
class Bins {
 public:
  Bins() : Bins(std::vector<float>{}) {}
  /// In any order, duplicates allowed, all finite.
  explicit Bins(std::vector<float> thresholds);

  std::uint32_t thresholds() const { return static_cast<std::uint32_t>(keys_.size()) - 1; }
  /// Bins including that of missing values.
  std::uint32_t size() const { return thresholds() + 2; }
  std::uint32_t missing() const { return thresholds() + 1; }
  std::size_t bytes() const { return (keys_.size() + begins_.size()) * sizeof(std::uint32_t); }

  /// The last bin that a threshold sends to the left. The threshold must be one of these bins'.
  std::uint32_t last_left(float threshold) const { return find(threshold) - 1; }

  /// The bin of a value; NaN is missing. Rounded to float32 first.
  std::uint32_t find(double value) const {
    const auto x = static_cast<float>(value);
    if (std::isnan(x)) return missing();
    return find_key(ordered_key(x));
  }

 private:
  std::uint32_t find_key(std::uint32_t key) const {
    if (key < keys_.front()) return 0;
    const std::uint32_t bucket = (key - keys_.front()) >> shift_;
    if (bucket + 1 >= begins_.size()) return thresholds();
    std::uint32_t bin = begins_[bucket];
    std::uint32_t size = begins_[bucket + 1] - bin;
    while (size > 4) {
      const std::uint32_t half = size / 2;
      if (keys_[bin + half - 1] <= key) bin += half;
      size -= half;
    }
    while (keys_[bin] <= key) ++bin;
    return bin;
  }

  std::vector<std::uint32_t> keys_;    ///< of the thresholds, ascending, and an end that no value reaches
  std::vector<std::uint32_t> begins_;  ///< of each bucket of equal key ranges: the first threshold in or after it
  unsigned shift_ = 0;                 ///< log2 of a bucket's range of keys
};

/// All thresholds of a feature that some tree splits on, ascending and distinct.
struct Thresholds {
  std::uint32_t feature;
  std::vector<float> values;
};

/// Those of a forest, by feature.
std::vector<Thresholds> thresholds(const Forest& forest, text::Budget& budget);

/// A feature that some tree splits on, and its bins.
struct Axis {
  std::uint32_t feature;
  Bins bins;
};

std::vector<Axis> axes(const std::vector<Thresholds>& lists);

}  // namespace rpcroute::model
