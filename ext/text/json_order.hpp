// The members of an object in the order of their names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/budget.hpp"
#include "text/json.hpp"

namespace rpcroute::text {

/// A member of an object that is known to the context.
struct OrderedMember {
  std::uint32_t position;  ///< JsonMember::position
  std::uint32_t mark = 0;  ///< whatever its user wants to remember of it
  std::uint32_t word = 0;  ///< what the order is made by
};

/// Puts the members of `object` that stand in `members` from `first` on into the order of the bytes of their names; of
/// duplicates the last in the text stays. Takes time in proportion to the names, and no memory to speak of.
void order_by_name(const Json& object, std::vector<OrderedMember>& members, std::size_t first, Budget& budget);

}  // namespace rpcroute::text
