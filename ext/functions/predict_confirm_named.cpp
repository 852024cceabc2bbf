// predict_confirm_named(model, features): a prediction for scripts that serve whatever model is active.
#include "functions/functions.hpp"
#include "functions/model_argument.hpp"
#include "text/json.hpp"

namespace rpcroute::functions {
namespace {

struct PredictConfirmNamed {
  static sqlite::FunctionSpec spec() {
    return {.name = "predict_confirm_named",
            .arities = {2},
            .reach = sqlite::Reach::models,
            .doc = {"predict_confirm_named(model, features)",
                    "As predict_confirm(), with the features by name from a JSON object. Names the model does not need "
                    "are ignored, a missing one is an error, a null gives NULL. A NULL model is the active one.",
                    "SELECT predict_confirm_named(NULL, json_object('latency_ms', 120.0, 'block_lag', 0, "
                    "'rolling_latency_5', 118.0, 'mean_lag_5', 0.2, 'provider_mean_sec', 12.5))"}};
  }

  static void call(sqlite::Call& call, sqlite::Arguments arguments) {
    if (arguments[1].is_null()) return;
    auto& lookup = call.per_execution<ModelLookup>();
    const ModelPointer& found =
        arguments[0].is_null() ? lookup.active(call.connection()) : lookup.named(call.connection(), arguments[0]);
    const model::Model& model = *found;
    const text::JsonTree tree(arguments[1].text());
    const text::Json object = tree.root();
    if (!object.is_object()) {
      throw sqlite::Error("features must be a JSON object, got " + sqlite::quoted(arguments[1]));
    }
    std::vector<double>& features = lookup.row;
    features.clear();
    for (const std::string& name : model.feature_names()) {
      const text::Json feature = object[name];
      if (feature.is(text::JsonType::absent)) {
        throw sqlite::Error("features lack '" + name + "', which the model needs");
      }
      if (feature.is_null()) return;
      const auto number = feature.real();
      if (!number) throw sqlite::Error("feature " + name + " must be a number");
      features.push_back(*number);
    }
    call.result().set(static_cast<double>(model.predict(features)));
  }
};

}  // namespace

sqlite::Function predict_confirm_named() {
  return sqlite::scalar<PredictConfirmNamed>();
}

}  // namespace rpcroute::functions
