#include "model/grid.hpp"

#include <algorithm>

#include "model/limits.hpp"

namespace rpcroute::model {
/// The bins of one axis that reach a node: an interval, and perhaps the missing value.
struct Grid::Range {
  std::uint32_t begin;
  std::uint32_t end;
  bool missing;

  Range left(std::uint32_t last_left, bool default_left) const {
    return {begin, std::min(end, last_left + 1), missing && default_left};
  }
  Range right(std::uint32_t last_left, bool default_left) const {
    return {std::max(begin, last_left + 1), end, missing && !default_left};
  }
};

struct Grid::Region {
  std::uint32_t node;
  Range rows;
  Range columns;
};

std::unique_ptr<const Evaluator> Grid::compile(const Forest& forest, const std::vector<Axis>& axes,
                                               text::Budget& budget) {
  if (axes.size() > 2) return nullptr;
  // The longer axis becomes the columns, so that regions are filled in long runs.
  Axis rows = axes.size() == 2 ? axes[0] : Axis{0, Bins()};
  Axis columns = axes.empty() ? Axis{0, Bins()} : axes.back();
  if (rows.bins.size() > columns.bins.size()) std::swap(rows, columns);
  const std::size_t cells = std::size_t{rows.bins.size()} * columns.bins.size();
  if (cells > limits::grid_cells || cells * forest.trees.size() > limits::grid_additions) return nullptr;
  return std::unique_ptr<const Evaluator>(new Grid(forest, std::move(rows), std::move(columns), budget));
}

Grid::Grid(const Forest& forest, Axis rows, Axis columns, text::Budget& budget)
    : rows_(std::move(rows)),
      columns_(std::move(columns)),
      cells_(std::size_t{rows_.bins.size()} * columns_.bins.size(), forest.base_margin) {
  // Tree by tree, so that every cell sums in the order in which XGBoost does.
  constexpr std::size_t additions_a_step = 8;
  for (const Tree& tree : forest.trees) {
    budget.steps(tree.size() + cells_.size() / additions_a_step);
    add(tree);
  }
  std::transform(cells_.begin(), cells_.end(), cells_.begin(),
                 [&](float margin) { return apply(forest.link, margin); });
}

void Grid::add(const Tree& tree) {
  std::vector<Region> open{{0, {0, rows_.bins.thresholds() + 1, true}, {0, columns_.bins.thresholds() + 1, true}}};
  while (!open.empty()) {
    const Region region = open.back();
    open.pop_back();
    const std::uint32_t node = region.node;
    if (tree.is_leaf(node)) {
      add(region, tree.value[node]);
      continue;
    }
    const bool on_columns = tree.feature[node] == columns_.feature;
    const Axis& axis = on_columns ? columns_ : rows_;
    const std::uint32_t last_left = axis.bins.last_left(tree.value[node]);
    const bool default_left = tree.default_left[node] != 0;
    const auto child = static_cast<std::uint32_t>(tree.left[node]);
    Region left{child, region.rows, region.columns};
    Region right{child + 1, region.rows, region.columns};
    Range& left_range = on_columns ? left.columns : left.rows;
    Range& right_range = on_columns ? right.columns : right.rows;
    right_range = right_range.right(last_left, default_left);
    left_range = left_range.left(last_left, default_left);
    open.push_back(right);
    open.push_back(left);
  }
}

void Grid::add(const Region& region, float value) {
  if (region.columns.begin >= region.columns.end && !region.columns.missing) return;
  const auto add_to_row = [&](std::uint32_t row) {
    float* const cells = cells_.data() + std::size_t{row} * columns_.bins.size();
    for (std::uint32_t column = region.columns.begin; column < region.columns.end; ++column) cells[column] += value;
    if (region.columns.missing) cells[columns_.bins.missing()] += value;
  };
  for (std::uint32_t row = region.rows.begin; row < region.rows.end; ++row) add_to_row(row);
  if (region.rows.missing) add_to_row(rows_.bins.missing());
}

}  // namespace rpcroute::model
