#include "align/percentile.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace rpcroute::align {

namespace {

template <class T>
void sort_in_steps(std::span<T> values, const text::Pulse& pulse) {
  text::Budget steps(pulse);
  std::sort(values.begin(), values.end(), [&](const T& left, const T& right) {
    steps.step();
    return left < right;
  });
}

}  // namespace

void Sample::sort(const text::Pulse& pulse) const {
  if (!sorted_) sort_in_steps(std::span(values_), pulse);
  sorted_ = true;
}

void Sample::add(double value) {
  if (keep_sorted_) {
    values_.insert(std::upper_bound(values_.begin(), values_.end(), value), value);
  } else {
    sorted_ = sorted_ && (values_.empty() || values_.back() <= value);
    values_.push_back(value);
  }
}

void Sample::remove(double value) {
  sort();
  keep_sorted_ = true;
  const auto found = std::lower_bound(values_.begin(), values_.end(), value);
  if (found != values_.end() && *found == value) values_.erase(found);
}

std::optional<double> Sample::percentile(double percent, const text::Pulse& pulse) const {
  if (values_.empty()) return std::nullopt;
  sort(pulse);
  // In this order of operations the result is SQLite's, bit for bit.
  const double position = percent * static_cast<double>(values_.size() - 1) * 0.01;
  const auto below = std::min(static_cast<std::size_t>(position), values_.size() - 1);
  const double fraction = position - static_cast<double>(below);
  if (fraction == 0.0 || below + 1 == values_.size()) return values_[below];
  const double low = values_[below];
  const double high = values_[below + 1];
  const double step = high - low;
  return std::isfinite(step) ? low + step * fraction : low * (1.0 - fraction) + high * fraction;
}

std::optional<double> weighted_percentile(std::span<Weighted> sample, double percent, const text::Pulse& pulse) {
  sort_in_steps(sample, pulse);
  double total = 0.0;
  for (const Weighted& row : sample) total += row.weight;
  // A share that is met exactly must not be missed by the rounding of the sums.
  const double needed = percent * total / 100.0 * (1.0 - 1e-12);
  double reached = 0.0;
  std::optional<double> last;
  for (const Weighted& row : sample) {
    if (row.weight == 0.0) continue;
    reached += row.weight;
    last = row.value;
    if (reached >= needed) break;
  }
  return last;
}

}  // namespace rpcroute::align
