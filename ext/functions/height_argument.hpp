// Heights as arguments of SQL functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sqlite/value.hpp"

namespace rpcroute::functions {

/// An integer, in any storage class, or a 0x-quantity in 0 … 2^63-1; nullopt for NULL. Throws sqlite::Error naming the
/// argument for anything else.
std::optional<std::int64_t> height_argument(std::string_view name, sqlite::Value value);

/// A number of blocks, 0 or more; nullopt for NULL.
std::optional<std::int64_t> max_ahead_argument(sqlite::Value value);

}  // namespace rpcroute::functions
