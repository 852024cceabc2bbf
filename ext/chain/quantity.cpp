#include "chain/quantity.hpp"

#include <charconv>

namespace rpcroute::chain {

std::optional<std::int64_t> parse_quantity(std::string_view text) {
  if (text.size() < 3 || !text.starts_with("0x") || text[2] == '-') return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace rpcroute::chain
