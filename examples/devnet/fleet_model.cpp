#include "fleet_model.hpp"

#include <algorithm>
#include <cmath>

namespace rpcroute::history {
namespace {

// Medians, tails and the share of lag were fitted to the seed's table of providers; the order is that of provider_id.
constexpr ProviderModel alchemy = {.provider_id = "alchemy",
                                   .ping_median_ms = 220,
                                   .ping_sigma = 0.35,
                                   .spike_share = 0.015,
                                   .failure_share = 0.002,
                                   .head_delay_sec = 1.0,
                                   .propagation_median_sec = 3.6,
                                   .lag_share = 0.03,
                                   .burst_slots = 10,
                                   .max_lag = 2,
                                   .miss = 0.035,
                                   .tail = 0};
constexpr ProviderModel drpc = {.provider_id = "drpc",
                                .ping_median_ms = 260,
                                .ping_sigma = 0.45,
                                .spike_share = 0.03,
                                .failure_share = 0.006,
                                .head_delay_sec = 1.6,
                                .propagation_median_sec = 1.6,
                                .lag_share = 0.11,
                                .burst_slots = 20,
                                .max_lag = 5,
                                .miss = 0.07,
                                .tail = 0.002};
constexpr ProviderModel infura = {.provider_id = "infura",
                                  .ping_median_ms = 160,
                                  .ping_sigma = 0.30,
                                  .spike_share = 0.01,
                                  .failure_share = 0.002,
                                  .head_delay_sec = 0.8,
                                  .propagation_median_sec = 1.1,
                                  .lag_share = 0.05,
                                  .burst_slots = 15,
                                  .max_lag = 3,
                                  .miss = 0.075,
                                  .tail = 0.0006};
constexpr ProviderModel publicnode = {.provider_id = "publicnode",
                                      .ping_median_ms = 120,
                                      .ping_sigma = 0.40,
                                      .spike_share = 0.02,
                                      .failure_share = 0.005,
                                      .head_delay_sec = 1.6,
                                      .propagation_median_sec = 1.3,
                                      .lag_share = 0.14,
                                      .burst_slots = 25,
                                      .max_lag = 8,
                                      .miss = 0.07,
                                      .tail = 0.002};

// Polls look as different as ever, confirmations are those of one and the same provider.
constexpr ProviderModel equal(ProviderModel provider) {
  provider.propagation_median_sec = 2.4;
  provider.miss = 0.07;
  provider.tail = 0.001;
  return provider;
}

constexpr std::array<Scenario, 3> all_scenarios = {{
    {.name = "lag-matters",
     .summary = "a lagging provider holds transactions back; providers differ in speed and tails",
     .providers = {alchemy, drpc, infura, publicnode},
     .lag_delays = true,
     .ping_delays = true},
    {.name = "nothing-matters",
     .summary = "equal providers; neither lag nor ping says anything about a confirmation",
     .providers = {equal(alchemy), equal(drpc), equal(infura), equal(publicnode)},
     .lag_delays = false,
     .ping_delays = false},
    {.name = "fixed",
     .summary = "providers differ in their medians; neither lag nor ping says more",
     .providers = {alchemy, drpc, infura, publicnode},
     .lag_delays = false,
     .ping_delays = false},
}};

constexpr double ping_memory_sec = 900;
constexpr double lagging_backend_share = 0.85;  // of requests that meet the one of a provider's backends that lags
constexpr double held_back_share = 0.8;         // of transactions that are held back there
constexpr double lag_growth_share = 0.45;       // of lags that grow by one slot more

constexpr double congested_share = 0.15;
constexpr double congestion_slots = 75;  // 15 minutes
constexpr double calm_miss = 0.045;
constexpr double congested_miss = 0.28;

constexpr std::size_t slots_beyond = 400;  // for what is pending at the end; the last one never misses

enum Stream : std::uint64_t {
  network = 1,
  blocks,
  transactions,
  provider_ping,
  provider_lag,
  provider_polls,
  provider_transactions
};

constexpr std::uint64_t stream_of(Stream stream, std::size_t provider) {
  return stream + 16 * (provider + 1);
}

// Alternates between two states; stays in the second for `mean_slots` on average and for `share` of the time.
class Episodes {
 public:
  Episodes(double share, double mean_slots) : end_(1 / mean_slots), start_(share / (mean_slots * (1 - share))) {}
  bool next(Random& random) {
    in_ = random.chance(in_ ? 1 - end_ : start_);
    return in_;
  }

