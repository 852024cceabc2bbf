#include "bytes.hpp"

#include <cryptopp/keccak.h>

#include <algorithm>

namespace rpcroute::devnet {
namespace {

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// The digits after "0x", or empty when the text is not hexadecimal.
std::string_view digits_of(std::string_view text) {
  if (!text.starts_with("0x")) return {};
  text.remove_prefix(2);
  return std::all_of(text.begin(), text.end(), [](char c) { return digit(c) >= 0; }) ? text : std::string_view{};
}

}  // namespace

std::string hex(ByteView bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text = "0x";
  text.reserve(2 + 2 * bytes.size());
  for (const auto byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::optional<Bytes> parse_hex(std::string_view text) {
  if (text == "0x") return Bytes{};
  const auto digits = digits_of(text);
  if (digits.empty() || digits.size() % 2 != 0) return std::nullopt;
  Bytes bytes(digits.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(digit(digits[2 * i]) << 4 | digit(digits[2 * i + 1]));
  }
  return bytes;
}

std::string quantity(std::uint64_t number) {
  char text[18];
  char* p = text + sizeof text;
  do {
    *--p = "0123456789abcdef"[number & 15];
    number >>= 4;
  } while (number != 0);
  *--p = 'x';
  *--p = '0';
  return {p, text + sizeof text};
}

std::string quantity(const Wei& amount) {
  return "0x" + amount.str(0, std::ios_base::hex);
}

std::optional<std::uint64_t> parse_quantity(std::string_view text) {
  const auto amount = parse_wei(text);
  if (!amount || *amount > std::numeric_limits<std::uint64_t>::max()) return std::nullopt;
  return static_cast<std::uint64_t>(*amount);
}

std::optional<Wei> parse_wei(std::string_view text) {
  const auto digits = digits_of(text);
  if (digits.empty() || digits.size() > 64) return std::nullopt;
  Wei amount = 0;
  for (const char c : digits) amount = amount << 4 | digit(c);
  return amount;
}

Bytes big_endian(const Wei& amount) {
  Bytes bytes;
  for (Wei rest = amount; rest != 0; rest >>= 8) bytes.push_back(static_cast<std::uint8_t>(rest & 0xff));
  std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

Wei from_big_endian(ByteView bytes) {
  Wei amount = 0;
  for (const auto byte : bytes) amount = amount << 8 | byte;
  return amount;
}

Hash keccak(ByteView bytes) {
  Hash hash;
  CryptoPP::Keccak_256 function;
  function.Update(bytes.data(), bytes.size());
  function.Final(hash.data());
  return hash;
}

std::string base58(ByteView bytes) {
  static constexpr char alphabet[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
  std::string text;
  for (Wei rest = from_big_endian(bytes); rest != 0; rest /= 58) text += alphabet[static_cast<unsigned>(rest % 58)];
  for (auto p = bytes.begin(); p != bytes.end() && *p == 0; ++p) text += alphabet[0];
  return {text.rbegin(), text.rend()};
}

}  // namespace rpcroute::devnet
