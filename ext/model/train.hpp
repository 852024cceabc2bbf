// Training from rows in any order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/limits.hpp"
#include "text/budget.hpp"

namespace rpcroute::model {

/// What to train with, parsed and in range.
struct TrainParams {
  std::vector<std::string> features;  ///< names, in the order of the columns
  std::string objective = "reg:squarederror";
  int rounds = 100;
  int threads = 1;
  std::optional<double> base_score;                   ///< absent: taken from the labels, see train()
  std::uint64_t most_bytes = limits::model(0).bytes;  ///< of the model: what can be read
  /// Everything else under XGBoost's own names, ready for the library.
  std::vector<std::pair<std::string, std::string>> settings;
};

/// Reads the JSON object that train_confirm takes: XGBoost's parameter names and their usual aliases, `features` (array
/// of names, required), `num_round` (alias `n_estimators`, 100) and `seed`. What is left out has XGBoost's default,
/// except that tree_method is pinned to hist, because its default changed in XGBoost 2.0. Throws std::invalid_argument
/// naming the parameter, what is accepted and what was given; an unknown parameter is an error.
TrainParams parse_params(std::string_view json);

/// Training rows as float32, row-major. A missing feature is NaN.
struct TrainingRows {
  std::size_t width = 0;
  std::vector<float> label;
  std::vector<float> features;

  /// Appends a row. Throws std::invalid_argument for a label that is not finite and for an infinite feature, in float32
  /// as well. `features.size()` must be `width`.
  void add(double label_value, std::span<const double> feature_values);
};

/// Called on the caller's thread between rounds.
using TrainProgress = std::function<void(int done, int rounds)>;

/// Trains and returns the model as JSON text with feature names. The same rows in any order give the same bytes (with
/// the same libxgboost): they are put into one order first, since hist depends on it. An absent base_score is the mean
/// of the labels (of reg:absoluteerror their median, of the logistic objectives their mean kept within 1e-6 of 0 and
/// 1), because XGBoost's default changed in 2.0. XGBoost works on a thread of its own, so that nothing of OpenMP stays
/// behind on the caller's; a round that is interrupted ends there unseen. Throws std::invalid_argument (no rows, labels
/// outside the objective's range, parameters that ask for more memory than limits.hpp allows, a model too large to be
/// read), LibraryError, and what the budget's pulse throws.
std::string train(const TrainingRows& rows, const TrainParams& params, text::Budget& budget,
                  const TrainProgress& progress = {});

}  // namespace rpcroute::model
