#include "sqlite/error.hpp"

namespace rpcroute::sqlite {

Outcome current_outcome(std::string_view name) noexcept {
  try {
    throw;
  } catch (const Interruption&) {
    return {SQLITE_INTERRUPT, {}};
  } catch (const std::bad_alloc&) {
    return {SQLITE_NOMEM, {}};
  } catch (const SqlError& error) {
    if (error.code == SQLITE_INTERRUPT || error.code == SQLITE_NOMEM) return {error.code, {}};
    try {
      return {SQLITE_ERROR, std::string(name) + ": " + error.what()};
    } catch (...) {
      return {SQLITE_NOMEM, {}};
    }
  } catch (const std::exception& error) {
    try {
      return {SQLITE_ERROR, std::string(name) + ": " + error.what()};
    } catch (...) {
      return {SQLITE_NOMEM, {}};
    }
  } catch (...) {
    return {SQLITE_ERROR, {}};
  }
}

void report(sqlite3_context* context, const Outcome& outcome) noexcept {
  if (outcome.code == SQLITE_OK) return;
  if (outcome.code == SQLITE_NOMEM) return sqlite3_result_error_nomem(context);
  if (!outcome.message.empty()) {
    sqlite3_result_error(context, outcome.message.data(), static_cast<int>(outcome.message.size()));
  }
  if (outcome.message.empty() || outcome.code != SQLITE_ERROR) sqlite3_result_error_code(context, outcome.code);
}

int report(sqlite3_vtab* table, const Outcome& outcome) noexcept {
  if (outcome.code != SQLITE_OK && !outcome.message.empty()) {
    sqlite3_free(table->zErrMsg);
    table->zErrMsg = sqlite3_mprintf("%s", outcome.message.c_str());
  }
  return outcome.code;
}

}  // namespace rpcroute::sqlite
