// Tables about one model: the `model` argument, and rows made from it once per execution.
#pragma once

#include <memory>
#include <vector>

#include "functions/model_argument.hpp"
#include "sqlite/table.hpp"

namespace rpcroute::tables {

inline const sqlite::Column kModelArgument{"model", "", sqlite::Column::Role::argument,
                                           "a name in rpc_models, or the model itself"};

/// The scan of a table whose rows `make(const model::Model&)` gives. A NULL model has no rows; a missing one is an
/// error.
template <class Row, class Make>
std::unique_ptr<sqlite::Scan> model_scan(sqlite::Connection& connection, sqlite::Execution& execution,
                                         const sqlite::Constraints& constraints,
                                         typename sqlite::RowsScan<Row>::Show show, Make make) {
  const sqlite::OwnedValue* model = constraints.argument(kModelArgument.name);
  if (model == nullptr) throw sqlite::Error("needs a model: a name in rpc_models, or the model itself");
  using Rows = typename sqlite::RowsScan<Row>::Rows;
  const auto rows = execution.memo<Rows>(constraints.fingerprint({kModelArgument.name}));
  if (rows->empty() && !model->view().is_null()) {
    for (Row& row : make(*functions::find_model(connection, model->view()))) {
      rows->push_back(std::make_shared<sqlite::Numbered<Row>>(connection.next_rowid(), std::move(row)));
    }
  }
  return std::make_unique<sqlite::RowsScan<Row>>(*rows, show);
}

}  // namespace rpcroute::tables
