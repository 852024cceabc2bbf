// predict_confirm_contributions([model,] feature1, …): why a prediction is what it is.
#include "functions/functions.hpp"
#include "functions/prediction_arguments.hpp"
#include "model/explain.hpp"
#include "text/json.hpp"

namespace rpcroute::functions {
namespace {

/// The explainer of the model last asked about in this statement.
struct Explaining {
  ModelPointer model;
  std::unique_ptr<model::Explainer> explainer;

  static model::Explainer& of(sqlite::Call& call, const ModelPointer& model, text::Budget& budget) {
    auto& explaining = call.per_execution<Explaining>();
    if (explaining.model != model) {
      explaining.explainer = std::make_unique<model::Explainer>(model, budget);
      explaining.model = model;
    }
    return *explaining.explainer;
  }
};

std::string number(double value) {
  char text[32];
  sqlite3_snprintf(sizeof text, text, "%!.9g", value);  // nine digits carry a float32
  return text;
}

struct PredictConfirmContributions {
  static sqlite::FunctionSpec spec() {
    return {.name = "predict_confirm_contributions",
            .arities = {-1},
            .reach = sqlite::Reach::models,
            .returns_json = true,
            .doc = {"predict_confirm_contributions([model,] feature1, …)",
                    "JSON object of what each feature contributed to the prediction (TreeSHAP), plus bias; they sum to "
                    "the model's margin, which is the prediction itself for a model of seconds. Arguments as for "
                    "predict_confirm().",
                    "SELECT predict_confirm_contributions(450.0, 3, 440.0, 2.6, 13.0)"}};
  }

  static void call(sqlite::Call& call, sqlite::Arguments arguments) {
    PredictionArguments prediction(call, arguments);
    if (!prediction.complete()) return;
    text::Budget& budget = prediction.budget();
    const auto parts = Explaining::of(call, prediction.model(), budget).explain(prediction.features(), budget);
    std::string json = "{";
    for (std::size_t i = 0; i < parts.features.size(); ++i) {
      json += text::json_literal(prediction.model()->feature_names()[i]) + ":" + number(parts.features[i]) + ",";
    }
    call.result().set_json(json + "\"bias\":" + number(parts.bias) + "}");
  }
};

}  // namespace

sqlite::Function predict_confirm_contributions() {
  return sqlite::scalar<PredictConfirmContributions>();
}

}  // namespace rpcroute::functions
