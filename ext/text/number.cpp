#include "text/number.hpp"

#include <charconv>
#include <cmath>

namespace rpcroute::text {
namespace {

constexpr std::string_view blanks = " \t\n\v\f\r";

/// Without the blanks around it and the plus before it; empty when it begins like no number ("inf", "nan", "+-1").
std::string_view bare(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  text = text.substr(first, text.find_last_not_of(blanks) - first + 1);
  const std::size_t signs = text.front() == '+' || text.front() == '-' ? 1 : 0;
  if (text.find_first_of("0123456789.", signs) != signs) return {};
  if (text.front() == '+') text.remove_prefix(1);
  return text;
}

template <class Number>
std::optional<Number> read(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::int64_t> whole(double number) {
  constexpr double first_doubtful = 9007199254740992.0;
  if (!(std::abs(number) < first_doubtful) || std::trunc(number) != number) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::optional<double> number(std::string_view text) {
  return read<double>(bare(text));
}

std::optional<std::int64_t> integer(std::string_view text) {
  if (const auto exact = read<std::int64_t>(bare(text))) return exact;
  const auto real = number(text);
  return real ? whole(*real) : std::nullopt;
}

}  // namespace rpcroute::text
