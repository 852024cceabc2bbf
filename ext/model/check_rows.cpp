#include "model/check_rows.hpp"

#include <algorithm>
#include <utility>

namespace rpcroute::model {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float missing = std::numeric_limits<float>::quiet_NaN();

float before(float x) {
  return std::nextafter(x, -infinity);
}

}  // namespace

TellingRows::TellingRows(const std::vector<Thresholds>& lists) : row_(std::max<std::size_t>(lists.size(), 1), missing) {
  for (const Thresholds& list : lists) {
    auto& values = columns_.emplace_back(std::vector<float>{missing, 0.0F});
    values.reserve(values.size() + 3 * list.values.size());
    for (const float threshold : list.values) {
      values.insert(values.end(), {before(threshold), threshold, std::nextafter(threshold, infinity)});
    }
    enough_ = std::max(enough_, values.size());
  }
}

std::span<float> TellingRows::next() {
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    auto& values = columns_[column];
    const std::size_t place = made_ % values.size();
    if (place == 0) std::shuffle(values.begin(), values.end(), random_);
    row_[column] = values[place];
  }
  ++made_;
  return row_;
}

void Aim::Range::split(float threshold, bool left, bool default_left) {
  (left ? end : begin) = left ? std::min(end, threshold) : std::max(begin, threshold);
  may_miss = may_miss && left == default_left;
}

/// A value on the range's edge.
float Aim::Range::edge(float otherwise) const {
  if (begin >= end) return may_miss ? missing : otherwise;
  return std::isinf(begin) ? before(end) : begin;
}

Aim::Aim(const std::vector<Thresholds>& lists, std::size_t num_feature)
    : column_of_(num_feature), ranges_(lists.size()) {
  for (std::uint32_t column = 0; column < lists.size(); ++column) column_of_[lists[column].feature] = column;
}

void Aim::take(const Tree& tree) {
  tree_ = &tree;
  parents_.resize(tree.size());
  for (std::uint32_t node = 0; node < tree.size(); ++node) {
    if (tree.is_leaf(node)) continue;
    const auto left = static_cast<std::size_t>(tree.left[node]);
    parents_[left] = parents_[left + 1] = node;
  }
}

void Aim::at(std::size_t leaf, std::span<float> row) {
  for (std::size_t node = leaf; node != 0; node = parents_[node]) {
    const std::size_t parent = parents_[node];
    const std::uint32_t column = column_of_[tree_->feature[parent]];
    Range& range = ranges_[column];
    if (range.is_whole()) narrowed_.push_back(column);
    const bool left = static_cast<std::size_t>(tree_->left[parent]) == node;
    range.split(tree_->value[parent], left, tree_->default_left[parent] != 0);
  }
  for (const std::uint32_t column : narrowed_) row[column] = std::exchange(ranges_[column], {}).edge(row[column]);
  narrowed_.clear();
}

}  // namespace rpcroute::model
