#include "sqlite/value.hpp"

namespace rpcroute::sqlite {

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
