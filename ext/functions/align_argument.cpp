#include "functions/align_argument.hpp"

#include <string>

#include "sqlite/error.hpp"

namespace rpcroute::functions {

std::optional<align::KeyView> key_argument(sqlite::Value value) {
  if (value.is_integer()) return align::KeyView::integer(value.integer());
  if (value.is_real()) return align::KeyView::real(value.real());
  if (value.is_text()) return align::KeyView::text(value.text());
  if (!value.is_blob()) return std::nullopt;
  const auto bytes = value.blob();
  return align::KeyView::blob({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::optional<align::Time> time_argument(std::string_view what, sqlite::Value value) {
  if (value.is_integer()) return value.integer();
  if (value.is_real()) return value.real();
  if (value.is_null()) return std::nullopt;
  throw sqlite::Error(not_a_time(what, sqlite::quoted(value)));
}

std::string not_a_time(std::string_view what, const std::string& value) {
  // unixepoch() alone makes NULL of a numeric text and cuts the fraction of a date.
  return std::string(what) + " must be an INTEGER or REAL time, got " + value +
         ": CAST(t AS NUMERIC) makes a number of a numeric text t, "
         "unixepoch(t) + (strftime('%f', t) - strftime('%S', t)) of a date";
}

align::Tolerance tolerance_argument(sqlite::Value value) {
  if (value.is_null()) return std::nullopt;
  if (value.is_integer() && value.integer() >= 0) return value.integer();
  if (value.is_real() && value.real() >= 0.0) return value.real();
  throw sqlite::Error("tolerance must be a number of 0 or more, or NULL for no limit, got " + sqlite::quoted(value));
}

align::Match match_argument(sqlite::Value value) {
  if (value.is_text()) {
    if (const auto match = align::parse_match(value.text())) return *match;
  }
  throw sqlite::Error("match must be '<', '<=', '>', '>=' or 'nearest', got " + sqlite::quoted(value));
}

}  // namespace rpcroute::functions
