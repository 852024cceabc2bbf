// Points on a time axis of INTEGERs and REALs, compared and subtracted without rounding one into the other: a double
// holds no integer above 2^53 exactly, and an int64 difference overflows.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace rpcroute::align {

/// A time in whatever unit the data has. REALs may be infinite, never NaN.
using Time = std::variant<std::int64_t, double>;

inline std::weak_ordering compare(std::int64_t left, std::int64_t right) {
  return left <=> right;
}
inline std::weak_ordering compare(double left, double right) {
  if (left < right) return std::weak_ordering::less;
  return left > right ? std::weak_ordering::greater : std::weak_ordering::equivalent;
}
std::weak_ordering compare(std::int64_t left, double right);
inline std::weak_ordering compare(double left, std::int64_t right) {
  return 0 <=> compare(right, left);
}
/// 5 and 5.0 are the same time.
std::weak_ordering compare(const Time& left, const Time& right);

/// How far apart two times may be, inclusive; 0 or more. nullopt: any distance.
using Tolerance = std::optional<Time>;

/// Whether later - earlier <= tolerance, exactly. Requires earlier <= later.
bool within(const Tolerance& tolerance, const Time& earlier, const Time& later);

/// Whether `later` is strictly nearer to `at` than `earlier` is, exactly. Requires earlier <= at <= later.
bool later_is_nearer(const Time& earlier, const Time& at, const Time& later);

/// left - right as SQL computes it: an integer for two integers unless that overflows, else a real.
Time difference(const Time& left, const Time& right);

/// A column of times: eight bytes each as long as all of them are of one type.
class TimeColumn {
 public:
  void add(const Time& time);
  std::size_t size() const;
  Time operator[](std::size_t index) const;

  using Values = std::variant<std::vector<std::int64_t>, std::vector<double>, std::vector<Time>>;
  const Values& values() const { return values_; }
  Values& values() { return values_; }

 private:
  Values values_;
};

}  // namespace rpcroute::align
