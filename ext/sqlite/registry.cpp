#include "sqlite/registry.hpp"

#include <set>
#include <string>
#include <utility>

#include "sqlite/query.hpp"

namespace rpcroute::sqlite {
namespace {

std::string lower(std::string text) {
  for (char& character : text) {
    if (character >= 'A' && character <= 'Z') character = static_cast<char>(character - 'A' + 'a');
  }
  return text;
}

struct Present {
  std::set<std::pair<std::string, int>> functions;
  std::set<std::string> modules;

  /// Asks by PRAGMA statements: unlike the tables of the same names they read no schema, so that a database which
  /// another connection has locked does not keep the extension from being loaded.
  explicit Present(Connection& connection) {
    Query function_list(connection, "PRAGMA function_list");  // name, builtin, type, enc, narg, flags
    while (function_list.step()) {
      functions.emplace(lower(function_list.text(0)), static_cast<int>(function_list.integer(4)));
    }
    Query module_list(connection, "PRAGMA module_list");
    while (module_list.step()) modules.insert(lower(module_list.text(0)));
  }
};

}  // namespace

void register_all(sqlite3* db, const Registry& registry, bool offline) {
  const auto connection = Connection::of(db);
  const Present present(*connection);
  for (const Function& function : registry.functions) {
    for (const int arity : function.spec.arities) {
      if (!present.functions.contains({function.spec.name, arity})) function.create(connection, arity);
    }
  }
  for (const Table* table : registry.tables) {
    if (offline && table->reach == Reach::outside) continue;
    if (!present.modules.contains(table->name)) table->create(connection);
  }
}

}  // namespace rpcroute::sqlite
