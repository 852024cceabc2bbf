// model_info(model): what a model is, and how it is evaluated.
#include "rpc/json.hpp"
#include "tables/model_table.hpp"
#include "tables/tables.hpp"

namespace rpcroute::tables {
namespace {

using model::ModelInfo;
using sqlite::Column;

std::int64_t count(std::size_t number) {
  return static_cast<std::int64_t>(number);
}

std::string json_array(const std::vector<std::string>& texts) {
  std::string json = "[";
  for (const std::string& text : texts) json += (json.size() > 1 ? "," : "") + rpc::json_literal(text);
  return json + "]";
}

void show(const ModelInfo& row, int column, sqlite::Result result) {
  switch (column) {
    case 0:
      return result.set(row.objective);
    case 1:
      return result.set(count(row.rounds));
    case 2:
      return result.set(count(row.trees));
    case 3:
      return result.set(json_array(row.features));
    case 4:
      return result.set(row.written_by);
    case 5:
      return result.set(row.evaluator);
    case 6:
      return result.set(count(row.parts));
    case 7:
      return result.set(count(row.evaluator_bytes));
    case 8:
      return result.set(count(row.content_bytes));
    case 9:
      return result.set(row.checked);
  }
}

class ModelInfoTable : public sqlite::Table {
 public:
  const char* name() const override { return "model_info"; }
  sqlite::Reach reach() const override { return sqlite::Reach::reads; }
  sqlite::Doc doc() const override {
    return {"model_info(model)", "One row: what the model is, and what it was compiled into.",
            "SELECT objective, rounds, evaluator, parts, evaluator_bytes FROM model_info((SELECT model FROM rpc_models "
            "WHERE active = 1))"};
  }
  const std::vector<Column>& columns() const override {
    static const std::vector<Column> columns{
        {"objective", "TEXT", Column::Role::plain, "XGBoost's name for it"},
        {"rounds", "INTEGER", Column::Role::plain, "of boosting"},
        {"trees", "INTEGER", Column::Role::plain, "of all rounds together"},
        {"features", "TEXT", Column::Role::plain, "JSON array, in the model's order"},
        {"written_by", "TEXT", Column::Role::plain, "version of XGBoost that wrote it"},
        {"evaluator", "TEXT", Column::Role::plain, "'grid', 'bitmask' or 'forest'"},
        {"parts", "INTEGER", Column::Role::plain, "cells of the grid, tables of bit masks, or nodes of the forest"},
        {"evaluator_bytes", "INTEGER", Column::Role::plain, "memory of the compiled form"},
        {"content_bytes", "INTEGER", Column::Role::plain, "size of the model itself"},
        {"checked", "INTEGER", Column::Role::plain, "1 when it was held against libxgboost, 0 where that is absent"},
        kModelArgument};
    return columns;
  }
  std::unique_ptr<sqlite::Scan> open(sqlite::Connection& connection, sqlite::Execution& execution,
                                     const sqlite::Constraints& constraints) const override {
    return model_scan<ModelInfo>(connection, execution, constraints, show,
                                 [](const model::Model& model) { return std::vector<ModelInfo>{model.info()}; });
  }
};

}  // namespace

const sqlite::Table& model_info() {
  static const ModelInfoTable table;
  return table;
}

}  // namespace rpcroute::tables
