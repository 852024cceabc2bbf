// One execution of one statement: what its virtual tables may remember, so that no plan asks or sends anything twice.
//
// SQLite may scan a table many times within one execution (joins, OR, sub-selects, two references), and tells a virtual
// table neither which statement it serves nor when that statement starts over. But
//  - the statement that is inside sqlite3_step() is the one that is busy and shows no row: one that waits for its next
//    step has a row to show. There are several only while a function that the host registered runs SQL of its own;
//    then the plan tells them apart, for while xBestIndex runs, the newest statement is the one being prepared. (When
//    SQLite prepares a statement anew, that is a temporary one, whose program the old statement then takes over.)
//  - SQLite counts the runs of a statement;
//  - a statement holds its cursors open until it is reset, and a trigger its own until that firing ends.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <typeindex>
#include <utility>

#include "sqlite/api.hpp"

namespace rpcroute::sqlite {

/// The memory that one execution has for one table. Handed to its open(); dropped when the execution's last cursor closes.
class Execution {
 public:
  /// The memo of type `Memo` under `key`, made by default construction on first use.
  template <class Memo>
  std::shared_ptr<Memo> memo(const std::string& key) {
    auto& slot = memos_[{std::type_index(typeid(Memo)), key}];
    if (!slot) slot = std::make_shared<Memo>();
    return std::static_pointer_cast<Memo>(slot);
  }

 private:
  std::map<std::pair<std::type_index, std::string>, std::shared_ptr<void>> memos_;
};

/// Which execution: the statement, and how many times it has run.
using ExecutionId = std::pair<sqlite3_stmt*, int>;

/// The executions in progress on one connection.
class Executions {
 public:
  explicit Executions(sqlite3* db) : db_(db) {}

  /// During xBestIndex: the statement being prepared.
  sqlite3_stmt* being_prepared() const { return sqlite3_next_stmt(db_, nullptr); }

  /// The execution that a cursor belongs to: nullopt while it is opened inside several statements at once, until its
  /// first scan.
  std::optional<ExecutionId> cursor_opened();
  /// The cursor is scanned by a plan made for `prepared`, which becomes the statement that runs it. Binds the cursor,
  /// and returns the memory that its execution has for `table`.
  Execution& cursor_filtered(std::optional<ExecutionId>& cursor, sqlite3_stmt*& prepared, const void* table);
  void cursor_closed(const std::optional<ExecutionId>& cursor);

 private:
  std::optional<ExecutionId> running(sqlite3_stmt* prepared) const;
  void drop_finished();

  struct InProgress {
    std::map<const void*, Execution> memory;  ///< by table
    std::size_t cursors = 0;
  };

  sqlite3* db_;
  std::map<ExecutionId, InProgress> executions_;
  std::size_t unbound_cursors_ = 0;  ///< may belong to any execution, and keep all
};

}  // namespace rpcroute::sqlite
