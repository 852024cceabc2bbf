// Letters, blanks and words of ASCII; every other byte is passed over.
#pragma once

#include <string>
#include <string_view>

namespace rpcroute::text {

/// ASCII letters in lower case; everything else as it is.
std::string lower(std::string_view text);

/// The words of a name: a blank at each border of CamelCase, and for each `_` and `-` between letters.
std::string spaced(std::string_view text);

constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

std::string_view trimmed(std::string_view text);

bool is_control(char c);

}  // namespace rpcroute::text
