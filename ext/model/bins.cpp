#include "model/bins.hpp"

#include <algorithm>

namespace rpcroute::model {
namespace {

constexpr std::uint32_t beyond_infinity = 0xFFFFFFFF;

// About four buckets a threshold leave most of them with at most one; more than 4,096 would leave the first cache.
std::uint32_t bucket_count(std::size_t thresholds) {
  return std::clamp(std::bit_ceil(static_cast<std::uint32_t>(thresholds)) * 4, 16U, 4096U);
}

}  // namespace

Bins::Bins(std::vector<float> thresholds) {
  keys_.reserve(thresholds.size() + 1);
  for (const float threshold : thresholds) keys_.push_back(ordered_key(threshold));
  std::sort(keys_.begin(), keys_.end());
  keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());

  if (!keys_.empty()) {
    const std::uint32_t range = keys_.back() - keys_.front();
    const std::uint32_t buckets = bucket_count(keys_.size());
    while ((range >> shift_) >= buckets) ++shift_;
    const std::uint32_t used = (range >> shift_) + 1;
    begins_.reserve(used + 1);
    std::uint32_t next = 0;
    for (std::uint32_t bucket = 0; bucket < used; ++bucket) {
      while (((keys_[next] - keys_.front()) >> shift_) < bucket) ++next;
      begins_.push_back(next);
    }
    begins_.push_back(static_cast<std::uint32_t>(keys_.size()));
  }
  keys_.push_back(beyond_infinity);
}

std::vector<Thresholds> thresholds(const Forest& forest, text::Budget& budget) {
  using Split = std::pair<std::uint32_t, float>;
  std::vector<Split> splits;
  splits.reserve(forest.nodes() / 2);
  for (const Tree& tree : forest.trees) {
    budget.steps(tree.size());
    for (std::size_t node = 0; node < tree.size(); ++node) {
      if (!tree.is_leaf(node)) splits.emplace_back(tree.feature[node], tree.value[node]);
    }
  }
  std::sort(splits.begin(), splits.end(), [&](const Split& a, const Split& b) { return budget.step(), a < b; });
  splits.erase(std::unique(splits.begin(), splits.end()), splits.end());

  std::vector<Thresholds> lists;
  for (const auto& [feature, value] : splits) {
    if (lists.empty() || lists.back().feature != feature) lists.push_back({feature, {}});
    lists.back().values.push_back(value);
  }
  return lists;
}

std::vector<Axis> axes(const std::vector<Thresholds>& lists) {
  std::vector<Axis> result;
  for (const auto& [feature, values] : lists) result.push_back({feature, Bins(values)});
  return result;
}

}  // namespace rpcroute::model
