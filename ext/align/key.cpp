#include "align/key.hpp"

#include <bit>
#include <functional>
#include <limits>
#include <stdexcept>

namespace rpcroute::align {

KeyView KeyView::integer(std::int64_t value) {
  return {Kind::integer, static_cast<std::uint64_t>(value)};
}

KeyView KeyView::real(double value) {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  if (value >= -kTwoTo63 && value < kTwoTo63) {
    const auto whole = static_cast<std::int64_t>(value);
    if (static_cast<double>(whole) == value) return integer(whole);
  }
  return {Kind::real, std::bit_cast<std::uint64_t>(value)};
}

std::size_t KeyView::hash() const {
  // The multiplier is 2^64 / golden ratio (Knuth, TAOCP 3, 6.4): it spreads consecutive numbers.
  const std::size_t content = kind_ == Kind::text || kind_ == Kind::blob ? std::hash<std::string_view>{}(bytes_)
                                                                         : number_ * 0x9E3779B97F4A7C15U;
  return content ^ static_cast<std::size_t>(kind_);
}

KeyView KeyTable::Owned::view() const {
  KeyView key(kind, number);
  key.bytes_ = bytes;
  return key;
}

KeyTable::Number KeyTable::add(const KeyView& key) {
  if (const auto known = numbers_.find(key); known != numbers_.end()) return known->second;
  if (numbers_.size() > std::numeric_limits<Number>::max()) throw std::length_error("too many keys");
  const auto number = static_cast<Number>(numbers_.size());
  numbers_.emplace(Owned{key.kind_, key.number_, std::string(key.bytes_)}, number);
  return number;
}

std::optional<KeyTable::Number> KeyTable::find(const KeyView& key) const {
  const auto known = numbers_.find(key);
  if (known == numbers_.end()) return std::nullopt;
  return known->second;
}

}  // namespace rpcroute::align
