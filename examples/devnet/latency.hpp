// How long a provider takes to answer.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "config.hpp"
#include "random.hpp"

namespace rpcroute::devnet {

class Latency {
 public:
  Latency(const LatencyConfig& config, std::uint64_t seed, std::string_view provider_id)
      : config_(config), random_(seed, provider_id, "latency") {}

  std::chrono::nanoseconds draw() {
    double ms = random_.lognormal(config_.base.median_ms, config_.base.sigma);
    if (random_.chance(config_.spike_probability)) ms *= random_.uniform(config_.spike_from, config_.spike_to);
    return std::chrono::nanoseconds(static_cast<std::int64_t>(ms * 1e6));
  }

  void set(const LatencyConfig& config) { config_ = config; }

 private:
  LatencyConfig config_;
  Random random_;
};

}  // namespace rpcroute::devnet
