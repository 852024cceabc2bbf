// train_confirm(params, label, feature1, …): an XGBoost model from the rows of a query.
#include <cmath>

#include "functions/functions.hpp"
#include "model/train.hpp"
#include "progress.hpp"

namespace rpcroute::functions {
namespace {

class TrainConfirm {
 public:
  static sqlite::FunctionSpec spec() {
    return {
        .name = "train_confirm",
        .arities = {-1},
        .returns_json = true,
        .doc = {"train_confirm(params, label, feature1, …)",
                "Trains XGBoost on the rows and returns the model as JSON. params is a JSON object of XGBoost's own "
                "parameters plus features (array of names, required), num_round (100) and seed; an unknown or "
                "out-of-range parameter is an error. A NULL label is an error; a NULL feature is a missing value. "
                "The same rows in any order give the same bytes.",
                "SELECT train_confirm('{\"features\":[\"latency_ms\",\"block_lag\"]}', duration_sec, latency_ms, "
                "block_lag) FROM training_set WHERE split = 'train'"}};
  }

  void step(sqlite::Call&, sqlite::Arguments arguments) {
    if (arguments.size() < 3) throw sqlite::Error("needs params, label and at least one feature");
    read_params(arguments[0]);
    const int features = arguments.size() - 2;
    if (static_cast<std::size_t>(features) != params_.features.size()) {
      throw sqlite::Error("params.features names " + std::to_string(params_.features.size()) + " features, got " +
                          std::to_string(features));
    }
    for (int i = 0; i < features; ++i) {
      const auto column = static_cast<std::size_t>(i);
      features_[column] = feature(params_.features[column], arguments[i + 2]);
    }
    rows_.add(label(arguments[1]), features_);
  }

  void finish(sqlite::Call& call) {
    if (rows_.label.empty()) throw sqlite::Error("no rows to train on");
    text::Budget budget(call.connection().pulse());
    Progress progress;
    call.result().set_json(model::train(rows_, params_, budget, [&](int done, int rounds) {
      progress.show("train_confirm: round " + std::to_string(done) + " of " + std::to_string(rounds));
    }));
  }

 private:
  void read_params(sqlite::Value value) {
    if (!value.is_text()) throw sqlite::Error("params must be a JSON object, got " + sqlite::quoted(value));
    if (params_text_.empty()) {
      params_ = model::parse_params(value.text());
      params_text_ = value.text();
      rows_.width = params_.features.size();
      features_.resize(rows_.width);
    } else if (value.text() != params_text_) {
      throw sqlite::Error("params must be the same in every row");
    }
  }

  static double label(sqlite::Value value) {
    if (value.is_null()) throw sqlite::Error("label is NULL: leave such rows out");
    if (!value.is_number()) throw sqlite::Error("label must be a number, got " + sqlite::quoted(value));
    return value.real();
  }

  static double feature(const std::string& name, sqlite::Value value) {
    if (value.is_null()) return std::nan("");
    if (!value.is_number()) {
      throw sqlite::Error("feature " + name + " must be a number or NULL, got " + sqlite::quoted(value));
    }
    return value.real();
  }

  std::string params_text_;
  model::TrainParams params_;
  model::TrainingRows rows_;
  std::vector<double> features_;  // of the row in hand
};

}  // namespace

sqlite::Function train_confirm() {
  return sqlite::aggregate<TrainConfirm>();
}

}  // namespace rpcroute::functions
