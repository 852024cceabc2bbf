#include "model/bitmask.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "model/limits.hpp"

namespace rpcroute::model {
namespace {

std::size_t rows_of(const std::vector<Axis>& axes) {
  std::size_t rows = 0;
  for (const Axis& axis : axes) rows += axis.bins.size();
  return rows;
}

/// Position of the lowest set bit; there is one.
template <class Mask>
int lowest_bit(Mask mask) {
  if (mask == 0) __builtin_unreachable();  // spares the test that countr_zero makes for processors without tzcnt
  return std::countr_zero(mask);
}

/// Leaves below a node, as an interval of the tree's leaves counted from left to right.
struct Leaves {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  template <class Mask>
  Mask mask() const {
    constexpr std::uint32_t width = sizeof(Mask) * 8;
    const std::uint32_t size = end - begin;
    return (static_cast<Mask>(~Mask{0}) >> (width - size)) << begin;
  }
};

std::vector<Leaves> leaves_below(const Tree& tree) {
  std::vector<Leaves> below(tree.size());
  for (std::size_t node = tree.size(); node-- > 0;) {  // children lie behind their parent
    below[node].end = 1;
    if (tree.is_leaf(node)) continue;
    const auto left = static_cast<std::size_t>(tree.left[node]);
    below[node].end = below[left].end + below[left + 1].end;
  }
  for (std::size_t node = 0; node < tree.size(); ++node) {
    below[node].end += below[node].begin;
    if (tree.is_leaf(node)) continue;
    const auto left = static_cast<std::size_t>(tree.left[node]);
    below[left].begin = below[node].begin;
    below[left + 1].begin = below[node].begin + below[left].end;
  }
  return below;
}

}  // namespace

template <class Mask>
std::size_t Bitmask<Mask>::table_bytes(std::size_t trees, const std::vector<Axis>& axes) {
  return rows_of(axes) * padded(trees) * sizeof(Mask);
}

template <class Mask>
Bitmask<Mask>::Bitmask(const Forest& forest, std::vector<Axis> axes, text::Budget& budget)
    : link_(forest.link),
      base_margin_(forest.base_margin),
      trees_(forest.trees.size()),
      stride_(padded(trees_)),
      axes_(std::move(axes)),
      masks_(rows_of(axes_) * stride_, static_cast<Mask>(~Mask{0})),
      values_(trees_ * leaves, 0.0F) {
  std::size_t rows = 0;
  for (const Axis& axis : axes_) {
    begins_.push_back(rows);
    rows += axis.bins.size();
  }
  Exclusions exclusions;
  for (std::size_t tree = 0; tree < trees_; ++tree) {
    budget.steps(this->rows());
    exclusions.upwards.assign(this->rows(), static_cast<Mask>(~Mask{0}));
    exclusions.downwards = exclusions.upwards;
    add(forest.trees[tree], tree, exclusions);
    spread(exclusions, tree);
  }
}

template <class Mask>
void Bitmask<Mask>::add(const Tree& tree, std::size_t column, Exclusions& exclusions) {
  const std::vector<Leaves> below = leaves_below(tree);
  for (std::size_t node = 0; node < tree.size(); ++node) {
    if (tree.is_leaf(node)) {
      values_[column * leaves + below[node].begin] = tree.value[node];
      continue;
    }
    const auto left = static_cast<std::size_t>(tree.left[node]);
    const Mask without_left = ~below[left].mask<Mask>();
    const Mask without_right = ~below[left + 1].mask<Mask>();
    const auto axis = static_cast<std::size_t>(
        std::lower_bound(axes_.begin(), axes_.end(), tree.feature[node],
                         [](const Axis& a, std::uint32_t feature) { return a.feature < feature; }) -
        axes_.begin());
    const Bins& bins = axes_[axis].bins;
    const std::size_t last_left = begins_[axis] + bins.last_left(tree.value[node]);
    exclusions.downwards[last_left] &= without_right;
    exclusions.upwards[last_left + 1] &= without_left;
    row(begins_[axis] + bins.missing())[column] &= tree.default_left[node] != 0 ? without_right : without_left;
  }
}

template <class Mask>
void Bitmask<Mask>::spread(const Exclusions& exclusions, std::size_t column) {
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const std::size_t begin = begins_[axis];
    const std::size_t end = begin + axes_[axis].bins.missing();
    Mask possible = ~Mask{0};
    for (std::size_t bin = begin; bin < end; ++bin) row(bin)[column] = possible &= exclusions.upwards[bin];
    possible = ~Mask{0};
    for (std::size_t bin = end; bin-- > begin;) row(bin)[column] &= possible &= exclusions.downwards[bin];
  }
}

template <class Mask>
float Bitmask<Mask>::predict(std::span<const double> features) const {
  std::array<const Mask*, limits::bitmask_axes> rows;
  const std::size_t count = axes_.size();
  for (std::size_t axis = 0; axis < count; ++axis) {
    const std::uint32_t bin = axes_[axis].bins.find(features[axes_[axis].feature]);
    rows[axis] = masks_.data() + (begins_[axis] + bin) * stride_;
  }
  float sum = base_margin_;
  const float* values = values_.data();
  for (std::size_t first = 0; first < trees_; first += block) {
    std::array<Mask, block> possible;
    std::copy_n(rows[0] + first, block, possible.begin());
    for (std::size_t axis = 1; axis < count; ++axis) {
      for (std::size_t i = 0; i < block; ++i) possible[i] &= rows[axis][first + i];
    }
    // In the order of the trees: another order of float32 additions would round differently from XGBoost's.
    const std::size_t end = std::min(block, trees_ - first);
    for (std::size_t i = 0; i < end; ++i, values += leaves) sum += values[lowest_bit(possible[i])];
  }
  return apply(link_, sum);
}

template <class Mask>
std::size_t Bitmask<Mask>::bytes() const {
  std::size_t bytes = masks_.size() * sizeof(Mask) + values_.size() * sizeof(float);
  for (const Axis& axis : axes_) bytes += axis.bins.bytes();
  return bytes;
}

template class Bitmask<std::uint32_t>;
template class Bitmask<std::uint64_t>;

std::unique_ptr<const Evaluator> compile_bitmask(const Forest& forest, const std::vector<Axis>& axes,
                                                 text::Budget& budget) {
  if (axes.empty() || axes.size() > limits::bitmask_axes) return nullptr;
  std::size_t most_leaves = 0;
  for (const Tree& tree : forest.trees) most_leaves = std::max(most_leaves, tree.leaves());
  if (most_leaves > 64) return nullptr;
  const bool narrow = most_leaves <= 32;
  using Narrow = Bitmask<std::uint32_t>;
  using Wide = Bitmask<std::uint64_t>;
  const std::size_t trees = forest.trees.size();
  const std::size_t bytes = narrow ? Narrow::table_bytes(trees, axes) : Wide::table_bytes(trees, axes);
  if (bytes > limits::bitmask_bytes) return nullptr;
  if (narrow) return std::make_unique<const Narrow>(forest, axes, budget);
  return std::make_unique<const Wide>(forest, axes, budget);
}

}  // namespace rpcroute::model
