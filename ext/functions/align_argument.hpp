// SQL values as the align room takes them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "align/asof.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/value.hpp"

namespace rpcroute::functions {

/// The value as a key, valid as long as the value; nullopt for NULL.
std::optional<align::KeyView> key_argument(sqlite::Value value);

/// The value as a time; nullopt for NULL. Text and blobs throw sqlite::Error that says `what` holds them.
std::optional<align::Time> time_argument(std::string_view what, sqlite::Value value);

/// What that error says; `value` is as sqlite::quoted() shows it.
std::string not_a_time(std::string_view what, const std::string& value);

/// NULL is no limit. Throws sqlite::Error for less than 0 and for what is not a number.
align::Tolerance tolerance_argument(sqlite::Value value);

/// Throws sqlite::Error that lists the matches.
align::Match match_argument(sqlite::Value value);

}  // namespace rpcroute::functions
