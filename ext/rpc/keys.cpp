#include "rpc/keys.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "text/ascii.hpp"
#include "text/utf8.hpp"

namespace rpcroute::rpc {
namespace {

/// Levenshtein's: the letters to insert, drop or exchange.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t exchanged = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({row[j] + 1, row[j + 1] + 1, exchanged}));
    }
  }
  return row.back();
}

}  // namespace

std::string complaint_about(std::span<const std::string_view> keys, std::span<const std::string_view> known) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string key = text::printable(keys[i], 40);
    const auto before = keys.first(i);
    if (std::find(before.begin(), before.end(), keys[i]) != before.end()) {
      return "key '" + key + "' twice";
    }
    if (std::find(known.begin(), known.end(), keys[i]) != known.end()) continue;
    std::vector<std::string_view> nearest(known.begin(), known.end());
    const std::string meant = text::lower(key);
    std::stable_sort(nearest.begin(), nearest.end(),
                     [&](std::string_view a, std::string_view b) { return distance(meant, a) < distance(meant, b); });
    std::string names;
    for (const std::string_view name : nearest) names += (names.empty() ? "" : ", ") + std::string(name);
    return "unknown key '" + key + "'; known are " + names;
  }
  return {};
}

}  // namespace rpcroute::rpc
