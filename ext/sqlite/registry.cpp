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

  explicit Present(Connection& connection) {
    Query function_list(connection, "SELECT name, narg FROM pragma_function_list");
    while (function_list.step()) {
      functions.emplace(lower(function_list.text(0)), static_cast<int>(function_list.integer(1)));
    }
    Query module_list(connection, "SELECT name FROM pragma_module_list");
    while (module_list.step()) modules.insert(lower(module_list.text(0)));
  }
};

}  // namespace

void register_all(sqlite3* db, const Registry& registry, bool offline) {
  const auto connection = std::make_shared<Connection>(db);
  const Present present(*connection);
  for (const Function& function : registry.functions) {
    for (const int arity : function.spec.arities) {
      if (!present.functions.contains({function.spec.name, arity})) function.create(connection, arity);
    }
  }
  for (const Table* table : registry.tables) {
    if (offline && table->reach() == Reach::outside) continue;
    if (!present.modules.contains(table->name())) table->create(connection);
  }
}

}  // namespace rpcroute::sqlite
