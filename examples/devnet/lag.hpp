// How far a provider is behind: bursts that come and go.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "config.hpp"
#include "random.hpp"

namespace rpcroute::devnet {

/// Steps once a slot. Outside a burst the lag is 0; a burst of geometric length starts at the rate that makes the
/// share of lagging slots come out; within it the lag deepens by one with every block to a depth of its own.
class Lag {
 public:
  Lag(const LagConfig& config, std::uint64_t seed, std::string_view provider_id);

  /// After a slot; a slot without a block cannot deepen the lag.
  void step(bool has_block);

  /// Blocks behind. A fixed lag holds until it is set to nullopt; the random process runs on beneath it.
  std::uint64_t blocks() const { return fixed_.value_or(blocks_); }
  void fix(std::optional<std::uint64_t> blocks) { fixed_ = blocks; }

  /// Whether the next request meets the lagging backend.
  bool hits() { return blocks() > 0 && (config_.hit_probability >= 1 || random_hit_.chance(config_.hit_probability)); }

 private:
  LagConfig config_;
  Random random_;
  Random random_hit_;
  std::uint64_t slots_left_ = 0;
  std::uint64_t depth_ = 0;
  std::uint64_t blocks_ = 0;
  std::optional<std::uint64_t> fixed_;
};

}  // namespace rpcroute::devnet
