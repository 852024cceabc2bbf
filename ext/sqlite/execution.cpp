#include "sqlite/execution.hpp"

#include <limits>

namespace rpcroute::sqlite {

int Executions::generation_being_prepared() {
  auto [entry, added] = being_prepared_.try_emplace(sqlite3_next_stmt(db_, nullptr), 0);
  if (added) {
    last_generation_ = last_generation_ == std::numeric_limits<int>::max() ? 1 : last_generation_ + 1;
    entry->second = last_generation_;
  }
  return entry->second;
}

void Executions::cursor_opened() {
  being_prepared_.clear();  // an address may be reused once anything has run
  ++unfiltered_cursors_;
}

Execution& Executions::cursor_filtered(bool first_scan, int generation) {
  being_prepared_.clear();
  if (first_scan) {
    --unfiltered_cursors_;
    ++open_cursors_[generation];
  }
  return executions_[generation];
}

void Executions::cursor_closed(bool was_filtered, int generation) {
  being_prepared_.clear();
  if (!was_filtered) {
    --unfiltered_cursors_;
  } else if (--open_cursors_[generation] == 0) {
    open_cursors_.erase(generation);
  }
  drop_finished();
}

void Executions::drop_finished() {
  if (unfiltered_cursors_ > 0) return;
  std::erase_if(executions_, [this](const auto& entry) { return !open_cursors_.contains(entry.first); });
}

}  // namespace rpcroute::sqlite
