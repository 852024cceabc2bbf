// The members of an object in the order of their names.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/budget.hpp"
#include "text/json.hpp"

namespace rpcroute::text {

/// A member of an object that is known to the context.
struct OrderedMember {
  std::uint64_t word;      ///< what the order is made by
  std::uint32_t position;  ///< JsonMember::position
  std::uint32_t mark;      ///< what its user wants to remember of its name, in 31 bits
};

/// Appends the members of `object` in the order of the bytes of their names, of duplicates the last in the text, each
/// with the mark of its name. Takes time in proportion to the names.
void append_ordered(const Json& object, std::uint32_t (*mark_of)(std::string_view), std::vector<OrderedMember>& members,
                    Budget& budget);

}  // namespace rpcroute::text
