// What a model may ask for: every bound of the room.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "text/budget.hpp"

namespace rpcroute::model::limits {

/// From a model's bytes to its first prediction: reading, compiling, loading it into libxgboost and checking it. Cells
/// are of eight bytes. XGBoost nests nine deep. The steps are what the most wasteful shapes use; that they grow with
/// the bytes alone is the promise that a small model is never dear.
constexpr text::Budget::Limits model(std::uint64_t bytes) {
  return {.bytes = 64U << 20, .cells = 32U << 20, .steps = (8U << 20) + 64 * bytes, .depth = 32};
}

/// Of a model that is read or trained.
inline constexpr std::size_t features = 65'536;
/// libxgboost loads a tree of so many within 50 ms, which nothing interrupts.
inline constexpr std::size_t tree_nodes = std::size_t{1} << 18;
/// More than any object of a model has; the search for a duplicate is linear.
inline constexpr std::size_t keys = 256;

/// A grid: larger ones leave the cache, and each tree adds to each cell once, which makes about a tenth of a second.
inline constexpr std::size_t grid_cells = 256 * 1024;
inline constexpr std::size_t grid_additions = 128'000'000;

/// Bit masks: a row of masks for each bin of each axis.
inline constexpr std::size_t bitmask_bytes = std::size_t{8} << 20;
inline constexpr std::size_t bitmask_axes = 128;

/// What libxgboost is given at once, so that an interrupt is seen between: it needs about 20 µs to load a tree and 0.2
/// to load a node, and 2 ns for a step of a prediction.
inline constexpr std::size_t part_trees = 2048;
inline constexpr std::size_t part_nodes = std::size_t{1} << 16;
inline constexpr std::size_t call_steps = std::size_t{1} << 21;

/// The self-check compares as many rows, or as many as the longest list of thresholds needs, and rows for as many leaves,
/// while they cost no more steps than these.
inline constexpr std::size_t check_rows = 2000;
inline constexpr std::size_t check_leaves = 500;
constexpr std::size_t check_steps(std::size_t nodes) {
  return std::min<std::size_t>(4'000'000 + 256 * nodes, 128'000'000);
}

/// Contributions of a row: TreeSHAP descends recursively, needs memory in the square of a tree's depth and time in that
/// square for each leaf. A single tree is not interrupted.
inline constexpr std::uint64_t explained_depth = 512;
inline constexpr std::uint64_t explained_tree_steps = std::uint64_t{1} << 24;
inline constexpr std::uint64_t explained_steps = std::uint64_t{1} << 30;

/// Compiled models that a connection keeps, and what they were compiled from.
inline constexpr std::size_t kept_models = 16;
inline constexpr std::size_t kept_bytes = std::size_t{64} << 20;

}  // namespace rpcroute::model::limits
