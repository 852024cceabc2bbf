#include "chain/quantity.hpp"

#include <algorithm>

#include "text/hex.hpp"

namespace rpcroute::chain {
namespace {

std::optional<std::uint64_t> fitting_64(const std::optional<Uint256>& value) {
  if (!value || value->minimal().size() > 8) return std::nullopt;
  return value->saturated();
}

std::optional<std::int64_t> fitting_63(std::optional<std::uint64_t> value) {
  if (!value || *value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

}  // namespace

Uint256::Uint256(std::uint64_t value) {
  for (std::size_t i = 0; i < 8; ++i) bytes[31 - i] = static_cast<std::uint8_t>(value >> (8 * i));
}

text::BytesView Uint256::minimal() const {
  const auto first = std::find_if(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte != 0; });
  return {first, bytes.end()};
}

std::uint64_t Uint256::saturated() const {
  const text::BytesView digits = minimal();
  if (digits.size() > 8) return std::numeric_limits<std::uint64_t>::max();
  std::uint64_t value = 0;
  for (const std::uint8_t byte : digits) value = value << 8 | byte;
  return value;
}

std::optional<Uint256> read_quantity256(std::string_view text) {
  if (!text.starts_with("0x") || text.size() == 2) return std::nullopt;
  text.remove_prefix(2);
  while (text.size() > 64 && text.front() == '0') text.remove_prefix(1);
  if (text.size() > 64) return std::nullopt;
  Uint256 value;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int digit = text::hex_digit(text[text.size() - 1 - i]);
    if (digit < 0) return std::nullopt;
    value.bytes[31 - i / 2] |= static_cast<std::uint8_t>(digit << (i % 2 * 4));
  }
  return value;
}

std::optional<std::uint64_t> read_quantity(std::string_view text) {
  return fitting_64(read_quantity256(text));
}

std::optional<std::int64_t> parse_quantity(std::string_view text) {
  return fitting_63(read_quantity(text));
}

std::optional<Uint256> read_quantity256(const text::Json& value) {
  if (const auto integer = value.unsigned_integer()) return Uint256(*integer);
  return read_quantity256(value.text());
}

std::optional<std::uint64_t> read_quantity(const text::Json& value) {
  return fitting_64(read_quantity256(value));
}

std::optional<std::int64_t> parse_quantity(const text::Json& value) {
  return fitting_63(read_quantity(value));
}

std::string quantity(std::uint64_t value) {
  const Uint256 wide(value);
  const std::string padded = text::to_hex(wide.bytes);
  const auto first = padded.find_first_not_of('0', 2);
  return first == std::string::npos ? "0x0" : "0x" + padded.substr(first);
}

}  // namespace rpcroute::chain
