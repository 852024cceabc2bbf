#include "lag.hpp"

#include <algorithm>

namespace rpcroute::devnet {
namespace {

/// Depths of bursts are geometric with this success probability: 1 is the commonest, deep ones are rare.
constexpr double depth_probability = 0.45;

}  // namespace

Lag::Lag(const LagConfig& config, std::uint64_t seed, std::string_view provider_id)
    : config_(config), random_(seed, provider_id, "lag"), random_hit_(seed, provider_id, "lag hit") {}

void Lag::step(bool has_block) {
  if (slots_left_ > 0) {
    --slots_left_;
  } else if (random_.chance(config_.share / (config_.burst_slots * (1 - config_.share)))) {
    slots_left_ = random_.geometric(1 / config_.burst_slots);
    depth_ = std::min(config_.max, random_.geometric(depth_probability));
  }
  if (slots_left_ == 0) {
    blocks_ = 0;
  } else if (has_block && blocks_ < depth_) {
    ++blocks_;
  }
}

}  // namespace rpcroute::devnet
