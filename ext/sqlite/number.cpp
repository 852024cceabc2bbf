#include "sqlite/number.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "sqlite/error.hpp"
#include "text/number.hpp"

namespace rpcroute::sqlite {
namespace {

/// Without an exponent, in any locale.
template <class Number, class... Format>
std::string decimal(Number number, Format... format) {
  std::array<char, 400> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number, format...).ptr};
}

[[noreturn]] void refuse(std::string_view name, std::string_view accepted, const std::string& range, Value given) {
  throw Error(std::string(name) + " must be " + (accepted.empty() ? range : std::string(accepted)) + ", got " +
              quoted(given));
}

}  // namespace

std::optional<std::int64_t> integer_of(Value value) {
  if (value.is_integer()) return value.integer();
  if (value.is_real()) return text::whole(value.real());
  return value.is_text() ? text::integer(value.text()) : std::nullopt;
}

std::optional<double> number_of(Value value) {
  if (value.is_text()) return text::number(value.text());
  if (!value.is_number() || !std::isfinite(value.real())) return std::nullopt;
  return value.real();
}

std::int64_t integer_argument(std::string_view name, Value value, std::int64_t low, std::int64_t high,
                              std::string_view accepted) {
  const auto integer = integer_of(value);
  if (integer && *integer >= low && *integer <= high) return *integer;
  refuse(name, accepted, decimal(low) + ".." + decimal(high), value);
}

double number_argument(std::string_view name, Value value, double low, double high, std::string_view accepted) {
  const auto number = number_of(value);
  if (number && *number >= low && *number <= high) return *number;
  refuse(name, accepted, decimal(low, std::chars_format::fixed) + ".." + decimal(high, std::chars_format::fixed),
         value);
}

}  // namespace rpcroute::sqlite
