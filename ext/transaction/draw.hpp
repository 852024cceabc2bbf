// The draw of a provider: uniform, and the same everywhere for the same seed.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <random>

namespace rpcroute::transaction {

/// std::mt19937_64, whose output the standard fixes, with a mapping of our own: std::uniform_int_distribution differs
/// between libraries. A value from the incomplete last run of multiples is thrown away, so that no choice is favoured.
class Draw {
 public:
  explicit Draw(std::optional<std::int64_t> seed)
      : engine_(seed ? static_cast<std::uint64_t>(*seed)
                     : std::random_device{}() ^ (std::uint64_t{std::random_device{}()} << 32)) {}

  /// 0 … choices-1. `choices` must not be 0.
  std::uint64_t operator()(std::uint64_t choices) {
    const std::uint64_t excess = (std::numeric_limits<std::uint64_t>::max() % choices + 1) % choices;
    const std::uint64_t last = std::numeric_limits<std::uint64_t>::max() - excess;
    std::uint64_t value = engine_();
    while (value > last) value = engine_();
    return value % choices;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace rpcroute::transaction
