// Text that came from strangers, made fit to be shown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rpcroute::rpc {

/// Valid UTF-8 of at most `max_characters` code points on one line: invalid bytes become U+FFFD, control and
/// direction-changing characters become a space, runs of spaces one space. A cut is marked by a final `…`.
std::string printable(std::string_view text, std::size_t max_characters = 200);

/// ASCII letters in lower case; everything else as it is.
std::string lower(std::string_view text);

/// The words of a name: a blank at each border of CamelCase, and for each `_` and `-` between letters.
std::string spaced(std::string_view text);

bool is_blank(char c);
std::string_view trimmed(std::string_view text);

bool is_control(char c);

/// RFC 3986 section 2.1; `%` that introduces no two hexadecimal digits stays.
std::string percent_decoded(std::string_view text);

/// Everything but RFC 3986's unreserved characters as `%XX`.
std::string percent_encoded(std::string_view text);

}  // namespace rpcroute::rpc