 private:
  double end_;
  double start_;
  bool in_ = false;
};

std::vector<std::uint8_t> network_misses(std::size_t slots, Random random) {
  std::vector<std::uint8_t> missed(slots);
  Episodes congestion(congested_share, congestion_slots);
  for (auto& slot : missed) {
    slot = random.chance(congestion.next(random) ? congested_miss : calm_miss);
  }
  missed.back() = 0;
  return missed;
}

std::vector<float> block_delays(std::size_t slots, Random random) {
  std::vector<float> delays(slots);
  for (auto& delay : delays) {
    delay = static_cast<float>(random.lognormal(1.0, 0.4));
  }
  return delays;
}

std::vector<float> pings(const ProviderModel& provider, std::size_t slots, Random random) {
  const double keep = portable_exp(-slot_sec / ping_memory_sec);
  const double shock = provider.ping_sigma * std::sqrt(1 - keep * keep);
  double level = provider.ping_sigma * random.normal();
  std::vector<float> ping_ms(slots);
  for (auto& ping : ping_ms) {
    ping = static_cast<float>(provider.ping_median_ms * portable_exp(level));
    level = keep * level + shock * random.normal();
  }
  return ping_ms;
}

// Within an episode the lag grows by one each slot up to its peak, and is gone when the episode ends.
std::vector<std::uint8_t> lags(const ProviderModel& provider, std::size_t slots, Random random) {
  std::vector<std::uint8_t> lag(slots);
  Episodes falling_behind(provider.lag_share, provider.burst_slots);
  int now = 0;
  int peak = 0;
  for (auto& slot : lag) {
    if (!falling_behind.next(random)) {
      now = 0;
      continue;
    }
    if (now == 0) {
      for (peak = 1; peak < provider.max_lag && random.chance(lag_growth_share);) {
        ++peak;
      }
    }
    now = std::min(now + 1, peak);
    slot = static_cast<std::uint8_t>(now);
  }
  return lag;
}

}  // namespace

std::span<const Scenario> scenarios() {
  return all_scenarios;
}

Fleet::Fleet(const Scenario& scenario, std::uint64_t seed, double duration_sec)
    : scenario_(scenario), transactions_(seed, Stream::transactions) {
  const std::size_t slots = static_cast<std::size_t>(duration_sec / slot_sec) + slots_beyond;
  missed_ = network_misses(slots, Random(seed, Stream::network));
  block_delay_sec_ = block_delays(slots, Random(seed, Stream::blocks));
  for (std::size_t i = 0; i < fleet_size; ++i) {
    const ProviderModel& provider = scenario.providers[i];
    tracks_.push_back({.ping_ms = pings(provider, slots, Random(seed, stream_of(provider_ping, i))),
                       .lag = lags(provider, slots, Random(seed, stream_of(provider_lag, i))),
                       .polls = Random(seed, stream_of(provider_polls, i)),
                       .transactions = Random(seed, stream_of(provider_transactions, i))});
  }
}

std::size_t Fleet::slot_at(double at) const {
  return std::min(static_cast<std::size_t>(std::max(at, 0.0) / slot_sec), missed_.size() - 1);
}

int Fleet::lag(std::size_t provider, double at) const {
  return tracks_[provider].lag[slot_at(at)];
}

double Fleet::ping_ms(std::size_t provider, double at, Random& random) const {
  const double ping = tracks_[provider].ping_ms[slot_at(at)];
  return random.chance(scenario_.providers[provider].spike_share) ? ping * random.uniform(3, 15) : ping;
}

// The newest slot whose block the provider has when it does not lag.
std::int64_t Fleet::visible_slot(std::size_t provider, double at) const {
  return static_cast<std::int64_t>(std::floor((at - scenario_.providers[provider].head_delay_sec) / slot_sec));
}

std::int64_t Fleet::head(double at) const {
  std::int64_t head = -1;
  for (std::size_t i = 0; i < fleet_size; ++i) {
    head = std::max(head, visible_slot(i, at) - lag(i, at));
  }
  return head;
}

Observation Fleet::poll(std::size_t provider, double at, double timeout_ms) {
  Random& random = tracks_[provider].polls;
  const double latency_ms = ping_ms(provider, at, random);
  const bool lagging_backend = random.chance(lagging_backend_share);
  const double luck = random.uniform();
  const double failure_share = scenario_.providers[provider].failure_share;
  if (latency_ms > timeout_ms) {
    return {.timestamp = at + timeout_ms / 1000, .latency_ms = {}, .error_class = "timeout"};
  }
  const double answered = at + latency_ms / 1000;
  if (luck < failure_share) {
    return {
        .timestamp = answered, .latency_ms = {}, .error_class = luck < failure_share / 2 ? "rate_limited" : "connect"};
  }
  const double asked = at + latency_ms / 2000;
  return {.timestamp = answered,
          .latency_ms = latency_ms,
          .slot = visible_slot(provider, asked) - (lagging_backend ? lag(provider, asked) : 0),
          .error_class = {}};
}

Confirmation Fleet::confirm_through(std::size_t provider, double at, double cutoff_sec, double receipt_poll_sec) {
  const ProviderModel& model = scenario_.providers[provider];
  Random& random = tracks_[provider].transactions;
  const double submit_ms = ping_ms(provider, at, random);
  const double propagation_sec = random.lognormal(model.propagation_median_sec, 0.6);
  const bool lagging_backend = random.chance(lagging_backend_share);
  const bool held_back = lagging_backend && random.chance(held_back_share);
  const bool stuck = random.chance(model.tail);
  const std::uint64_t stuck_slots = 5 + random.below(4);

  const double ready = at + (scenario_.ping_delays ? submit_ms / 1000 : 0) + propagation_sec + cutoff_sec;
  std::size_t slot = static_cast<std::size_t>(std::ceil(ready / slot_sec));
  slot += scenario_.lag_delays && held_back ? static_cast<std::size_t>(lag(provider, at)) : 0;
  slot += stuck ? stuck_slots : 0;
  const std::size_t last = missed_.size() - 1;
  slot = std::min(slot, last);
  while (slot < last && (random.chance(model.miss) || missed_[slot])) {
    ++slot;
  }

  std::size_t shown = slot;  // when the provider's own height has come so far
  while (lagging_backend && shown < last && shown < slot + tracks_[provider].lag[shown]) {
    ++shown;
  }
  const double start = static_cast<double>(slot) * slot_sec;
  const double duration = start + block_delay_sec_[slot] + receipt_poll_sec - at;
  const double own = static_cast<double>(shown) * slot_sec + model.head_delay_sec + receipt_poll_sec - at;
  return {.submit_ms = submit_ms,
          .duration_sec = duration,
          .own_receipt_sec = std::max(duration, own),
          .slot = static_cast<std::int64_t>(slot)};
}

std::array<Confirmation, fleet_size> Fleet::confirm(double at) {
  const double cutoff_sec = transactions_.uniform(0, 4);
  const double receipt_poll_sec = transactions_.uniform(0, 0.5);
  std::array<Confirmation, fleet_size> confirmations;
  for (std::size_t i = 0; i < fleet_size; ++i) {
    confirmations[i] = confirm_through(i, at, cutoff_sec, receipt_poll_sec);
  }
  return confirmations;
}

}  // namespace rpcroute::history
