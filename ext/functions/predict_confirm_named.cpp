// predict_confirm_named(model, features): a prediction for scripts that serve whatever model is active.
#include <unordered_map>
#include <vector>

#include "functions/functions.hpp"
#include "functions/model_argument.hpp"
#include "text/json.hpp"

namespace rpcroute::functions {
namespace {

/// The places of a model's features by name, so that a row of many names costs no more than its text.
class Places {
 public:
  /// Those of the model last asked about in this statement.
  static Places& of(sqlite::Call& call, const ModelPointer& model) {
    auto& places = call.per_execution<Places>();
    if (places.model_ != model) {
      places.of_.clear();
      for (const std::string& name : model->feature_names()) places.of_.emplace(name, places.of_.size());
      places.model_ = model;
    }
    return places;
  }

  /// The value of each feature, in the model's order; absent where there is none. Of duplicates the last.
  const std::vector<text::Json>& values(const text::Json& object, text::Budget& budget) {
    values_.assign(of_.size(), text::Json());
    for (const text::JsonMember& member : object.members()) {
      budget.step();
      if (const auto place = of_.find(member.name); place != of_.end()) values_[place->second] = member.value;
    }
    return values_;
  }

 private:
  ModelPointer model_;
  std::unordered_map<std::string_view, std::size_t> of_;
  std::vector<text::Json> values_;
};

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
    text::Budget& budget = lookup.budget(call.connection());
    const text::JsonTree tree(arguments[1].text(), budget);
    const text::Json object = tree.root();
    if (!object.is_object()) {
      throw sqlite::Error("features must be a JSON object, got " + sqlite::quoted(arguments[1]));
    }
    const auto& values = Places::of(call, found).values(object, budget);
    std::vector<double>& features = lookup.row;
    features.clear();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string& name = model.feature_names()[i];
      if (values[i].is(text::JsonType::absent)) {
        throw sqlite::Error("features lack '" + name + "', which the model needs");
      }
      if (values[i].is_null()) return;
      const auto number = values[i].real();
      if (!number) throw sqlite::Error("feature " + name + " must be a number");
      features.push_back(*number);
    }
    call.result().set(static_cast<double>(model.predict(features, budget)));
  }
};

}  // namespace

sqlite::Function predict_confirm_named() {
  return sqlite::scalar<PredictConfirmNamed>();
}

}  // namespace rpcroute::functions
