// Which block is the newest, when some of those who say so are wrong.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace rpcroute::align {

/// The head of a chain over a changing multiset of reported heights (0 … 2^63-1).
///
/// Without `max_ahead`, the highest height: the seed's definition. With it, the highest height that another report
/// comes to within `max_ahead` blocks of. Reports by the same witness never corroborate each other; anonymous reports
/// each count as a witness of their own. add() and remove() take O(log n), head() O(log n).
class ChainHead {
 public:
  using Witness = std::uint32_t;
  static constexpr Witness kAnonymous = 0xFFFFFFFF;

  explicit ChainHead(std::optional<std::int64_t> max_ahead) : max_ahead_(max_ahead) {}

  void add(std::int64_t height, Witness witness);
  /// Takes back one report made before.
  void remove(std::int64_t height, Witness witness);
  /// nullopt when there is no report, or none is corroborated.
  std::optional<std::int64_t> head() const;

  bool empty() const { return reports_.empty(); }
  std::optional<std::int64_t> max_ahead() const { return max_ahead_; }

 private:
  struct Report {
    std::int64_t height;
    Witness witness;
    auto operator<=>(const Report&) const = default;
  };
  using Reports = std::map<Report, std::uint64_t>;

  bool is_corroborated(Reports::const_iterator report) const;
  void judge(Reports::const_iterator report);

  std::optional<std::int64_t> max_ahead_;
  Reports reports_;  ///< how often each was made
  /// Those whose next lower neighbour is another witness's and near enough. In order of height, a run of one witness's
  /// reports is corroborated as far up as max_ahead above the neighbour below the run: the lowest of the run tells.
  std::set<Report> corroborated_;
};

}  // namespace rpcroute::align
