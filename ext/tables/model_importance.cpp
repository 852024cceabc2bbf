// model_importance(model): how much each feature matters to a model, as XGBoost's get_score() counts it.
#include "model/explain.hpp"
#include "tables/model_table.hpp"
#include "tables/tables.hpp"

namespace rpcroute::tables {
namespace {

using model::Importance;
using sqlite::column;

}  // namespace

const sqlite::Table& model_importance() {
  static const sqlite::Table table = sqlite::TableOf<Importance>{
      .name = "model_importance",
      .reach = sqlite::Reach::reads,
      .doc = {"model_importance(model)",
              "One row for each feature of a model, in its order. importance is the feature's share of the gain of "
              "all splits: how much the model used it, not how much of the variance it explains.",
              "SELECT feature, importance FROM model_importance((SELECT model FROM rpc_models WHERE active = 1))"},
      .columns = {column("feature", "TEXT", "its name", &Importance::feature),
                  column("gain", "REAL", "mean loss reduction of its splits", &Importance::gain),
                  column("weight", "INTEGER", "number of its splits", &Importance::weight),
                  column("cover", "REAL", "mean cover (sum of the hessian) of its splits", &Importance::cover),
                  column("total_gain", "REAL", "sum of their loss reductions", &Importance::total_gain),
                  column("importance", "REAL", "normalised gain; sums to 1", &Importance::importance)},
      .arguments = {model_argument},
      .open = rows_of_model<Importance>([](const model::Model& model, text::Budget& budget) {
        return model::importance(model.forest(), budget);
      })}.table();
  return table;
}

}  // namespace rpcroute::tables
