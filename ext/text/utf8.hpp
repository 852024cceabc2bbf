// Text that came from strangers, made fit to be shown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rpcroute::text {

/// Valid UTF-8 of at most `max_characters` code points on one line: invalid bytes become U+FFFD, control and
/// direction-changing characters become a space, runs of spaces one space. A cut is marked by a final `…`.
std::string printable(std::string_view text, std::size_t max_characters = 200);

/// How many bytes at the front of `text` are valid UTF-8: all of them, or those before the first that is not.
std::size_t valid_utf8_length(std::string_view text);

}  // namespace rpcroute::text
