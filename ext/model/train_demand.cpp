#include "model/train_demand.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string>
#include <string_view>

#include "model/limits.hpp"

namespace rpcroute::model {
namespace {

std::string_view setting(const TrainParams& params, std::string_view name, std::string_view otherwise) {
  for (const auto& [key, value] : params.settings) {
    if (key == name) return value;
  }
  return otherwise;
}

std::uint64_t whole(const TrainParams& params, std::string_view name, std::string_view otherwise) {
  const std::string_view text = setting(params, name, otherwise);
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

TrainDemand demand_of(const TrainingRows& rows, const TrainParams& params) {
  constexpr std::uint64_t bytes_a_bin = 2 * sizeof(double);  // gradient and hessian
  constexpr std::uint64_t rows_a_task = 256;                 // each on one of the threads, with a histogram of its own
  const std::uint64_t count = rows.label.size();
  std::uint64_t leaves = std::min(count, std::uint64_t{1} << whole(params, "max_depth", "6"));
  if (const std::uint64_t most = whole(params, "max_leaves", "0"); most > 0) leaves = std::min(leaves, most);
  const std::uint64_t nodes = 2 * leaves;
  const std::uint64_t bins = rows.width * std::min(count, whole(params, "max_bin", "256"));
  const auto threads = static_cast<std::uint64_t>(params.threads);
  const std::uint64_t more = threads > 1 ? std::min(threads * nodes, count / rows_a_task) : 0;
  const bool exact = setting(params, "tree_method", "hist") == "exact";
  return {.trees = whole(params, "num_parallel_tree", "1"),
          .nodes = nodes,
          .histogram_bytes = exact ? 0 : (nodes + more) * bins * bytes_a_bin};
}

void require_modest(const TrainDemand& demand, const TrainParams& params) {
  if (const auto trees = static_cast<std::uint64_t>(params.rounds) * demand.trees; trees > limits::trained_trees) {
    throw std::invalid_argument("num_round × num_parallel_tree is " + std::to_string(trees) + " trees, accepted are " +
                                std::to_string(limits::trained_trees));
  }
  if (demand.histogram_bytes > limits::histogram_bytes) {
    throw std::invalid_argument("a tree may need " + std::to_string(demand.histogram_bytes >> 20) +
                                " MiB of histograms, accepted are " + std::to_string(limits::histogram_bytes >> 20) +
                                ": lower max_bin, max_depth or max_leaves");
  }
}

}  // namespace rpcroute::model
