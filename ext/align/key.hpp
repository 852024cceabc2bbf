// What rows are matched by: a provider, a path, a witness. Equality is SQLite's `=` without affinity, BINARY collation:
// 1 equals 1.0, neither equals '1', texts and blobs are equal by their bytes and never to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace rpcroute::align {

/// A key as it is met, borrowed from whoever holds the bytes.
class KeyView {
 public:
  static KeyView integer(std::int64_t value);
  /// A REAL that is a whole number within 64 bits is that integer. NaN is not a key: SQLite has none.
  static KeyView real(double value);
  static KeyView text(std::string_view bytes) { return {Kind::text, bytes}; }
  static KeyView blob(std::string_view bytes) { return {Kind::blob, bytes}; }

  bool operator==(const KeyView&) const = default;
  std::size_t hash() const;

 private:
  enum class Kind : std::uint8_t { integer, real, text, blob };
  friend class KeyTable;
  KeyView(Kind kind, std::string_view bytes) : kind_(kind), bytes_(bytes) {}
  KeyView(Kind kind, std::uint64_t number) : kind_(kind), number_(number) {}

  Kind kind_;
  std::uint64_t number_ = 0;
  std::string_view bytes_;
};

/// Keys numbered 0, 1, 2 … in the order of their first appearance; at most 2^32 of them.
class KeyTable {
 public:
  using Number = std::uint32_t;

  /// The number of `key`, given now if it is new.
  Number add(const KeyView& key);
  std::optional<Number> find(const KeyView& key) const;
  std::size_t size() const { return numbers_.size(); }

 private:
  struct Owned {
    KeyView::Kind kind;
    std::uint64_t number;
    std::string bytes;
    KeyView view() const;
  };
  static const KeyView& view(const KeyView& key) { return key; }
  static KeyView view(const Owned& key) { return key.view(); }

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const auto& key) const { return view(key).hash(); }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const auto& left, const auto& right) const { return view(left) == view(right); }
  };

  std::unordered_map<Owned, Number, Hash, Equal> numbers_;
};

}  // namespace rpcroute::align
