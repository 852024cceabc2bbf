#include "text/digits.hpp"

#include <algorithm>
#include <charconv>

#include "text/ascii.hpp"

namespace rpcroute::text {
namespace {

constexpr std::string_view decimal_digits = "0123456789";
constexpr std::string_view hexadecimal_digits = "0123456789abcdef";

bool consists_of(std::string_view text, std::string_view alphabet) {
  return !text.empty() && text.find_first_not_of(alphabet) == std::string_view::npos;
}

std::string_view without_leading_zeros(std::string_view digits) {
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

/// By long division: the remainders by 16, least first.
std::string hexadecimal(std::string decimal) {
  std::string digits;
  while (!decimal.empty()) {
    unsigned remainder = 0;
    for (char& digit : decimal) {
      const unsigned value = remainder * 10 + static_cast<unsigned>(digit - '0');
      digit = static_cast<char>('0' + value / 16);
      remainder = value % 16;
    }
    digits += hexadecimal_digits[remainder];
    decimal = without_leading_zeros(decimal);
  }
  std::reverse(digits.begin(), digits.end());
  return digits;
}

}  // namespace

std::string canonical_number(std::string_view number) {
  constexpr long long longest_plain = 400;  // beyond it the exponent is written
  const std::size_t e = std::min(number.find_first_of("eE"), number.size());
  std::string_view mantissa = number.substr(0, e);
  long long exponent = 0;
  if (e < number.size()) {
    std::string_view text = number.substr(e + 1);
    if (text.front() == '+') text.remove_prefix(1);
    if (std::from_chars(text.data(), text.data() + text.size(), exponent).ec != std::errc()) return std::string(number);
  }
  const bool negative = mantissa.front() == '-';
  if (negative) mantissa.remove_prefix(1);
  std::string digits;
  if (const std::size_t point = mantissa.find('.'); point != std::string_view::npos) {
    digits = std::string(mantissa.substr(0, point)) + std::string(mantissa.substr(point + 1));
    exponent -= static_cast<long long>(mantissa.size() - point - 1);
  } else {
    digits = mantissa;
  }
  digits = without_leading_zeros(digits);
  if (digits.empty()) return "0";
  const std::size_t last = digits.find_last_not_of('0');
  exponent += static_cast<long long>(digits.size() - last - 1);
  digits.resize(last + 1);
  const auto size = static_cast<long long>(digits.size());
  if (exponent > longest_plain || exponent < -longest_plain) {
    digits += 'e' + std::to_string(exponent);
  } else if (exponent >= 0) {
    digits.append(static_cast<std::size_t>(exponent), '0');
  } else if (size > -exponent) {
    digits.insert(static_cast<std::size_t>(size + exponent), 1, '.');
  } else {
    digits.insert(0, "0." + std::string(static_cast<std::size_t>(-exponent - size), '0'));
  }
  return (negative ? "-" : "") + digits;
}

std::optional<std::string> canonical_quantity(std::string_view text) {
  constexpr std::size_t most_decimal_digits = 155;
  std::string digits;
  if (text.starts_with("0x")) {
    digits = lower(text.substr(2));
    if (!consists_of(digits, hexadecimal_digits)) return std::nullopt;
  } else {
    if (!consists_of(text, decimal_digits) || text.size() > most_decimal_digits) return std::nullopt;
    digits = hexadecimal(std::string(text));
  }
  digits = without_leading_zeros(digits);
  return "0x" + (digits.empty() ? "0" : digits);
}

}  // namespace rpcroute::text
