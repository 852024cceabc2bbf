// Random numbers that are the same on every machine. The distributions of <random> are not specified bit by bit and
// std::exp may differ in its last bit from libm to libm; here everything is integers and the five IEEE operations.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace rpcroute::history {

/// e^x to about 1e-15, for |x| < 700.
inline double portable_exp(double x) {
  constexpr double log2_e = 1.4426950408889634;
  constexpr double ln2_high = 6.93147180369123816490e-01;  // ln 2 = high + low; k * high is exact for small k
  constexpr double ln2_low = 1.90821492927058770002e-10;
  const double k = std::floor(x * log2_e + 0.5);
  const double r = (x - k * ln2_high) - k * ln2_low;  // |r| <= ln(2) / 2
  double sum = 1;
  for (int n = 13; n > 0; --n) {
    sum = 1 + r * sum / n;
  }
  return std::ldexp(sum, static_cast<int>(k));
}

/// A stream of random numbers: xoshiro256++ (Blackman and Vigna, 2018), seeded through SplitMix64 as they advise.
/// Streams of one seed and different names are independent, so that a longer history begins like a shorter one and
/// scenarios of one seed share their luck.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) {
    std::uint64_t state = mix(seed) ^ (stream * 0xd1342543de82ef95u);
    for (auto& word : state_) {
      state += 0x9e3779b97f4a7c15u;
      word = mix(state);
    }
  }

  std::uint64_t bits() {
    const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// In [0, 1).
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// 0 … count - 1.
  std::uint64_t below(std::uint64_t count) {
    return static_cast<std::uint64_t>(uniform() * static_cast<double>(count));
  }
  bool chance(double probability) { return uniform() < probability; }

  /// Mean 0, variance 1, within ±6: the sum of twelve uniform numbers of 16 bits (Irwin–Hall), exact in integers.
  double normal() {
    std::uint64_t sum = 0;
    for (int draw = 0; draw < 3; ++draw) {
      const std::uint64_t word = bits();
      sum += (word & 0xffff) + (word >> 16 & 0xffff) + (word >> 32 & 0xffff) + (word >> 48);
    }
    return (static_cast<double>(sum) - 12 * 32767.5) / 65536;
  }
  double lognormal(double median, double sigma) { return median * portable_exp(sigma * normal()); }

 private:
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  std::array<std::uint64_t, 4> state_;
};

}  // namespace rpcroute::history
