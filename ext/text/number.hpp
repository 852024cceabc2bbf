// Numbers as other languages hand them over: all of JavaScript's are REAL, all of Perl's may be text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rpcroute::text {

/// The integer that `number` is; nullopt for a fraction, an infinity, NaN, and from 2^53 on, where the double next to
/// it is another integer and nobody knows which of them was meant.
std::optional<std::int64_t> whole(double number);

/// The number that all of `text` is, as SQLite reads one: decimal, with a point, an exponent and blanks around it or
/// not. Hexadecimal, infinities, NaN and what is beyond a double are none.
std::optional<double> number(std::string_view text);

/// The same for integers, of which 1000.0 and 1e3 are one.
std::optional<std::int64_t> integer(std::string_view text);

}  // namespace rpcroute::text
