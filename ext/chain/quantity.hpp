// QUANTITY of the Ethereum JSON-RPC (execution-apis, base-types): "0x" and the digits of an unsigned integer.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "text/hex.hpp"
#include "text/json.hpp"

namespace rpcroute::chain {

/// An unsigned integer of 256 bits, big-endian.
struct Uint256 {
  std::array<std::uint8_t, 32> bytes{};

  Uint256() = default;
  Uint256(std::uint64_t value);  // NOLINT(google-explicit-constructor): a widening

  auto operator<=>(const Uint256&) const = default;

  /// The bytes without leading zeros; none for 0. This is how RLP writes integers.
  text::BytesView minimal() const;

  /// The value, or the largest that fits.
  std::uint64_t saturated() const;
};

/// Reads leniently what the specification forbids but nodes send: leading zeros and capital digits. "0x", another
/// prefix, a sign, spaces, or a value that does not fit are nullopt, never 0.
std::optional<Uint256> read_quantity256(std::string_view text);
std::optional<std::uint64_t> read_quantity(std::string_view text);

/// The same for heights, which SQL holds as signed integers: nullopt above 2^63-1, too.
std::optional<std::int64_t> parse_quantity(std::string_view text);

/// The same of a JSON value: the text of a quantity, or the bare integer that lenient nodes write. Anything else, a
/// float among it whether it has a fraction or not, is nullopt.
std::optional<Uint256> read_quantity256(const text::Json& value);
std::optional<std::uint64_t> read_quantity(const text::Json& value);
std::optional<std::int64_t> parse_quantity(const text::Json& value);

/// Writes what the specification demands: no leading zeros, "0x0" for 0.
std::string quantity(std::uint64_t value);

/// a * b, or the largest value that fits.
constexpr std::uint64_t saturating_multiply(std::uint64_t a, std::uint64_t b) {
  constexpr auto largest = std::numeric_limits<std::uint64_t>::max();
  return b != 0 && a > largest / b ? largest : a * b;
}

/// a + b, or the largest value that fits.
constexpr std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  constexpr auto largest = std::numeric_limits<std::uint64_t>::max();
  return a > largest - b ? largest : a + b;
}

}  // namespace rpcroute::chain
