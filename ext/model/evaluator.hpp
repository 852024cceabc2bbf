// A model that is ready to predict.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/forest.hpp"

namespace rpcroute::model {

/// One way to compute a forest's output. Immutable, thread-safe.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  /// The output, link included. As many features as the forest has; NaN is missing, infinities are allowed.
  virtual float predict(std::span<const double> features) const = 0;
  /// Of one prediction, as a budget counts.
  virtual std::size_t steps() const = 0;
  /// "grid", "bitmask" or "forest".
  virtual std::string_view kind() const = 0;
  /// Grid: cells. Bit masks: tables, one per feature that is split on. Forest: nodes.
  virtual std::size_t parts() const = 0;
  virtual std::size_t bytes() const = 0;
};

/// The fastest way that fits: a grid for up to two features, bit masks for trees of up to 64 leaves, else the forest.
std::unique_ptr<const Evaluator> choose_evaluator(const Forest& forest, text::Budget& budget);

/// What model_info() tells.
struct ModelInfo {
  std::string objective;
  std::size_t rounds;
  std::size_t trees;
  std::optional<std::int64_t> best_iteration;  ///< of early stopping, from 0; all rounds count all the same
  std::vector<std::string> features;
  std::string written_by;       ///< version of XGBoost, "3.4.1"
  std::string_view evaluator;   ///< Evaluator::kind()
  std::size_t parts;            ///< Evaluator::parts()
  std::size_t evaluator_bytes;  ///< Evaluator::bytes()
  std::size_t content_bytes;    ///< of the file
  bool checked;                 ///< held against libxgboost; false where that is not installed
};

/// A compiled model. Immutable and thread-safe; share it.
class Model {
 public:
  /// Reads, checks and compiles a model file, within limits::model() if `budget` has those. Where libxgboost is
  /// present, the result is held against it first. Throws ModelError, for what is beyond the budget too.
  static std::shared_ptr<const Model> compile(std::span<const std::byte> content, text::Budget& budget);

  /// The output of XGBoost for one row, bit for bit. Features are in the model's order; NaN is missing. Each is rounded
  /// to float32 first, as XGBoost does; a finite double beyond float32's range thereby becomes infinite and falls into
  /// the outermost cell. Throws std::invalid_argument, listing the features, when their number is wrong.
  float predict(std::span<const double> features, text::Budget& budget) const {
    require_width(features.size());
    budget.steps(evaluator_->steps());
    return evaluator_->predict(features);
  }

  void require_width(std::size_t features) const {
    if (features != forest_.num_feature) refuse_width(features);
  }

  const Forest& forest() const { return forest_; }
  const std::vector<std::string>& feature_names() const { return forest_.feature_names; }
  ModelInfo info() const;

 private:
  Model(Forest forest, std::size_t content_bytes, text::Budget& budget);
  [[noreturn]] void refuse_width(std::size_t given) const;

  Forest forest_;
  std::unique_ptr<const Evaluator> evaluator_;
  std::size_t content_bytes_;
  bool checked_;
};

}  // namespace rpcroute::model
