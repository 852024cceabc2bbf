// model_importance(model): how much each feature matters to a model, as XGBoost's get_score() counts it.
#include "model/explain.hpp"
#include "tables/model_table.hpp"
#include "tables/tables.hpp"

namespace rpcroute::tables {
namespace {

using model::Importance;
using sqlite::Column;

void show(const Importance& row, int column, sqlite::Result result) {
  switch (column) {
    case 0:
      return result.set(row.feature);
    case 1:
      return result.set(static_cast<double>(row.gain));
    case 2:
      return result.set(static_cast<std::int64_t>(row.weight));
    case 3:
      return result.set(static_cast<double>(row.cover));
    case 4:
      return result.set(static_cast<double>(row.total_gain));
    case 5:
      return result.set(row.importance);
  }
}

class ModelImportance : public sqlite::Table {
 public:
  const char* name() const override { return "model_importance"; }
  sqlite::Reach reach() const override { return sqlite::Reach::reads; }
  sqlite::Doc doc() const override {
    return {"model_importance(model)",
            "One row for each feature of a model, in its order. importance is the feature's share of the gain of all "
            "splits: how much the model used it, not how much of the variance it explains.",
            "SELECT feature, importance FROM model_importance((SELECT model FROM rpc_models WHERE active = 1))"};
  }
  const std::vector<Column>& columns() const override {
    static const std::vector<Column> columns{
        {"feature", "TEXT", Column::Role::plain, "its name"},
        {"gain", "REAL", Column::Role::plain, "mean loss reduction of its splits"},
        {"weight", "INTEGER", Column::Role::plain, "number of its splits"},
        {"cover", "REAL", Column::Role::plain, "mean cover (sum of the hessian) of its splits"},
        {"total_gain", "REAL", Column::Role::plain, "sum of their loss reductions"},
        {"importance", "REAL", Column::Role::plain, "normalised gain; sums to 1"},
        kModelArgument};
    return columns;
  }
  std::unique_ptr<sqlite::Scan> open(sqlite::Connection& connection, sqlite::Execution& execution,
                                     const sqlite::Constraints& constraints) const override {
    return model_scan<Importance>(connection, execution, constraints, show,
                                  [](const model::Model& model) { return model::importance(model.forest()); });
  }
};

}  // namespace

const sqlite::Table& model_importance() {
  static const ModelImportance table;
  return table;
}

}  // namespace rpcroute::tables
