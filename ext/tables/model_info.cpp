// model_info(model): what a model is, and how it is evaluated.
#include "tables/model_table.hpp"
#include "tables/tables.hpp"
#include "text/json.hpp"

namespace rpcroute::tables {
namespace {

using model::ModelInfo;
using sqlite::column;

std::string json_array(const std::vector<std::string>& texts) {
  std::string json = "[";
  for (const std::string& text : texts) json += (json.size() > 1 ? "," : "") + text::json_literal(text);
  return json + "]";
}

}  // namespace

const sqlite::Table& model_info() {
  static const sqlite::Table table = sqlite::TableOf<ModelInfo>{
      .name = "model_info",
      .reach = sqlite::Reach::reads,
      .doc = {"model_info(model)", "One row: what the model is, and what it was compiled into.",
              "SELECT objective, rounds, evaluator, parts, evaluator_bytes FROM model_info((SELECT model FROM "
              "rpc_models WHERE active = 1))"},
      .columns = {column("objective", "TEXT", "XGBoost's name for it", &ModelInfo::objective),
                  column("rounds", "INTEGER", "of boosting", &ModelInfo::rounds),
                  column("trees", "INTEGER", "of all rounds together", &ModelInfo::trees),
                  column("best_iteration", "INTEGER",
                         "round, from 0, at which early stopping found it best; all rounds count all the same, as in "
                         "Booster.predict()",
                         &ModelInfo::best_iteration),
                  column<ModelInfo>("features", "TEXT", "JSON array, in the model's order",
                                    [](const ModelInfo& row) { return json_array(row.features); }),
                  column("written_by", "TEXT", "version of XGBoost that wrote it", &ModelInfo::written_by),
                  column("evaluator", "TEXT", "'grid', 'bitmask' or 'forest'", &ModelInfo::evaluator),
                  column("parts", "INTEGER", "cells of the grid, tables of bit masks, or nodes of the forest",
                         &ModelInfo::parts),
                  column("evaluator_bytes", "INTEGER", "memory of the compiled form", &ModelInfo::evaluator_bytes),
                  column("content_bytes", "INTEGER", "size of the model itself", &ModelInfo::content_bytes),
                  column("checked", "INTEGER", "1 when it was held against libxgboost, 0 where that is absent",
                         &ModelInfo::checked)},
      .arguments = {model_argument},
      .open = rows_of_model<ModelInfo>([](const model::Model& model, text::Budget&) {
        return std::vector{model.info()};
      })}.table();
  return table;
}

}  // namespace rpcroute::tables
