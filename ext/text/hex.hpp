// DATA of the Ethereum JSON-RPC (execution-apis, base-types): "0x" and two digits a byte.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rpcroute::text {

using Bytes = std::vector<std::uint8_t>;
using BytesView = std::span<const std::uint8_t>;

/// The value of one hexadecimal digit of either case, or -1.
int hex_digit(char character);

/// "0x" and lower-case digits; "0x" for no bytes.
std::string to_hex(BytesView bytes);

/// Bytes of "0x" and an even number of digits of either case; nullopt for anything else.
std::optional<Bytes> from_hex(std::string_view text);

/// The same, for exactly `out.size()` bytes. `out` is unspecified when it returns false.
bool from_hex(std::string_view text, std::span<std::uint8_t> out);

}  // namespace rpcroute::text
