// The arguments ([model,] feature1, …) that predictions and their explanations share.
#pragma once

#include <cmath>
#include <limits>
#include <span>

#include "functions/model_argument.hpp"

namespace rpcroute::functions {

/// The model and its features, read from one call: as many as the host passes, 127 arguments up to SQLite 3.47, 1,000
/// in newer ones. Throws sqlite::Error for a missing model, a wrong number of features (listing them), or one that is
/// neither a finite number nor NULL. One at a time in an execution, whose memory holds the features.
class PredictionArguments {
 public:
  PredictionArguments(sqlite::Call& call, sqlite::Arguments arguments) {
    if (arguments.size() == 0) throw sqlite::Error("needs a model or a feature");
    const sqlite::Value first = arguments[0];
    if (first.is_null()) return;
    auto& lookup = call.per_execution<ModelLookup>();
    const int taken = first.is_number() ? 0 : 1;
    model_ = taken == 0 ? &lookup.active(call.connection()) : &lookup.named(call.connection(), first);
    const auto count = static_cast<std::size_t>(arguments.size() - taken);
    (*model_)->require_width(count);
    lookup.row.resize(count);
    features_ = lookup.row;
    budget_ = &lookup.budget(call.connection());
    complete_ = read(arguments, taken);
  }

  /// False when the model or a feature is NULL: the answer is NULL.
  bool complete() const { return complete_; }
  const ModelPointer& model() const { return *model_; }
  std::span<const double> features() const { return features_; }
  text::Budget& budget() const { return *budget_; }

 private:
  bool read(sqlite::Arguments arguments, int taken) {
    for (std::size_t i = 0; i < features_.size(); ++i) {
      const sqlite::Value value = arguments[taken + static_cast<int>(i)];
      const int type = value.type();
      if (type == SQLITE_NULL) return false;
      features_[i] = value.real();
      if ((type != SQLITE_FLOAT && type != SQLITE_INTEGER) || !(std::abs(features_[i]) <= kMostFinite)) {
        throw sqlite::Error("feature " + (*model_)->feature_names()[i] + " must be a finite number, got " +
                            sqlite::quoted(value));
      }
    }
    return true;
  }

  static constexpr double kMostFinite = std::numeric_limits<double>::max();

  const ModelPointer* model_ = nullptr;
  text::Budget* budget_ = nullptr;
  std::span<double> features_;
  bool complete_ = false;
};

}  // namespace rpcroute::functions
