#include "align/head.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace rpcroute::align {

bool ChainHead::is_corroborated(Reports::const_iterator report) const {
  const auto& [key, times] = *report;
  if (key.witness == kAnonymous && times > 1) return true;
  if (report == reports_.begin()) return false;
  const Report& below = std::prev(report)->first;
  const bool another = key.witness == kAnonymous || key.witness != below.witness;
  return another && key.height - below.height <= *max_ahead_;
}

void ChainHead::judge(Reports::const_iterator report) {
  if (report == reports_.end()) return;
  if (is_corroborated(report)) {
    corroborated_.insert(report->first);
  } else {
    corroborated_.erase(report->first);
  }
}

void ChainHead::add(std::int64_t height, Witness witness) {
  const auto [report, is_new] = reports_.try_emplace({height, witness}, 0);
  ++report->second;
  if (!max_ahead_) return;
  judge(report);
  if (is_new) judge(std::next(report));
}

void ChainHead::remove(std::int64_t height, Witness witness) {
  const auto report = reports_.find({height, witness});
  if (report == reports_.end()) return;
  if (--report->second > 0) {
    if (max_ahead_) judge(report);
    return;
  }
  corroborated_.erase(report->first);
  const auto above = reports_.erase(report);
  if (max_ahead_) judge(above);
}

std::optional<std::int64_t> ChainHead::head() const {
  if (reports_.empty()) return std::nullopt;
  if (!max_ahead_) return reports_.rbegin()->first.height;
  if (corroborated_.empty()) return std::nullopt;
  const auto lowest_of_run = reports_.find(*corroborated_.rbegin());
  const bool by_its_equal = lowest_of_run->first.witness == kAnonymous && lowest_of_run->second > 1;
  const std::int64_t corroborator = by_its_equal ? lowest_of_run->first.height : std::prev(lowest_of_run)->first.height;
  // Nothing above the run is corroborated, so the highest report within reach belongs to the run.
  const std::int64_t room = std::numeric_limits<std::int64_t>::max() - corroborator;
  const std::int64_t reach = corroborator + std::min(room, *max_ahead_);
  return std::prev(reports_.upper_bound({reach, kAnonymous}))->first.height;
}

}  // namespace rpcroute::align
