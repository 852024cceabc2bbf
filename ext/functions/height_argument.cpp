#include "functions/height_argument.hpp"

#include "chain/quantity.hpp"
#include "sqlite/error.hpp"

namespace rpcroute::functions {

std::optional<std::int64_t> height_argument(std::string_view name, sqlite::Value value) {
  if (value.is_null()) return std::nullopt;
  if (value.is_integer() && value.integer() >= 0) return value.integer();
  if (value.is_text()) {
    if (const auto height = chain::parse_quantity(value.text())) return height;
  }
  throw sqlite::Error(std::string(name) + " must be an integer of 0..9223372036854775807 or a 0x-quantity, got " +
                      sqlite::quoted(value));
}

std::optional<std::int64_t> max_ahead_argument(sqlite::Value value) {
  if (value.is_null()) return std::nullopt;
  if (!value.is_integer() || value.integer() < 0) {
    throw sqlite::Error("max_ahead must be a number of blocks, 0 or more, got " + sqlite::quoted(value));
  }
  return value.integer();
}

}  // namespace rpcroute::functions
