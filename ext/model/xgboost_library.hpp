// libxgboost, opened when it is first needed: training, explaining and the self-check use it, prediction does not.
#pragma once

#include <xgboost/c_api.h>

#include <string>
#include <string_view>

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
  decltype(&XGProxyDMatrixCreate) proxy_create;
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

}  // namespace rpcroute::model
