// libxgboost, opened when it is first needed: training, explaining and the self-check use it, prediction does not.
#pragma once

#include <xgboost/c_api.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rpcroute::model {

/// The functions of the C API that are used. Opened RTLD_LOCAL, so that a second XGBoost in the process (Python's) and
/// this one do not bind to each other's symbols, and never closed: it uses OpenMP.
struct XgboostLibrary {
  decltype(&XGBoostVersion) version;
  decltype(&XGBGetLastError) last_error;
  decltype(&XGBGetGlobalConfig) get_config;
  decltype(&XGBSetGlobalConfig) set_config;
  decltype(&XGDMatrixCreateFromDense) matrix_create;
  decltype(&XGDMatrixSetFloatInfo) matrix_set_float;
  decltype(&XGDMatrixFree) matrix_free;
  decltype(&XGBoosterCreate) booster_create;
  decltype(&XGBoosterFree) booster_free;
  decltype(&XGBoosterSetParam) booster_set_param;
  decltype(&XGBoosterSetStrFeatureInfo) booster_set_feature_info;
  decltype(&XGBoosterUpdateOneIter) booster_update;
  decltype(&XGBoosterLoadModelFromBuffer) booster_load;
  decltype(&XGBoosterSaveModelToBuffer) booster_save;
  decltype(&XGBoosterPredictFromDense) booster_predict_dense;
  decltype(&XGBoosterPredictFromDMatrix) booster_predict_matrix;
  decltype(&XGBoosterFeatureScore) booster_score;
  void (*omp_set_threads)(int);
  int (*omp_max_threads)();

  /// Thread-safe. Throws LibraryError, saying what to install, when there is no usable libxgboost.
  static const XgboostLibrary& get();
  static bool available();
  /// "1.7.4"; empty when it is not available.
  static std::string version_text();

  /// Throws LibraryError with the library's own message, cleaned, when `status` is not 0.
  void check(int status) const;
};

/// An error text of XGBoost on one line: without time stamp, source position, failed condition and stack trace.
std::string clean_message(std::string_view message);

/// Makes XGBoost silent on this thread and keeps OpenMP from starting threads of its own accord: after a parallel
/// region a forked child that loads a model would hang.
void quiet_this_thread();

/// The same while it lives; what the host had set is restored.
class QuietScope {
 public:
  QuietScope();
  ~QuietScope();
  QuietScope(const QuietScope&) = delete;
  QuietScope& operator=(const QuietScope&) = delete;

 private:
  const XgboostLibrary& library_;
  std::string config_;
  int threads_;
};

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

  /// Outputs (or margins), one a row. At least one row.
  std::vector<float> predict(std::span<const float> rows, std::size_t width, bool margin = false);
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
