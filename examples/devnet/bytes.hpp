// Bytes, hashes and amounts, and how JSON-RPC writes them.
#pragma once

#include <array>
#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rpcroute::devnet {

using Bytes = std::vector<std::uint8_t>;
using ByteView = std::span<const std::uint8_t>;
using Hash = std::array<std::uint8_t, 32>;
using Address = std::array<std::uint8_t, 20>;

/// Twice the 256 bits of a consensus amount: gas × fee of a hostile transaction must not wrap.
using Wei = boost::multiprecision::uint512_t;

inline ByteView view(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// DATA: "0x" and two lower-case digits a byte.
std::string hex(ByteView bytes);

/// DATA of any length, either case; nullopt for anything else.
std::optional<Bytes> parse_hex(std::string_view text);

/// DATA of exactly N bytes.
template <std::size_t N>
std::optional<std::array<std::uint8_t, N>> parse_fixed(std::string_view text) {
  const auto bytes = parse_hex(text);
  if (!bytes || bytes->size() != N) return std::nullopt;
  std::array<std::uint8_t, N> fixed;
  std::copy(bytes->begin(), bytes->end(), fixed.begin());
  return fixed;
}

/// QUANTITY: shortest hexadecimal, "0x0" for zero (EIP-1474).
std::string quantity(std::uint64_t number);
std::string quantity(const Wei& amount);

/// QUANTITY up to 64 and 256 bits. Leading zeros are accepted, as nodes accept them.
std::optional<std::uint64_t> parse_quantity(std::string_view text);
std::optional<Wei> parse_wei(std::string_view text);

/// Big-endian without leading zeros, and back. `from_big_endian` takes at most 32 bytes.
Bytes big_endian(const Wei& amount);
Wei from_big_endian(ByteView bytes);

/// Keccak-256 with the original padding, as Ethereum hashes.
Hash keccak(ByteView bytes);

/// Solana's text form of keys and hashes.
std::string base58(ByteView bytes);

}  // namespace rpcroute::devnet
