// The percent-coding of URLs, RFC 3986 section 2.1.
#pragma once

#include <string>
#include <string_view>

namespace rpcroute::text {

/// `%` that introduces no two hexadecimal digits stays.
std::string percent_decoded(std::string_view text);

/// Everything but the unreserved characters as `%XX`.
std::string percent_encoded(std::string_view text);

}  // namespace rpcroute::text
