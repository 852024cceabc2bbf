// XGBoost's data matrix and booster behind RAII. Every call throws LibraryError when the library refuses.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/xgboost_library.hpp"

namespace rpcroute::model {

/// Rows of float32, row-major, NaN for missing; infinities are refused by XGBoost. At least one row.
class Matrix {
 public:
  Matrix(std::span<const float> rows, std::size_t width, int threads = 1);
  void set_label(std::span<const float> labels);
  DMatrixHandle handle() const { return handle_.get(); }

 private:
  struct Free {
    void operator()(void* handle) const { XgboostLibrary::get().matrix_free(handle); }
  };
  std::unique_ptr<void, Free> handle_;
};

/// A booster. Not thread-safe.
class Booster {
 public:
  /// From a model that read_model() has accepted and rewrite_for_library() has written.
  static Booster load(std::string_view model);
  explicit Booster(const Matrix& training_rows);

  void set(const std::string& parameter, const std::string& value);
  void set_feature_names(const std::vector<std::string>& names);
  void update(int iteration, const Matrix& training_rows);
  std::string save_json();

  /// Outputs (or margins), one a row, from the margins that the rows already have, if any. At least one row.
  std::vector<float> predict(std::span<const float> rows, std::size_t width, bool margin = false,
                             std::span<const float> base_margins = {});
  /// XGBoost's get_score(): "gain", "weight", "cover", "total_gain", … of the features that are split on, by the names
  /// that the file holds.
  std::vector<std::pair<std::string, float>> scores(const std::string& type);
  /// Exact TreeSHAP: for each row `width` contributions and the bias.
  std::vector<float> contributions(std::span<const float> rows, std::size_t width);

 private:
  explicit Booster(BoosterHandle handle) : handle_(handle) {}
  struct Free {
    void operator()(void* handle) const { XgboostLibrary::get().booster_free(handle); }
  };
  std::unique_ptr<void, Free> handle_;
};

}  // namespace rpcroute::model
