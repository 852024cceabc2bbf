#include "text/utf8.hpp"

#include <cstdint>
#include <cstring>

#include "text/ascii.hpp"

namespace rpcroute::text {
namespace {

constexpr char32_t replacement_character = 0xFFFD;

struct CodePoint {
  char32_t value;
  std::size_t length;
};

/// The code point at the front of `text`; an invalid sequence (overlong, surrogate, cut off) gives U+FFFD and length 1.
CodePoint front_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xF0 && lead <= 0xF4   ? 4
                             : lead >= 0xE0 && lead <= 0xEF ? 3
                             : lead >= 0xC2 && lead <= 0xDF ? 2
                                                            : 0;
  if (length == 0 || length > text.size()) return {replacement_character, 1};
  char32_t value = lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {replacement_character, 1};
    value = (value << 6) | (byte(i) & 0x3FU);
  }
  constexpr char32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool valid = value >= smallest[length] && value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF);
  return valid ? CodePoint{value, length} : CodePoint{replacement_character, 1};
}

/// Characters that move the cursor, end a line or reorder what a terminal shows.
bool is_unprintable(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF;
}

}  // namespace

std::string printable(std::string_view text, std::size_t max_characters) {
  std::string shown;
  std::size_t characters = 0;
  std::size_t before_last = 0;  // where the last character begins, should the cut mark have to replace it
  while (!text.empty()) {
    const CodePoint next = front_code_point(text);
    const std::string_view bytes = text.substr(0, next.length);
    text.remove_prefix(next.length);
    const bool blank = next.value == ' ' || is_unprintable(next.value);
    if (blank && (shown.empty() || shown.back() == ' ')) continue;
    if (characters == max_characters) {
      if (blank && trimmed(text).empty()) break;
      shown.resize(before_last);
      return shown + "…";
    }
    before_last = shown.size();
    if (blank) {
      shown += ' ';
    } else if (next.value == replacement_character) {
      shown += "\xEF\xBF\xBD";
    } else {
      shown += bytes;
    }
    ++characters;
  }
  if (!shown.empty() && shown.back() == ' ') shown.pop_back();
  return shown;
}

std::size_t valid_utf8_length(std::string_view text) {
  constexpr std::uint64_t high_bits = 0x8080808080808080;
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t word = 0;
    if (at + sizeof word <= text.size()) {
      std::memcpy(&word, text.data() + at, sizeof word);
      if ((word & high_bits) == 0) {
        at += sizeof word;
        continue;
      }
    }
    const CodePoint next = front_code_point(text.substr(at, 4));
    if (next.value == replacement_character && next.length == 1) break;
    at += next.length;
  }
  return at;
}

}  // namespace rpcroute::text
