// One execution of one statement: what its virtual tables may remember, so that no plan asks or sends anything twice.
//
// SQLite may scan a table many times within one execution (joins, OR, sub-selects, two references), and tells a virtual
// table neither which statement it serves nor when that statement starts over. But
//  - while xBestIndex runs, the newest statement is the one being prepared. Where SQLite prepares a statement anew, that
//    is a temporary one, whose program the old statement then takes over, and SQLite counts that it did. So a plan that
//    carries a tag with both finds the statement that runs it at its first scan, and keeps it from then on;
//  - SQLite counts the runs of a statement, too;
//  - a trigger closes its cursors at the end of each firing, and the next firing scans by the same plans.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include "sqlite/api.hpp"

namespace rpcroute::sqlite {

/// The memory that one execution has for one table. Handed to its open(). A memory that lasts is kept until the execution
/// ends, or a trigger fires again; another until no cursor of the execution is open.
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

  /// During xBestIndex: the tag that a plan begins with, which names the statement being prepared.
  std::string tag();
  /// What stands behind the tag of a plan.
  static const char* behind_tag(const char* plan);

  void cursor_opened() { just_opened_ = true; }

  /// How a cursor is scanned.
  struct ScanOf {
    const void* table;
    const char* plan;  ///< as made, in memory of SQLite's: its address tells the places in a statement apart
    bool lasts;        ///< the memory
  };
  /// Binds the cursor to its execution at its first scan, and returns the memory that this has for the table.
  Execution& cursor_filtered(std::optional<ExecutionId>& cursor, const ScanOf& scan);
  void cursor_closed(const std::optional<ExecutionId>& cursor);

 private:
  struct Memory {
    Execution content;
    std::set<const char*> plans;
    bool lasts = false;
    bool idle = false;  ///< no cursor has been open since the last scan
  };

  struct InProgress {
    std::map<const void*, Memory> memories;  ///< by table
    std::size_t cursors = 0;
  };

  std::vector<sqlite3_stmt*> statements() const;
  sqlite3_stmt* running(const char* plan) const;
  bool is_over(const ExecutionId& id) const;
  void drop_finished();

  sqlite3* db_;
  std::map<ExecutionId, InProgress> executions_;
  bool just_opened_ = false;  ///< SQLite opens a cursor anew before it closes the one in its place
};

}  // namespace rpcroute::sqlite
