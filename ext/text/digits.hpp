// Numbers as their digits, of any size.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rpcroute::text {

/// A JSON number in its one shortest form: 1.10 and 11e-1 are 1.1, 0.0 and -0 are 0, 1e3 is 1000.
std::string canonical_number(std::string_view number);

/// 0x quantity (any case, leading zeros) or decimal integer as a minimal lower-case quantity; nullopt for anything
/// else, and for more than 155 decimal digits (512 bits), which no field of a chain has.
std::optional<std::string> canonical_quantity(std::string_view text);

}  // namespace rpcroute::text
