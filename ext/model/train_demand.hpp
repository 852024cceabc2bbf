// What a training may come to hold in memory, by its rows and parameters alone.
#pragma once

#include <cstdint>

#include "model/train.hpp"

namespace rpcroute::model {

struct TrainDemand {
  std::uint64_t trees;            ///< of a round
  std::uint64_t nodes;            ///< of a tree, at most
  std::uint64_t histogram_bytes;  ///< of the sums that hist and approx keep for every bin in every node of a tree
};

TrainDemand demand_of(const TrainingRows& rows, const TrainParams& params);

/// Throws std::invalid_argument, naming what to lower, for more histograms or trees than limits.hpp allows.
void require_modest(const TrainDemand& demand, const TrainParams& params);

}  // namespace rpcroute::model
