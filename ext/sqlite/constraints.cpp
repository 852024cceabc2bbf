#include "sqlite/constraints.hpp"

#include <algorithm>
#include <cmath>

#include "sqlite/error.hpp"
#include "sqlite/number.hpp"
#include "sqlite/query.hpp"

namespace rpcroute::sqlite {
namespace {

std::string number_text(double value) {
  std::string text(24, '\0');
  sqlite3_snprintf(24, text.data(), "%!.15g", value);
  text.resize(text.find('\0'));
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string fingerprint_of(Value value) {
  // Not text() of a BLOB: that would turn the value into a text, and it would then be taken for one.
  std::string_view bytes;
  if (value.is_blob()) {
    bytes = {reinterpret_cast<const char*>(value.blob().data()), value.blob().size()};
  } else if (!value.is_null()) {
    bytes = value.text();
  }
  return std::to_string(value.type()) + ":" + std::to_string(bytes.size()) + ":" + std::string(bytes) + ";";
}

std::string_view without_trailing_spaces(std::string_view text) {
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

bool equal(std::string_view left, std::string_view right, Collation collation) {
  switch (collation) {
    case Collation::nocase:
      return same_name(left, right);
    case Collation::rtrim:
      return without_trailing_spaces(left) == without_trailing_spaces(right);
    default:
      return left == right;
  }
}

}  // namespace

Accepts Accepts::one_of(std::initializer_list<const char*> words) {
  Accepts accepts(Kind::one_of);
  accepts.words_ = words;
  return accepts;
}

Accepts Accepts::whole(std::int64_t low, std::int64_t high) {
  Accepts accepts(Kind::whole);
  accepts.low_ = low;
  accepts.high_ = high;
  return accepts;
}

Accepts Accepts::number(double low, double high) {
  Accepts accepts(Kind::number);
  accepts.least_ = low;
  accepts.most_ = high;
  return accepts;
}

Accepts Accepts::or_null() const {
  Accepts accepts = *this;
  accepts.null_ = true;
  return accepts;
}

bool Accepts::admits(Value value) const {
  if (value.is_null()) return null_ || kind_ == Kind::anything;
  switch (kind_) {
    case Kind::text:
      return value.is_text() && value.text().find('\0') == std::string_view::npos;
    case Kind::one_of:
      return value.is_text() && std::find(words_.begin(), words_.end(), value.text()) != words_.end();
    case Kind::whole: {
      const auto given = integer_of(value);
      return given && *given >= low_ && *given <= high_;
    }
    case Kind::number: {
      const auto given = number_of(value);
      return given && *given >= least_ && *given <= most_;
    }
    default:
      return true;
  }
}

std::string Accepts::description() const {
  std::string text = "anything";
  if (kind_ == Kind::text) text = "text without NUL";
  if (kind_ == Kind::whole) text = std::to_string(low_) + ".." + std::to_string(high_);
  if (kind_ == Kind::number) text = number_text(least_) + ".." + number_text(most_);
  if (kind_ == Kind::one_of) {
    text.clear();
    for (const char* word : words_) text += (text.empty() ? "'" : " or '") + std::string(word) + "'";
  }
  return null_ ? text + ", or NULL" : text;
}

std::optional<Collation> find_collation(std::string_view name) {
  if (same_name(name, "BINARY")) return Collation::binary;
  if (same_name(name, "NOCASE")) return Collation::nocase;
  if (same_name(name, "RTRIM")) return Collation::rtrim;
  return std::nullopt;
}

KeyTerm KeyTerm::equals_any(std::vector<OwnedValue> values, Collation collation) {
  KeyTerm term;
  term.is_null_ = false;
  term.collation_ = collation;
  term.values_ = std::move(values);
  std::erase_if(term.values_,
                [](const OwnedValue& value) { return value.view().is_null() || value.view().is_blob(); });
  return term;
}

bool KeyTerm::holds(std::optional<std::string_view> text) const {
  if (!text) return is_null_;
  return std::any_of(values_.begin(), values_.end(), [&](const OwnedValue& value) {
    return equal(*text, value.view().text(), collation_);
  });
}

std::vector<std::string> KeyTerm::texts() const {
  std::vector<std::string> texts;
  for (const OwnedValue& value : values_) texts.emplace_back(value.view().text());
  return texts;
}

std::string KeyTerm::fingerprint() const {
  std::string key = is_null_ ? "NULL" : std::string(1, static_cast<char>(collation_));
  for (const OwnedValue& value : values_) key += fingerprint_of(value.view());
  return key + "/";
}

void Constraints::give(const Argument& argument, OwnedValue value) {
  const Value given = value.view();
  if (!argument.accepts.admits(given)) {
    throw Error(std::string(argument.name) + " must be " + argument.accepts.description() + ", got " + quoted(given));
  }
  const OwnedValue* other = this->argument(argument.name);
  if (other != nullptr && fingerprint_of(other->view()) != fingerprint_of(given)) contradict_ = true;
  values_.emplace(argument.name, std::move(value));
}

const OwnedValue* Constraints::argument(std::string_view name) const {
  const auto entry = values_.find(name);
  return entry == values_.end() ? nullptr : &entry->second;
}

std::optional<std::int64_t> Constraints::integer(std::string_view name) const {
  const OwnedValue* value = argument(name);
  return value == nullptr ? std::nullopt : integer_of(value->view());
}

std::optional<double> Constraints::real(std::string_view name) const {
  const OwnedValue* value = argument(name);
  return value == nullptr ? std::nullopt : number_of(value->view());
}

std::optional<std::string> Constraints::text(std::string_view name) const {
  const OwnedValue* value = argument(name);
  if (value == nullptr || value->view().is_null()) return std::nullopt;
  return std::string(value->view().text());
}

bool Constraints::admits(std::string_view key, std::optional<std::string_view> text) const {
  const auto terms = terms_.find(key);
  return terms == terms_.end() || std::all_of(terms->second.begin(), terms->second.end(),
                                              [&](const KeyTerm& term) { return term.holds(text); });
}

std::vector<std::string> Constraints::named(std::string_view key) const {
  std::vector<std::string> texts;
  const auto terms = terms_.find(key);
  if (terms == terms_.end()) return texts;
  for (const KeyTerm& term : terms->second) {
    for (std::string& text : term.texts()) {
      if (admits(key, text) && std::find(texts.begin(), texts.end(), text) == texts.end()) {
        texts.push_back(std::move(text));
      }
    }
  }
  return texts;
}

std::string Constraints::arguments_fingerprint() const {
  std::string key;
  for (const Argument& argument : *arguments_) {
    const OwnedValue* value = this->argument(argument.name);
    key += value == nullptr ? "-;" : fingerprint_of(value->view());
  }
  return key;
}

std::string Constraints::terms_fingerprint() const {
  std::string key;
  for (const auto& [name, terms] : terms_) {
    key += name + "=";
    for (const KeyTerm& term : terms) key += term.fingerprint();
  }
  return key;
}

}  // namespace rpcroute::sqlite
