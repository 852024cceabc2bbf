#include "functions/height_argument.hpp"

#include <limits>

#include "chain/quantity.hpp"
#include "sqlite/error.hpp"
#include "sqlite/number.hpp"

namespace rpcroute::functions {

std::optional<std::int64_t> height_argument(std::string_view name, sqlite::Value value) {
  if (value.is_null()) return std::nullopt;
  if (const auto height = sqlite::integer_of(value); height && *height >= 0) return height;
  if (value.is_text()) {
    if (const auto height = chain::parse_quantity(value.text())) return height;
  }
  throw sqlite::Error(std::string(name) + " must be an integer of 0..9223372036854775807 or a 0x-quantity, got " +
                      sqlite::quoted(value));
}

std::optional<std::int64_t> max_ahead_argument(sqlite::Value value) {
  if (value.is_null()) return std::nullopt;
  return sqlite::integer_argument("max_ahead", value, 0, std::numeric_limits<std::int64_t>::max(),
                                  "a number of blocks, 0 or more");
}

}  // namespace rpcroute::functions
