#include "text/hex.hpp"

namespace rpcroute::text {

int hex_digit(char character) {
  if (character >= '0' && character <= '9') return character - '0';
  if (character >= 'a' && character <= 'f') return character - 'a' + 10;
  if (character >= 'A' && character <= 'F') return character - 'A' + 10;
  return -1;
}

std::string to_hex(BytesView bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text = "0x";
  text.reserve(2 + 2 * bytes.size());
  for (const std::uint8_t byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::optional<Bytes> from_hex(std::string_view text) {
  if (text.size() < 2) return std::nullopt;
  Bytes bytes(text.size() / 2 - 1);
  if (!from_hex(text, bytes)) return std::nullopt;
  return bytes;
}

bool from_hex(std::string_view text, std::span<std::uint8_t> out) {
  if (!text.starts_with("0x") || text.size() != 2 + 2 * out.size()) return false;
  text.remove_prefix(2);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int high = hex_digit(text[2 * i]);
    const int low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return true;
}

}  // namespace rpcroute::text
