#include "sqlite/execution.hpp"

#include <algorithm>
#include <vector>

namespace rpcroute::sqlite {
namespace {

int runs(sqlite3_stmt* statement) {
  return sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_RUN, 0);
}

}  // namespace

/// The execution inside sqlite3_step(). Where there are several and none is `prepared`: nullopt without `prepared`,
/// else the newest that was prepared anew.
std::optional<ExecutionId> Executions::running(sqlite3_stmt* prepared) const {
  std::vector<sqlite3_stmt*> stepping;  // newest first
  for (sqlite3_stmt* each = sqlite3_next_stmt(db_, nullptr); each != nullptr; each = sqlite3_next_stmt(db_, each)) {
    if (sqlite3_stmt_busy(each) != 0 && sqlite3_data_count(each) == 0) stepping.push_back(each);
  }
  if (stepping.empty()) return std::nullopt;
  sqlite3_stmt* found = stepping.front();
  if (stepping.size() > 1) {
    if (prepared == nullptr) return std::nullopt;
    if (std::find(stepping.begin(), stepping.end(), prepared) != stepping.end()) {
      found = prepared;
    } else {
      const auto anew = std::find_if(stepping.begin(), stepping.end(), [](sqlite3_stmt* statement) {
        return sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_REPREPARE, 0) > 0;
      });
      if (anew != stepping.end()) found = *anew;
    }
  }
  return ExecutionId{found, runs(found)};
}

std::optional<ExecutionId> Executions::cursor_opened() {
  const auto execution = running(nullptr);
  ++(execution ? executions_[*execution].cursors : unbound_cursors_);
  return execution;
}

Execution& Executions::cursor_filtered(std::optional<ExecutionId>& cursor, sqlite3_stmt*& prepared,
                                       const void* table) {
  if (!cursor) {
    cursor = running(prepared).value_or(ExecutionId{prepared, 0});
    ++executions_[*cursor].cursors;
    --unbound_cursors_;
  }
  prepared = cursor->first;
  return executions_[*cursor].memory[table];
}

void Executions::cursor_closed(const std::optional<ExecutionId>& cursor) {
  --(cursor ? executions_[*cursor].cursors : unbound_cursors_);
  drop_finished();
}

void Executions::drop_finished() {
  if (unbound_cursors_ > 0) return;
  std::erase_if(executions_, [](const auto& entry) { return entry.second.cursors == 0; });
}

}  // namespace rpcroute::sqlite
