// Numbers as their digits, of any size.
#pragma once

#include <string>
#include <string_view>

namespace rpcroute::text {

/// A JSON number in its one form: 1.10 and 11e-1 are 1.1, 0.0 and -0 are 0, 1e3 is 1000, 10e30 is 1e31.
void append_canonical_number(std::string_view number, std::string& text);

/// A 0x quantity (any case, leading zeros) or a decimal integer, also as 1e30, as a minimal lower-case quantity. False,
/// and nothing appended, for anything else and for more than 155 decimal digits (512 bits), which no field of a chain
/// has.
bool append_canonical_quantity(std::string_view number, std::string& text);

}  // namespace rpcroute::text
