#include "transaction/conversation/heads.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "align/head.hpp"

namespace rpcroute::transaction {

void Heads::add(std::size_t i, std::optional<std::uint64_t> height) {
  if (height) reports_.push_back({i, static_cast<std::int64_t>(*height)});
}

std::optional<std::uint64_t> Heads::of_all() const {
  return corroborated(reports_);
}

std::optional<std::uint64_t> Heads::of_others() const {
  std::vector<Report> reports = reports_;
  const auto is_own = [&](const Report& report) { return report.by == own_; };
  if (std::all_of(reports.begin(), reports.end(), is_own)) return corroborated(reports);
  while (true) {
    const auto head = corroborated(reports);
    std::optional<std::int64_t> seen;  // the highest of the others that is not above it
    for (const Report& report : reports_) {
      const bool below = head && !is_own(report) && report.height <= static_cast<std::int64_t>(*head);
      if (below) seen = std::max(seen.value_or(report.height), report.height);
    }
    if (!seen || static_cast<std::uint64_t>(*seen) == *head) return seen ? head : std::nullopt;
    for (Report& report : reports) {
      if (is_own(report)) report.height = std::min(report.height, *seen);
    }
  }
}

std::optional<std::uint64_t> Heads::corroborated(const std::vector<Report>& reports) const {
  std::map<std::string, align::ChainHead::Witness> witnesses;
  for (const Report& report : reports) {
    witnesses.try_emplace((*fleet_)[report.by].provider.operator_name, witnesses.size());
  }
  const bool alone = witnesses.size() == 1;
  align::ChainHead head(alone ? std::nullopt : std::optional(fleet_->head_max_ahead()));
  for (const Report& report : reports) {
    head.add(report.height, witnesses.at((*fleet_)[report.by].provider.operator_name));
  }
  const auto height = head.head();
  return height ? std::optional(static_cast<std::uint64_t>(*height)) : std::nullopt;
}

}  // namespace rpcroute::transaction
