#include "text/digits.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>

namespace rpcroute::text {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::size_t most_digits = 155;  // of a quantity in decimal: 512 bits

bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}

/// The value of up to 18 decimal digits.
std::uint64_t value_of(std::string_view digits) {
  std::uint64_t value = 0;
  for (const char c : digits) value = value * 10 + static_cast<std::uint64_t>(c - '0');
  return value;
}

/// In hexadecimal, by Horner's rule on words.
bool append_decimal_quantity(std::string_view digits, std::string& text) {
  constexpr std::size_t at_once = 18;
  constexpr std::uint64_t ten_to_18 = 1'000'000'000'000'000'000;
  if (digits.size() > most_digits) return false;
  std::array<std::uint64_t, 9> words{};  // least first
  std::size_t used = 1;
  for (std::size_t first = digits.size() % at_once, begin = 0; begin < digits.size(); begin = first, first += at_once) {
    Wide carry = value_of(digits.substr(begin, first - begin));
    for (std::size_t i = 0; i < used; ++i) {
      carry += Wide{words[i]} * ten_to_18;
      words[i] = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
    if (carry != 0) words[used++] = static_cast<std::uint64_t>(carry);
  }
  std::array<char, 17> hexadecimal{};
  text += "0x";
  for (std::size_t i = used; i-- > 0;) {
    const auto end = std::to_chars(hexadecimal.data(), hexadecimal.data() + hexadecimal.size(), words[i], 16).ptr;
    const auto size = static_cast<std::size_t>(end - hexadecimal.data());
    if (i + 1 < used) text.append(16 - size, '0');
    text.append(hexadecimal.data(), size);
  }
  return true;
}

bool append_hexadecimal_quantity(std::string_view digits, std::string& text) {
  if (digits.empty()) return false;
  const std::size_t before = text.size();
  text += "0x";
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size() - 1));
  for (const char c : digits) {
    const char small = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    if (!is_decimal(small) && !(small >= 'a' && small <= 'f')) {
      text.resize(before);
      return false;
    }
    text += small;
  }
  return true;
}

/// The digits of a number on both sides of its point, from the first to the last that is not 0, and the power of ten
/// that the last of them counts.
struct Decimal {
  std::string_view whole;
  std::string_view fraction;
  std::int64_t exponent;

  std::int64_t size() const { return static_cast<std::int64_t>(whole.size() + fraction.size()); }

  void append_digits(std::size_t from, std::size_t count, std::string& text) const {
    const std::size_t of_whole = from < whole.size() ? std::min(count, whole.size() - from) : 0;
    if (of_whole > 0) text += whole.substr(from, of_whole);
    if (count > of_whole) text += fraction.substr(std::max(from, whole.size()) - whole.size(), count - of_whole);
  }
};

Decimal decimal_of(std::string_view mantissa, std::int64_t exponent) {
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  Decimal decimal{mantissa.substr(0, point), mantissa.substr(std::min(point + 1, mantissa.size())), exponent};
  const auto fraction_size = [&] { return static_cast<std::int64_t>(decimal.fraction.size()); };
  decimal.whole.remove_prefix(std::min(decimal.whole.find_first_not_of('0'), decimal.whole.size()));
  decimal.fraction = decimal.fraction.substr(0, decimal.fraction.find_last_not_of('0') + 1);
  decimal.exponent -= fraction_size();
  if (decimal.whole.empty()) {
    decimal.fraction.remove_prefix(std::min(decimal.fraction.find_first_not_of('0'), decimal.fraction.size()));
  }
  if (decimal.fraction.empty()) {
    const std::size_t size = decimal.whole.find_last_not_of('0') + 1;
    decimal.exponent += static_cast<std::int64_t>(decimal.whole.size() - size);
    decimal.whole = decimal.whole.substr(0, size);
  }
  return decimal;
}

}  // namespace

void append_canonical_number(std::string_view number, std::string& text) {
  constexpr std::int64_t most_zeros = 20;  // more are told by an exponent, or 1e300 would grow a hundredfold
  constexpr std::int64_t farthest = std::int64_t{1} << 60;
  const bool is_negative = number.starts_with('-');
  if (std::all_of(number.begin() + is_negative, number.end(), is_decimal) &&
      number.size() - std::min(number.find_last_not_of('0'), number.size()) <= most_zeros) {
    text += number == "-0" ? "0" : number;
    return;
  }
  const std::size_t e = std::min(number.find_first_of("eE"), number.size());
  std::string_view exponent = number.substr(std::min(e + 1, number.size()));
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  std::int64_t power = 0;
  const auto read = std::from_chars(exponent.data(), exponent.data() + exponent.size(), power);
  const bool is_far = read.ec == std::errc::result_out_of_range || power > farthest || power < -farthest;
  const Decimal decimal = decimal_of(number.substr(is_negative, e - is_negative), is_far ? 0 : power);
  if (decimal.size() == 0) {
    text += '0';
    return;
  }
  if (is_far) {  // no number of this world
    text += number.substr(0, e);
    (text += 'e') += exponent;
    return;
  }
  if (is_negative) text += '-';
  const std::int64_t size = decimal.size();
  const auto count = static_cast<std::size_t>(size);
  if (decimal.exponent > most_zeros || -decimal.exponent - size > most_zeros) {
    decimal.append_digits(0, count, text);
    (text += 'e') += std::to_string(decimal.exponent);
  } else if (decimal.exponent >= 0) {
    decimal.append_digits(0, count, text);
    text.append(static_cast<std::size_t>(decimal.exponent), '0');
  } else if (size > -decimal.exponent) {
    const auto whole = static_cast<std::size_t>(size + decimal.exponent);
    decimal.append_digits(0, whole, text);
    text += '.';
    decimal.append_digits(whole, count - whole, text);
  } else {
    text += "0.";
    text.append(static_cast<std::size_t>(-decimal.exponent - size), '0');
    decimal.append_digits(0, count, text);
  }
}

bool append_canonical_quantity(std::string_view number, std::string& text) {
  if (number.starts_with("0x")) return append_hexadecimal_quantity(number.substr(2), text);
  const std::size_t e = std::min(number.find('e'), number.size());
  const std::string_view digits = number.substr(0, e);
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), is_decimal)) return false;
  if (e == number.size()) return append_decimal_quantity(digits, text);
  std::size_t zeros = 0;
  const auto [end, error] = std::from_chars(number.data() + e + 1, number.data() + number.size(), zeros);
  if (error != std::errc() || end != number.data() + number.size() || zeros > most_digits) return false;
  return append_decimal_quantity(std::string(digits) + std::string(zeros, '0'), text);
}

}  // namespace rpcroute::text
