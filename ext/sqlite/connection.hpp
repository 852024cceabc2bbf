// What rpcroute keeps for one database connection.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <typeindex>

#include "sqlite/api.hpp"
#include "text/budget.hpp"

namespace rpcroute::sqlite {

class Executions;

/// One per sqlite3*, shared by everything registered on it and gone with it. Guarded by SQLite's own connection mutex.
class Connection {
 public:
  /// The one of `db`, made when nothing registered on it holds one yet: what a second loading adds shares the nesting,
  /// the executions and the warm connections of the first. Thread-safe.
  static std::shared_ptr<Connection> of(sqlite3* db);

  explicit Connection(sqlite3* db);
  ~Connection();

  sqlite3* db() const { return db_; }

  /// A long-lived helper (warm connections, compiled models), made on first use and destroyed with the connection.
  template <class Service>
  Service& service() {
    auto& slot = services_[std::type_index(typeid(Service))];
    if (!slot) slot = std::make_shared<Service>();
    return *static_cast<Service*>(slot.get());
  }

  /// True once sqlite3_interrupt() was called and the statement in progress has not ended.
  bool interrupted() const;

  /// Ends long work with Interruption once the statement is interrupted; not to outlive the connection.
  text::Pulse pulse() const;

  /// True while a statement that rpcroute itself started is running: nothing may touch the network then, or nested SQL
  /// would be the way around DIRECTONLY.
  bool in_nested_statement() const { return nested_ > 0; }

  /// True while a table works that was made with USING …(copies): rpcroute's own tables are then read from the TEMP
  /// copies that a script has made of them, out of the way of other writers.
  bool reads_copies() const { return copies_; }

  /// Sets that for its lifetime.
  class CopiesScope {
   public:
    CopiesScope(Connection& connection, bool copies) : connection_(connection), before_(connection.copies_) {
      connection.copies_ = copies;
    }
    ~CopiesScope() { connection_.copies_ = before_; }
    CopiesScope(const CopiesScope&) = delete;
    CopiesScope& operator=(const CopiesScope&) = delete;

   private:
    Connection& connection_;
    bool before_;
  };

  /// A number no other row of this connection has had: virtual tables identify their rows by it.
  std::int64_t next_rowid() { return ++last_rowid_; }

  Executions& executions() { return *executions_; }

  /// Marks a nested statement for its lifetime.
  class NestedScope {
   public:
    explicit NestedScope(Connection& connection) : connection_(connection) { ++connection_.nested_; }
    ~NestedScope() { --connection_.nested_; }
    NestedScope(const NestedScope&) = delete;
    NestedScope& operator=(const NestedScope&) = delete;

   private:
    Connection& connection_;
  };

 private:
  sqlite3* db_;
  int nested_ = 0;
  bool copies_ = false;
  std::int64_t last_rowid_ = 0;
  std::map<std::type_index, std::shared_ptr<void>> services_;
  std::unique_ptr<Executions> executions_;
};

}  // namespace rpcroute::sqlite
