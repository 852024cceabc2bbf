#include "sqlite/function.hpp"

#include <atomic>

namespace rpcroute::sqlite {

int Call::next_slot() {
  static std::atomic<int> last{-7300};  // far from the few that SQLite's own functions use
  return --last;
}

void Function::create(const std::shared_ptr<Connection>& connection, int arity) const {
  int flags = SQLITE_UTF8;
  if (spec.reach == Reach::pure) flags |= SQLITE_INNOCUOUS;
  if (is_direct_only(spec.reach)) flags |= SQLITE_DIRECTONLY;
  if (spec.deterministic) flags |= SQLITE_DETERMINISTIC;
  if (spec.returns_json) flags |= SQLITE_RESULT_SUBTYPE;
  auto data = std::make_unique<FunctionData>(FunctionData{connection, spec.name});
  const auto destroy = [](void* pointer) { delete static_cast<FunctionData*>(pointer); };
  // SQLite calls `destroy` itself when the registration fails.
  sqlite3* db = connection->db();
  const int code = value != nullptr ? sqlite3_create_window_function(db, spec.name, arity, flags, data.release(), step,
                                                                     final, value, inverse, destroy)
                                    : sqlite3_create_function_v2(db, spec.name, arity, flags, data.release(), call,
                                                                 step, final, destroy);
  if (code != SQLITE_OK)
    throw SqlError(code, std::string("cannot register ") + spec.name + "(): " + sqlite3_errmsg(db));
}

}  // namespace rpcroute::sqlite
