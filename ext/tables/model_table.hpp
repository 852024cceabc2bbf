// Tables about one model: the `model` argument, and rows made from it once per execution.
#pragma once

#include <memory>
#include <vector>

#include "functions/model_argument.hpp"
#include "sqlite/table.hpp"

namespace rpcroute::tables {

/// The argument `model`.
inline const sqlite::Argument model_argument{"model", sqlite::Accepts::anything(),
                                             "a name in rpc_models, or the model itself"};

/// Opens scans over the rows that `make(const model::Model&, text::Budget&)` gives. A NULL model has no rows; a missing
/// one is an error.
template <class Row, class Make>
sqlite::OpenScan<Row> rows_of_model(Make make) {
  return [make](sqlite::Connection& connection, sqlite::Execution& execution, const sqlite::Constraints& constraints) {
    const sqlite::OwnedValue* model = constraints.argument(model_argument.name);
    if (model == nullptr) throw sqlite::Error("needs a model: a name in rpc_models, or the model itself");
    using Rows = typename sqlite::RowsScan<Row>::Rows;
    const auto rows = execution.memo<Rows>(constraints.arguments_fingerprint());
    if (rows->empty() && !model->view().is_null()) {
      text::Budget budget(connection.pulse());
      for (Row& row : make(*functions::find_model(connection, model->view()), budget)) {
        budget.step();
        rows->push_back(std::make_shared<sqlite::Numbered<Row>>(connection.next_rowid(), std::move(row)));
      }
    }
    return std::make_unique<sqlite::RowsScan<Row>>(*rows);
  };
}

}  // namespace rpcroute::tables
