#include <cmath>

#include "sqlite/table.hpp"

namespace rpcroute::sqlite {
namespace {

std::string number(double value) {
  std::string text(24, '\0');
  sqlite3_snprintf(24, text.data(), "%!.15g", value);
  text.resize(text.find('\0'));
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

/// Not text() of a BLOB: that would turn the value into a text, and it would then be taken for one.
std::string_view bytes_of(Value value) {
  if (value.is_null()) return {};
  if (!value.is_blob()) return value.text();
  const auto blob = value.blob();
  return {reinterpret_cast<const char*>(blob.data()), blob.size()};
}

[[noreturn]] void out_of_range(std::string_view name, const std::string& range, Value given) {
  throw Error(std::string(name) + " must be " + range + ", got " + quoted(given));
}

}  // namespace

void Constraints::add(const std::string& column, std::vector<OwnedValue> values) {
  values_.emplace(column, std::move(values));
}

const OwnedValue* Constraints::argument(std::string_view name) const {
  const auto entry = values_.find(name);
  return entry == values_.end() ? nullptr : &entry->second.front();
}

std::optional<std::vector<std::string>> Constraints::texts(std::string_view name) const {
  const auto entry = values_.find(name);
  if (entry == values_.end()) return std::nullopt;
  std::vector<std::string> texts;
  for (const OwnedValue& value : entry->second) {
    if (!value.view().is_null()) texts.emplace_back(value.view().text());
  }
  return texts;
}

std::optional<std::int64_t> Constraints::integer(std::string_view name, std::int64_t low, std::int64_t high) const {
  const OwnedValue* argument = this->argument(name);
  if (argument == nullptr) return std::nullopt;
  const Value value = argument->view();
  const bool whole = value.is_integer() || (value.is_real() && std::trunc(value.real()) == value.real() &&
                                            std::abs(value.real()) <= 9007199254740992.0);
  const std::int64_t given = whole ? value.integer() : 0;
  if (!whole || given < low || given > high) {
    out_of_range(name, std::to_string(low) + ".." + std::to_string(high), value);
  }
  return given;
}

std::int64_t Constraints::integer(std::string_view name, std::int64_t low, std::int64_t high,
                                  std::int64_t fallback) const {
  return integer(name, low, high).value_or(fallback);
}

std::optional<double> Constraints::real(std::string_view name, double low, double high) const {
  const OwnedValue* argument = this->argument(name);
  if (argument == nullptr) return std::nullopt;
  const Value value = argument->view();
  if (!value.is_number() || !(value.real() >= low && value.real() <= high)) {
    out_of_range(name, number(low) + ".." + number(high), value);
  }
  return value.real();
}

std::optional<std::string> Constraints::text(std::string_view name) const {
  const OwnedValue* argument = this->argument(name);
  if (argument == nullptr) return std::nullopt;
  const Value value = argument->view();
  if (!value.is_text()) out_of_range(name, "text", value);
  if (value.text().find('\0') != std::string_view::npos) out_of_range(name, "text without NUL", value);
  return std::string(value.text());
}

std::string Constraints::fingerprint(const std::vector<std::string_view>& names) const {
  std::string key;
  for (const std::string_view name : names) {
    const OwnedValue* argument = this->argument(name);
    if (argument == nullptr) {
      key += "-;";
      continue;
    }
    const Value value = argument->view();
    const std::string_view bytes = bytes_of(value);
    key += std::to_string(value.type()) + ":" + std::to_string(bytes.size()) + ":" + std::string(bytes) + ";";
  }
  return key;
}

}  // namespace rpcroute::sqlite
