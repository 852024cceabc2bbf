// Models as arguments of SQL: a name in rpc_models, the model itself, or the active one.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/evaluator.hpp"
#include "sqlite/function.hpp"

namespace rpcroute::functions {

using ModelPointer = std::shared_ptr<const model::Model>;

/// The compiled models of a database connection, by content: reading and compiling one costs milliseconds.
class ModelCache {
 public:
  /// Throws model::ModelError when the content is refused.
  ModelPointer get(std::span<const std::byte> content, const text::Pulse& pulse);

 private:
  struct Entry {
    std::string content;
    ModelPointer model;
  };
  std::list<Entry> entries_;  // most recently used first
};

/// The model a TEXT or BLOB names: a row of main.rpc_models, or the model itself (JSON or UBJSON; every BLOB).
/// Throws sqlite::Error that names it when there is none.
ModelPointer find_model(sqlite::Connection& connection, sqlite::Value model);

/// The row of `rpc_models` with active = 1. Throws sqlite::Error when there is none, or more than one.
ModelPointer active_model(sqlite::Connection& connection);

/// Models found in one execution of a statement, so that the table is read once. Lives in the statement's memory.
class ModelLookup {
 public:
  /// As find_model() and active_model(); a model named twice in a row is found by comparing the argument alone.
  const ModelPointer& named(sqlite::Connection& connection, sqlite::Value model);
  const ModelPointer& active(sqlite::Connection& connection);

  /// Of predictions: without limits, but it passes an interrupt on.
  text::Budget& budget(const sqlite::Connection& connection) {
    if (!budget_) budget_.emplace(connection.pulse());
    return *budget_;
  }

  std::vector<double> row;  ///< room for the features in hand, so that no row of a query allocates

 private:
  /// SQLite asks no permission for a call from a CHECK of somebody's file: without trust in schemas, none may be there.
  void refuse_untrusted_calls(sqlite::Connection& connection);

  bool is_trusted_ = false;
  std::optional<text::Budget> budget_;
  std::string last_argument_;
  ModelPointer named_;
  ModelPointer active_;
};

}  // namespace rpcroute::functions
