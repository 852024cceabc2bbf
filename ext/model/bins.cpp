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

std::vector<std::vector<float>> thresholds(const Forest& forest) {
  std::vector<std::vector<float>> lists(forest.num_feature);
  for (const Tree& tree : forest.trees) {
    for (std::size_t node = 0; node < tree.size(); ++node) {
      if (!tree.is_leaf(node)) lists[tree.feature[node]].push_back(tree.value[node]);
    }
  }
  for (auto& list : lists) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return lists;
}

std::vector<Axis> axes(const Forest& forest) {
  std::vector<Axis> result;
  auto lists = thresholds(forest);
  for (std::uint32_t feature = 0; feature < forest.num_feature; ++feature) {
    if (!lists[feature].empty()) result.push_back({feature, Bins(std::move(lists[feature]))});
  }
  return result;
}

}  // namespace rpcroute::model
