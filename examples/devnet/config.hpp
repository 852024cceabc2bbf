// The fleet file: one JSON object that describes a chain and the providers in front of it.
//
//   key                          default    meaning
//   seed                         1          every random stream of the fleet derives from it
//   slot_ms                      2000       time between slots; 0: slots come only by POST /mine
//   chain_id                     424242
//   first_block                  1000       height of the oldest block; 64 older blocks exist at the start
//   missed_slot_probability      0          a slot without a block
//   cutoff_ms                    0          a transaction must have arrived this long before the slot
//   base_fee_gwei                1          constant until changed at the control port
//   min_tip_wei                  1          smallest priority fee that the pool takes
//   accounts                     10         unlocked accounts, private key i = keccak256("rpcroute-devnet:<i>")
//   funded                       []         further addresses that own money
//   fund_all                     false      every address owns money
//   providers                    required   array of:
//
//   provider_id                  required   unique, URL-safe
//   kind                         "evm"      or "solana"
//   tls                          false      https with a certificate nobody trusts, made at the start
//   latency.median_ms            0          from the request's arrival to its answer leaving, lognormal
//   latency.sigma                0          of the logarithm
//   latency.spike_probability    0          share of requests whose latency is multiplied
//   latency.spike_factor         [3, 10]    by a factor drawn uniformly from here
//   error_rate                   0          share of requests answered by HTTP 500 or a reset, unprocessed
//   head_delay_ms                0          a block is seen this long after its slot
//   lag.share                    0          share of slots spent lagging
//   lag.burst_slots              10         mean length of a burst (geometric)
//   lag.max                      2          a burst's depth is geometric (0.45), cut here; it deepens by one a slot
//   lag.hit_probability          1          share of requests that meet the lagging backend; the rest see the head
//   propagation.median_ms        0          from a provider passing a transaction on to the chain knowing it, lognormal
//   propagation.sigma            0
//   miss_probability             0          per slot, that a transaction of this provider is left out of the block
//   tail_probability             0          share of transactions that wait another 5 to 8 slots
//   faults                       []         faults from the start, see fault.hpp
//
// All times are real milliseconds; nothing scales with slot_ms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bytes.hpp"
#include "fault.hpp"

namespace rpcroute::devnet {

struct Lognormal {
  double median_ms = 0;
  double sigma = 0;
};

struct LatencyConfig {
  Lognormal base;
  double spike_probability = 0;
  double spike_from = 3, spike_to = 10;
};

struct LagConfig {
  double share = 0;
  double burst_slots = 10;
  std::uint64_t max = 2;
  double hit_probability = 1;
};

enum class Kind { evm, solana };

struct ProviderConfig {
  std::string provider_id;
  Kind kind = Kind::evm;
  bool tls = false;
  LatencyConfig latency;
  double error_rate = 0;
  double head_delay_ms = 0;
  LagConfig lag;
  Lognormal propagation;
  double miss_probability = 0;
  double tail_probability = 0;
  std::vector<Fault> faults;
};

struct FleetConfig {
  std::uint64_t seed = 1;
  double slot_ms = 2000;
  std::uint64_t chain_id = 424242;
  std::uint64_t first_block = 1000;
  double missed_slot_probability = 0;
  double cutoff_ms = 0;
  Wei base_fee = 1'000'000'000;
  Wei min_tip = 1;
  std::size_t accounts = 10;
  std::vector<Address> funded;
  bool fund_all = false;
  std::vector<ProviderConfig> providers;
};

/// Throws std::invalid_argument that names the key at fault; unknown keys are refused.
FleetConfig parse_fleet(const std::string& json);
FleetConfig load_fleet(const std::string& path);

/// The object under a provider's "latency".
LatencyConfig parse_latency(const Json& json);

}  // namespace rpcroute::devnet
