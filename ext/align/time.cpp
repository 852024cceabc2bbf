#include "align/time.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <type_traits>

namespace rpcroute::align {
namespace {

constexpr double kTwoTo63 = 9223372036854775808.0;

/// The sign of a sum of up to eight doubles, exactly: Shewchuk's grow-expansion ("Adaptive Precision Floating-Point
/// Arithmetic", 1997, theorem 10) keeps the sum as non-overlapping parts, the last of which outweighs the rest.
class ExactSum {
 public:
  void add(double term) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      const double sum = term + parts_[i];
      const double virtual_part = sum - term;
      const double error = (term - (sum - virtual_part)) + (parts_[i] - virtual_part);
      if (error != 0.0) parts_[kept++] = error;
      term = sum;
    }
    if (term != 0.0) parts_[kept++] = term;
    size_ = kept;
  }

  /// Adds scale * time; `scale` is a small power of two, with its sign. Neither half of an integer is rounded.
  void add(const Time& time, double scale) {
    if (const auto* integer = std::get_if<std::int64_t>(&time)) {
      add(static_cast<double>(*integer >> 32) * 4294967296.0 * scale);
      add(static_cast<double>(*integer & 0xFFFFFFFF) * scale);
    } else {
      // A power of two off every REAL keeps the largest of them from overflowing when added up.
      add(std::get<double>(time) * scale);
    }
  }

  int sign() const { return size_ == 0 ? 0 : (parts_[size_ - 1] > 0 ? 1 : -1); }

 private:
  std::array<double, 8> parts_{};
  std::size_t size_ = 0;
};

bool is_infinite(const Time& time) {
  const auto* real = std::get_if<double>(&time);
  return real != nullptr && std::isinf(*real);
}

double as_double(const Time& time) {
  return std::visit([](auto value) { return static_cast<double>(value); }, time);
}

/// 1, or less when a sum of these times could leave the range of double.
double safe_scale(std::initializer_list<Time> times) {
  const bool huge =
      std::any_of(times.begin(), times.end(), [](const Time& t) { return std::abs(as_double(t)) > 1e300; });
  return huge ? 0.0625 : 1.0;
}

bool within_integers(std::int64_t tolerance, std::int64_t earlier, std::int64_t later) {
  return static_cast<std::uint64_t>(later) - static_cast<std::uint64_t>(earlier) <=
         static_cast<std::uint64_t>(tolerance);
}

bool within_exactly(const Time& tolerance, const Time& earlier, const Time& later) {
  ExactSum excess;
  const double scale = safe_scale({earlier, later, tolerance});
  excess.add(later, scale);
  excess.add(earlier, -scale);
  excess.add(tolerance, -scale);
  return excess.sign() <= 0;
}

}  // namespace

std::weak_ordering compare(std::int64_t left, double right) {
  if (right >= kTwoTo63) return std::weak_ordering::less;
  if (right < -kTwoTo63) return std::weak_ordering::greater;
  const auto whole = static_cast<std::int64_t>(right);
  if (left != whole) return left <=> whole;
  return compare(0.0, right - static_cast<double>(whole));
}

std::weak_ordering compare(const Time& left, const Time& right) {
  return std::visit([](auto l, auto r) { return compare(l, r); }, left, right);
}

bool within(const Tolerance& tolerance, const Time& earlier, const Time& later) {
  if (!tolerance || is_infinite(*tolerance)) return true;
  const auto* first = std::get_if<std::int64_t>(&earlier);
  const auto* last = std::get_if<std::int64_t>(&later);
  const auto* limit = std::get_if<std::int64_t>(&*tolerance);
  if (first != nullptr && last != nullptr && limit != nullptr) return within_integers(*limit, *first, *last);
  if (is_infinite(earlier) || is_infinite(later)) return compare(earlier, later) == 0;
  if (first == nullptr && last == nullptr) {
    // Rounding is monotonic: where the rounded difference and limit differ, the exact ones do so the same way.
    const double rounded = std::get<double>(later) - std::get<double>(earlier);
    const double rounded_limit = as_double(*tolerance);
    if (rounded != rounded_limit) return rounded < rounded_limit;
  }
  return within_exactly(*tolerance, earlier, later);
}

bool later_is_nearer(const Time& earlier, const Time& at, const Time& later) {
  if (is_infinite(later)) return false;
  if (is_infinite(earlier)) return true;
  ExactSum balance;  // (later - at) - (at - earlier)
  const double scale = safe_scale({earlier, at, later});
  balance.add(later, scale);
  balance.add(earlier, scale);
  balance.add(at, -2.0 * scale);
  return balance.sign() < 0;
}

Time difference(const Time& left, const Time& right) {
  const auto* l = std::get_if<std::int64_t>(&left);
  const auto* r = std::get_if<std::int64_t>(&right);
  std::int64_t exact = 0;
  if (l != nullptr && r != nullptr && !__builtin_sub_overflow(*l, *r, &exact)) return exact;
  return as_double(left) - as_double(right);
}

void TimeColumn::add(const Time& time) {
  std::visit(
      [&](auto& values) {
        using Value = typename std::decay_t<decltype(values)>::value_type;
        if constexpr (std::is_same_v<Value, Time>) {
          values.push_back(time);
        } else if (const auto* same = std::get_if<Value>(&time)) {
          values.push_back(*same);
        } else if (values.empty()) {
          values_ = std::vector<double>{std::get<double>(time)};  // it began as an empty column of integers
        } else {
          std::vector<Time> mixed(values.begin(), values.end());
          mixed.push_back(time);
          values_ = std::move(mixed);
        }
      },
      values_);
}

std::size_t TimeColumn::size() const {
  return std::visit([](const auto& values) { return values.size(); }, values_);
}

Time TimeColumn::operator[](std::size_t index) const {
  return std::visit([index](const auto& values) { return Time(values[index]); }, values_);
}

}  // namespace rpcroute::align
