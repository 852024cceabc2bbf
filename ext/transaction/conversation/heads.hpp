// The height of a chain, from what its providers answered at about the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "transaction/conversation/fleet.hpp"

namespace rpcroute::transaction {

/// A height counts when another operator's comes to within the chain's head_max_ahead of it (align::ChainHead), or when
/// no other operator answered.
class Heads {
 public:
  Heads(const Fleet& fleet, std::optional<std::size_t> own) : fleet_(&fleet), own_(own) {}

  void add(std::size_t i, std::optional<std::uint64_t> height);

  /// The highest that counts; empty when there is none.
  std::optional<std::uint64_t> of_all() const;

  /// As all but `own` see it, though it may bear them out; with it when no other answered.
  std::optional<std::uint64_t> of_others() const;

 private:
  struct Report {
    std::size_t by;
    std::int64_t height;
  };
  std::optional<std::uint64_t> corroborated(const std::vector<Report>& reports) const;

  const Fleet* fleet_;
  std::optional<std::size_t> own_;
  std::vector<Report> reports_;
};

}  // namespace rpcroute::transaction
