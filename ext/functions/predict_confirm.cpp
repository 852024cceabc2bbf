// predict_confirm([model,] feature1, …): seconds to confirmation, at the speed of arithmetic.
#include <array>
#include <cmath>

#include "functions/functions.hpp"
#include "functions/model_argument.hpp"

namespace rpcroute::functions {
namespace {

constexpr int kMostFeatures = 125;  // SQLite's limit of 127 arguments, less the model and one to spare

[[noreturn]] void wrong_width(const model::Model& model, int given) {
  const auto& names = model.feature_names();
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  throw sqlite::Error("the model takes " + std::to_string(names.size()) + " features (" + list + "), got " +
                      std::to_string(given));
}

/// Reads the features behind the model argument; false when one is NULL.
bool read_features(const model::Model& model, sqlite::Arguments arguments, int first, std::span<double> features) {
  const int given = arguments.size() - first;
  if (static_cast<std::size_t>(given) != model.feature_names().size()) wrong_width(model, given);
  for (int i = 0; i < given; ++i) {
    const sqlite::Value value = arguments[first + i];
    const int type = value.type();
    if (type == SQLITE_NULL) return false;
    const double number = value.real();
    if ((type != SQLITE_FLOAT && type != SQLITE_INTEGER) || !std::isfinite(number)) {
      throw sqlite::Error("feature " + model.feature_names()[static_cast<std::size_t>(i)] +
                          " must be a finite number, got " + sqlite::quoted(value));
    }
    features[static_cast<std::size_t>(i)] = number;
  }
  return true;
}

/// The model of a call, and how many arguments it took; nullptr when the model is NULL.
const model::Model* model_of(sqlite::Call& call, sqlite::Arguments arguments, int& taken) {
  if (arguments.size() == 0) throw sqlite::Error("needs a model or a feature");
  const sqlite::Value first = arguments[0];
  taken = 0;
  if (first.is_null()) return nullptr;
  if (first.is_number()) return &ModelLookup::of(call).active(call.connection());
  taken = 1;
  return &ModelLookup::of(call).named(call.connection(), first);
}

struct PredictConfirm {
  static sqlite::FunctionSpec spec() {
    return {.name = "predict_confirm",
            .arities = {-1},
            .doc = {"predict_confirm([model,] feature1, …)",
                    "Seconds to confirmation as the model predicts them (for other objectives: the model's output). "
                    "The model is a name in rpc_models or the model itself (XGBoost JSON or UBJSON); without one, the "
                    "active row of rpc_models. Features in the model's order; a NULL gives NULL, a wrong number of "
                    "them is an error that lists them.",
                    "SELECT provider_id, predict_confirm(120.0, 0) FROM rpc_providers"}};
  }

  static void call(sqlite::Call& call, sqlite::Arguments arguments) {
    int taken = 0;
    const model::Model* model = model_of(call, arguments, taken);
    if (model == nullptr) return;
    std::array<double, kMostFeatures + 2> features;
    const auto used = std::span(features).first(static_cast<std::size_t>(arguments.size() - taken));
    if (!read_features(*model, arguments, taken, used)) return;
    call.result().set(static_cast<double>(model->predict(used)));
  }
};

}  // namespace

sqlite::Function predict_confirm() {
  return sqlite::scalar<PredictConfirm>();
}

}  // namespace rpcroute::functions
