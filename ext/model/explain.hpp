// Why a model predicts what it predicts: a row's contributions, a model's importances.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "model/evaluator.hpp"

namespace rpcroute::model {

class LibraryForest;

/// What each feature moved the margin by, and what it starts from. The parts sum to the margin up to float32 rounding.
struct Contributions {
  std::vector<float> features;  ///< in the model's order
  float bias;                   ///< the mean margin over the training rows
};

/// Exact TreeSHAP (Lundberg et al. 2018) by libxgboost, on the rewritten model, which is loaded once. Thread-safe.
class Explainer {
 public:
  /// Throws ModelError for trees so deep or rows so dear that limits.hpp forbids them, LibraryError when libxgboost is
  /// absent.
  Explainer(std::shared_ptr<const Model> model, text::Budget& budget);
  ~Explainer();

  /// Features as Model::predict() takes them, but finite in float32 or NaN: XGBoost explains no infinities. Throws
  /// std::invalid_argument, LibraryError.
  Contributions explain(std::span<const double> features, text::Budget& budget);

 private:
  std::shared_ptr<const Model> model_;
  std::unique_ptr<LibraryForest> library_;
  std::mutex mutex_;
};

/// One feature's weight in a model, as XGBoost's get_score() defines it.
struct Importance {
  std::string feature;
  float gain = 0;            ///< mean loss reduction of its splits
  std::uint64_t weight = 0;  ///< number of its splits
  float cover = 0;           ///< mean cover of its splits
  float total_gain = 0;      ///< sum of their loss reductions
  double importance = 0;     ///< its share of the gains of all features; sums to 1
};

/// All features in the model's order; one that no tree splits on has zeros. In a forest without splits `importance` is
/// 0 throughout.
std::vector<Importance> importance(const Forest& forest, text::Budget& budget);

}  // namespace rpcroute::model
