// A column of SQL values kept beyond the statement that read them: nine bytes for a number, texts end to end.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "sqlite/result.hpp"
#include "sqlite/value.hpp"

namespace rpcroute::sqlite {

class ValueColumn {
 public:
  void add(Value value) {
    types_.push_back(static_cast<std::uint8_t>(value.type()));
    if (value.is_real()) {
      words_.push_back(std::bit_cast<std::int64_t>(value.real()));
    } else if (value.is_text()) {
      words_.push_back(keep(value.text()));
    } else if (value.is_blob()) {
      const auto blob = value.blob();
      words_.push_back(keep({reinterpret_cast<const char*>(blob.data()), blob.size()}));
    } else {
      words_.push_back(value.integer());
    }
  }

  void show(std::size_t index, Result result) const {
    switch (types_[index]) {
      case SQLITE_INTEGER:
        return result.set(words_[index]);
      case SQLITE_FLOAT:
        return result.set(std::bit_cast<double>(words_[index]));
      case SQLITE_TEXT:
        return result.set(kept(words_[index]));
      case SQLITE_BLOB:
        return result.set_blob(kept(words_[index]));
      default:
        return result.set_null();
    }
  }

 private:
  using Length = std::uint32_t;  // SQLite's own values are shorter than 2^31

  std::int64_t keep(std::string_view data) {
    const std::size_t begin = bytes_.size();
    const auto length = static_cast<Length>(data.size());
    bytes_.append(reinterpret_cast<const char*>(&length), sizeof length).append(data);
    return static_cast<std::int64_t>(begin);
  }
  std::string_view kept(std::int64_t begin) const {
    const char* data = bytes_.data() + begin;
    Length length = 0;
    std::memcpy(&length, data, sizeof length);
    return {data + sizeof length, length};
  }

  std::vector<std::uint8_t> types_;
  std::vector<std::int64_t> words_;  ///< the integer, the bits of the real, or where in bytes_ the length stands
  std::string bytes_;
};

}  // namespace rpcroute::sqlite
