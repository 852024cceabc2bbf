#include "sqlite/stored_call.hpp"

#include <optional>
#include <string>
#include <vector>

#include "sqlite/query.hpp"

namespace rpcroute::sqlite {
namespace {

/// The tokens of an SQL text, as far as names and parentheses go.
class Tokens {
 public:
  explicit Tokens(std::string_view sql) : rest_(sql) {}

  /// The next name, unquoted ("na""me" as na""me), or any other single character, a quote for a string; nullopt at the
  /// end. Space and comments are left out.
  std::optional<std::string_view> next() {
    while (!rest_.empty()) {
      const char first = rest_.front();
      if (rest_.starts_with("--")) {
        skip_past("\n");
      } else if (rest_.starts_with("/*")) {
        rest_.remove_prefix(2);
        skip_past("*/");
      } else if (first == '\'') {
        take_quoted(first);
        return "'";
      } else if (first == '"' || first == '`') {
        return take_quoted(first);
      } else if (first == '[') {
        return take_quoted(']');
      } else if (is_name(first)) {
        return take(name_length());
      } else if (is_space(first)) {
        take(1);
      } else {
        return take(1);
      }
    }
    return std::nullopt;
  }

 private:
  static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           static_cast<unsigned char>(c) >= 0x80;
  }
  std::size_t name_length() const {
    std::size_t length = 0;
    while (length < rest_.size() && is_name(rest_[length])) ++length;
    return length;
  }

  std::string_view take(std::size_t length) {
    const std::string_view taken = rest_.substr(0, length);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  void skip_past(std::string_view end) {
    const std::size_t found = rest_.find(end);
    take(found == std::string_view::npos ? rest_.size() : found + end.size());
  }
  /// What stands between the quote that begins the rest and `close`; a doubled one does not end it.
  std::string_view take_quoted(char close) {
    std::size_t end = rest_.find(close, 1);
    while (close != ']' && end != std::string_view::npos && end + 1 < rest_.size() && rest_[end + 1] == close) {
      end = rest_.find(close, end + 2);
    }
    if (end == std::string_view::npos) end = rest_.size();
    return take(end + 1).substr(1, end - 1);
  }

  std::string_view rest_;
};

std::vector<std::string> databases(Connection& connection) {
  std::vector<std::string> names;
  Query list(connection, "PRAGMA database_list");  // seq, name, file
  while (list.step()) names.push_back(list.text(1));
  return names;
}

}  // namespace

bool definition_calls(std::string_view sql, std::string_view function) {
  Tokens tokens(sql);
  tokens.next();  // CREATE
  const std::string_view kind = tokens.next().value_or("");
  if (same_name(kind, "view") || same_name(kind, "trigger")) return false;
  bool named = false;
  while (const auto token = tokens.next()) {
    if (named && *token == "(") return true;
    named = same_name(*token, function);
  }
  return false;
}

void refuse_stored_calls(Connection& connection, std::string_view function) {
  for (const std::string& database : databases(connection)) {
    // What is in TEMP the user made. Without a transaction no statement in progress uses the database.
    if (same_name(database, "temp")) continue;
    if (sqlite3_txn_state(connection.db(), database.c_str()) == SQLITE_TXN_NONE) continue;
    Query objects(connection, "SELECT name, sql FROM " + identifier(database) + ".sqlite_schema");
    while (objects.step()) {
      if (!definition_calls(objects.value(1).text(), function)) continue;
      throw Error("the definition of " + objects.text(0) + " in " + database +
                  " calls it, which only statements, TEMP " + "views and TEMP triggers may: refused to all that use " +
                  database);
    }
  }
}

}  // namespace rpcroute::sqlite
