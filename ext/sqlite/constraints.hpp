// What a statement demands of one scan: values for the arguments, and terms on the columns that say whom to ask.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sqlite/value.hpp"

namespace rpcroute::sqlite {

/// What an argument takes. Anything else is an error before the scan begins. A whole REAL counts as an integer, and a
/// text that reads as a number as that number: some hosts bind no others.
class Accepts {
 public:
  static Accepts anything() { return Accepts(Kind::anything); }
  /// Text without embedded NUL.
  static Accepts text() { return Accepts(Kind::text); }
  static Accepts one_of(std::initializer_list<const char*> words);
  static Accepts whole(std::int64_t low, std::int64_t high);
  static Accepts number(double low, double high);
  /// NULL as well, which then counts as absent.
  Accepts or_null() const;

  bool admits(Value value) const;
  /// "1..1000", "'parallel' or 'sequential'", "text": the end of "must be …".
  std::string description() const;

 private:
  enum class Kind { anything, text, one_of, whole, number };
  explicit Accepts(Kind kind) : kind_(kind) {}

  Kind kind_;
  bool null_ = false;
  std::vector<const char*> words_;
  std::int64_t low_ = 0, high_ = 0;
  double least_ = 0, most_ = 0;
};

/// A hidden column: an argument, by position or as a WHERE term with =.
struct Argument {
  const char* name;
  Accepts accepts;
  const char* meaning;
};

/// How two texts compare in a term: the collations that SQLite brings.
enum class Collation : char { binary = 'b', nocase = 'n', rtrim = 'r' };

/// The collation of that name; nullopt for one that the host has defined.
std::optional<Collation> find_collation(std::string_view name);

/// One term on a TEXT column: = or IS a value, IN a list, or IS NULL.
class KeyTerm {
 public:
  static KeyTerm is_null() { return KeyTerm(); }
  static KeyTerm equals_any(std::vector<OwnedValue> values, Collation collation);

  /// Whether the term is true of a column that holds `text`, or NULL: as SQLite compares a TEXT column, where a number
  /// counts as its text, and a BLOB or NULL equals nothing.
  bool holds(std::optional<std::string_view> text) const;
  /// The texts among its values.
  std::vector<std::string> texts() const;
  /// Equal exactly when the terms are.
  std::string fingerprint() const;

 private:
  bool is_null_ = true;
  Collation collation_ = Collation::binary;
  std::vector<OwnedValue> values_;
};

class Constraints {
 public:
  explicit Constraints(const std::vector<Argument>& arguments) : arguments_(&arguments) {}

  /// Throws Error when the argument does not accept the value.
  void give(const Argument& argument, OwnedValue value);
  /// There is another comparison with the key, which SQLite makes.
  void see(const std::string& key) { seen_.insert(key); }
  void restrict(const std::string& key, KeyTerm term) { terms_[key].push_back(std::move(term)); }

  /// Whether an argument was given two values: then no row can be a result.
  bool contradict() const { return contradict_; }

  /// An argument's value; nullptr when it is absent. A NULL that was given is present.
  const OwnedValue* argument(std::string_view name) const;
  /// Arguments in the type that they accept; nullopt when absent or NULL.
  std::optional<std::int64_t> integer(std::string_view name) const;
  std::optional<double> real(std::string_view name) const;
  std::optional<std::string> text(std::string_view name) const;

  bool restricts(std::string_view key) const { return terms_.find(key) != terms_.end(); }
  /// Whether SQLite has offered any term on the key.
  bool knows(std::string_view key) const { return restricts(key) || seen_.find(key) != seen_.end(); }
  /// Whether a row whose column `key` holds `text`, or NULL, can be a result.
  bool admits(std::string_view key, std::optional<std::string_view> text) const;
  /// The texts that the terms on `key` name and all admit, each once. Not all that they admit: a collation knows more.
  std::vector<std::string> named(std::string_view key) const;

  /// Texts that are equal exactly when all arguments, or all terms, are: for memos.
  std::string arguments_fingerprint() const;
  std::string terms_fingerprint() const;

 private:
  const std::vector<Argument>* arguments_;
  std::map<std::string, OwnedValue, std::less<>> values_;
  std::map<std::string, std::vector<KeyTerm>, std::less<>> terms_;
  std::set<std::string, std::less<>> seen_;
  bool contradict_ = false;
};

}  // namespace rpcroute::sqlite
