// Keccak-256 as Ethereum uses it (the padding from before FIPS 202), and the names made from it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "text/hex.hpp"

namespace rpcroute::chain {

using Hash = std::array<std::uint8_t, 32>;
using Address = std::array<std::uint8_t, 20>;

Hash keccak256(text::BytesView bytes);

/// The last 20 bytes of the hash of an uncompressed public key without its 0x04.
Address address_of_public_key(std::span<const std::uint8_t, 64> public_key);

/// "0x" and 40 digits of either case (a checksum in the case is not verified); nullopt otherwise.
std::optional<Address> read_address(std::string_view text);

/// "0x" and 64 digits; nullopt otherwise.
std::optional<Hash> read_hash(std::string_view text);

}  // namespace rpcroute::chain
