#include "sqlite/value.hpp"

#include <cmath>

namespace rpcroute::sqlite {
namespace {

/// The value, or a copy of a text that has become a number: sqlite3_value_numeric_type() converts in place, and an
/// argument is shown as it was given.
template <class Read>
auto read_number(Value value, Read read) -> decltype(read(value)) {
  if (value.is_number()) return read(value);
  if (!value.is_text()) return std::nullopt;
  const OwnedValue copy(value.raw());
  if (!copy.view().is_numeric()) return std::nullopt;
  return read(copy.view());
}

}  // namespace

std::optional<double> number(Value value) {
  return read_number(value, [](Value given) { return std::optional(given.real()); });
}

std::optional<std::int64_t> whole_number(Value value) {
  constexpr double kMostExact = 9007199254740992.0;  // 2^53
  return read_number(value, [](Value given) -> std::optional<std::int64_t> {
    if (given.is_integer()) return given.integer();
    const double real = given.real();
    if (std::trunc(real) != real || std::abs(real) > kMostExact) return std::nullopt;
    return static_cast<std::int64_t>(real);
  });
}

std::string quoted(Value value) {
  constexpr std::size_t kLongest = 60;
  switch (value.type()) {
    case SQLITE_NULL:
      return "NULL";
    case SQLITE_BLOB:
      return "a BLOB";
    case SQLITE_TEXT: {
      std::string text(value.text().substr(0, kLongest));
      for (char& character : text) {
        if (static_cast<unsigned char>(character) < 0x20) character = ' ';
      }
      return "'" + text + (value.text().size() > kLongest ? "…'" : "'");
    }
    default:
      return std::string(value.text());
  }
}

}  // namespace rpcroute::sqlite
