// Random streams: one for each purpose of each provider, so that a draw here never shifts a draw there.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string_view>

namespace rpcroute::devnet {

class Random {
 public:
  Random(std::uint64_t seed, std::string_view owner, std::string_view purpose) {
    // FNV-1a over all three, so that neighbouring seeds and names give unrelated streams.
    std::uint64_t hash = 0xcbf29ce484222325u ^ seed;
    const auto mix = [&](std::string_view text) {
      for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
      hash = (hash ^ 0xff) * 0x100000001b3u;
    };
    mix(owner);
    mix(purpose);
    std::seed_seq sequence{static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(hash >> 32)};
    engine_.seed(sequence);
  }

  /// In [0, 1).
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  double uniform(double from, double to) { return from + (to - from) * uniform(); }
  bool chance(double probability) { return probability > 0 && uniform() < probability; }

  double lognormal(double median, double sigma) {
    return sigma > 0 ? median * std::exp(sigma * std::normal_distribution<double>()(engine_)) : median;
  }

  /// Number of trials up to and with the first success: 1, 2, …; mean 1 / probability.
  std::uint64_t geometric(double probability) {
    return 1 + std::geometric_distribution<std::uint64_t>(probability)(engine_);
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace rpcroute::devnet
