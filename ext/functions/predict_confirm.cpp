// predict_confirm([model,] feature1, …): seconds to confirmation, at the speed of arithmetic.
#include "functions/functions.hpp"
#include "functions/prediction_arguments.hpp"

namespace rpcroute::functions {
namespace {

struct PredictConfirm {
  static sqlite::FunctionSpec spec() {
    return {.name = "predict_confirm",
            .arities = {-1},
            .reach = sqlite::Reach::models,
            .doc = {"predict_confirm([model,] feature1, …)",
                    "Seconds to confirmation as the model predicts them (for other objectives: the model's output). "
                    "The model is a name in rpc_models or the model itself (XGBoost JSON or UBJSON); without one, the "
                    "active row of rpc_models. Features in the model's order; a NULL gives NULL, a wrong number of "
                    "them is an error that lists them.",
                    "SELECT predict_confirm(450.0, 3, 440.0, 2.6, 13.0)"}};
  }

  static void call(sqlite::Call& call, sqlite::Arguments arguments) {
    const PredictionArguments prediction(call, arguments);
    if (!prediction.complete()) return;
    const float seconds = prediction.model()->predict(prediction.features(), prediction.budget());
    call.result().set(static_cast<double>(seconds));
  }
};

}  // namespace

sqlite::Function predict_confirm() {
  return sqlite::scalar<PredictConfirm>();
}

}  // namespace rpcroute::functions
