#include "text/ascii.hpp"

#include <algorithm>

namespace rpcroute::text {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

std::string spaced(std::string_view text) {
  const auto is_small = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const auto is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto is_letter = [&](char c) { return is_capital(c) || (c >= 'a' && c <= 'z'); };
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char before = i == 0 ? ' ' : text[i - 1];
    const char c = text[i];
    const char after = i + 1 == text.size() ? ' ' : text[i + 1];
    const bool joins = (c == '_' || c == '-') && is_letter(before) && is_letter(after);
    // The last capital of several begins a word: "RLPTooLong".
    const bool begins = is_capital(c) && (is_small(before) || (is_capital(before) && after >= 'a' && after <= 'z'));
    if (begins) result += ' ';
    result += joins ? ' ' : c;
  }
  return result;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

}  // namespace rpcroute::text
