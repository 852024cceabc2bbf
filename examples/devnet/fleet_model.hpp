// A fleet of providers and the network behind it in virtual time: what a poll sees, and what a transaction's
// confirmation is through each provider. Shaped after the Smart Router's data set (medians 12–15 s, mean 14.9 s, tails
// of five to eight slots); simulated, never measured.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "generate_random.hpp"

namespace rpcroute::history {

constexpr std::size_t fleet_size = 4;
constexpr double slot_sec = 12;

/// How one provider behaves. Shares and probabilities are 0..1.
struct ProviderModel {
  std::string_view provider_id;
  double ping_median_ms;
  double ping_sigma;              ///< of ln(ping): an Ornstein–Uhlenbeck process that forgets in 900 s
  double spike_share;             ///< of requests that take 3 to 15 times as long
  double failure_share;           ///< of polls that fail for another reason than slowness
  double head_delay_sec;          ///< from the start of a slot until the provider knows its block
  double propagation_median_sec;  ///< from the provider to the block builders, lognormal with sigma 0.6
  double lag_share;               ///< of the time in which the provider falls behind
  double burst_slots;             ///< mean length of such a time
  int max_lag;                    ///< slots
  double miss;  ///< probability that a slot goes by without the transaction, for the provider's own reasons
  double tail;  ///< probability that a transaction is stuck for 5 to 8 slots more
};

/// Which of the things that polls can see have any effect on confirmations.
struct Scenario {
  std::string_view name;
  std::string_view summary;
  std::array<ProviderModel, fleet_size> providers;  ///< in the order of provider_id
  bool lag_delays;                                  ///< a lagging provider holds a transaction back until it catches up
  bool ping_delays;                                 ///< the request's way is part of the duration
};

/// lag-matters, nothing-matters, fixed.
std::span<const Scenario> scenarios();

/// What one poll brings. Times are seconds since the beginning of the history.
struct Observation {
  double timestamp;                  ///< when the answer, or the failure, is complete
  std::optional<double> latency_ms;  ///< empty when the poll failed
  std::int64_t slot = 0;             ///< height, counted from the beginning of the history; when it did not fail
  std::string_view error_class;      ///< empty when it did not fail
};

/// What becomes of one transaction through one provider.
struct Confirmation {
  double submit_ms;
  double duration_sec;     ///< broadcast to the first receipt anybody shows
  double own_receipt_sec;  ///< broadcast to the receipt through the provider itself
  std::int64_t slot;       ///< of inclusion
};

/// The same seed gives the same history, and a longer one begins like a shorter one. Polls and transactions each have
/// to be asked for in the order of time. Not thread-safe.
class Fleet {
 public:
  /// `duration_sec` bounds the moments that may be asked about; about 30 bytes per slot are kept.
  Fleet(const Scenario& scenario, std::uint64_t seed, double duration_sec);

  /// Polls one provider; an answer takes at most `timeout_ms`.
  Observation poll(std::size_t provider, double at, double timeout_ms);

  /// Sends one transaction at `at`, through every provider alike: slots, congestion and the block's own way are shared.
  std::array<Confirmation, fleet_size> confirm(double at);

  /// The highest slot any provider knows at `at`.
  std::int64_t head(double at) const;

  /// Slots the provider is really behind at `at`.
  int lag(std::size_t provider, double at) const;

 private:
  struct Track {  // one provider through time, slot by slot
    std::vector<float> ping_ms;
    std::vector<std::uint8_t> lag;
    Random polls;
    Random transactions;
  };

  std::size_t slot_at(double at) const;
  double ping_ms(std::size_t provider, double at, Random& random) const;
  std::int64_t visible_slot(std::size_t provider, double at) const;
  Confirmation confirm_through(std::size_t provider, double at, double cutoff_sec, double receipt_poll_sec);

  const Scenario& scenario_;
  std::vector<std::uint8_t> missed_;    // by the whole network
  std::vector<float> block_delay_sec_;  // from a slot's start to the block's arrival at a well-connected node
  std::vector<Track> tracks_;
  Random transactions_;
};

}  // namespace rpcroute::history
