// Numbers where only a number can be meant: options and arguments, whatever storage class the host's language binds.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sqlite/value.hpp"

namespace rpcroute::sqlite {

/// What an INTEGER, a whole REAL below 2^53 or a text of either is; nullopt for anything else.
std::optional<std::int64_t> integer_of(Value value);

/// What a finite INTEGER, REAL or text of one is; nullopt for anything else.
std::optional<double> number_of(Value value);

/// The argument `name` as an integer in [low, high]. Throws Error for anything else, NULL too, which says what is
/// `accepted`: the range, unless there are better words.
std::int64_t integer_argument(std::string_view name, Value value, std::int64_t low, std::int64_t high,
                              std::string_view accepted = {});

/// The same for a number that need not be whole.
double number_argument(std::string_view name, Value value, double low, double high, std::string_view accepted = {});

}  // namespace rpcroute::sqlite
