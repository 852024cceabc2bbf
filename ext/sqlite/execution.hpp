// One execution of one statement: what its virtual tables may remember, so that no plan asks or sends anything twice.
//
// SQLite may scan a table many times within one execution (joins, OR, sub-selects, two references), and tells a virtual
// table neither which statement it serves nor when that statement starts over. Two observations help:
//  - while xBestIndex runs, the statement being prepared is the newest of the connection, so its address names it;
//    each address gets a generation number, handed on to xFilter as idxNum;
//  - a statement keeps a cursor of ours open until it is reset, so "some cursor of this generation is open" means "the
//    same execution". A cursor opened but not yet filtered may belong to any generation and keeps all of them.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <typeindex>
#include <utility>

#include "sqlite/api.hpp"

namespace rpcroute::sqlite {

/// The memory of one execution. Handed to a table's open(); dropped when the execution ends.
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

/// The executions in progress on one connection.
class Executions {
 public:
  explicit Executions(sqlite3* db) : db_(db) {}

  /// During xBestIndex: the generation of the statement being prepared.
  int generation_being_prepared();

  void cursor_opened();
  /// The cursor's first or a later scan; returns the memory its execution shares.
  Execution& cursor_filtered(bool first_scan, int generation);
  void cursor_closed(bool was_filtered, int generation);

 private:
  void drop_finished();

  sqlite3* db_;
  int last_generation_ = 0;
  std::map<sqlite3_stmt*, int> being_prepared_;
  std::map<int, std::size_t> open_cursors_;  // by generation
  std::size_t unfiltered_cursors_ = 0;
  std::map<int, Execution> executions_;
};

}  // namespace rpcroute::sqlite
