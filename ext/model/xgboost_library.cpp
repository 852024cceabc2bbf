#include "model/xgboost_library.hpp"

#include <dlfcn.h>

#include <cstdint>

#include "model/error.hpp"

namespace rpcroute::model {
namespace {

constexpr const char* absent = "XGBoost is not installed (Debian: apt install libxgboost0): ";

template <class Function>
void bind(void* library, const char* name, Function& function) {
  void* const symbol = dlsym(library, name);
  if (!symbol) throw LibraryError(std::string("libxgboost lacks ") + name + ": 1.6 or later is needed");
  function = reinterpret_cast<Function>(symbol);
}

void* open_library() {
  for (const char* name : {"libxgboost.so.0", "libxgboost.so"}) {
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  const char* const reason = dlerror();
  throw LibraryError(absent + std::string(reason ? reason : "libxgboost.so was not found"));
}

XgboostLibrary open() {
  void* const library = open_library();
  XgboostLibrary api{};
  bind(library, "XGBoostVersion", api.version);
  bind(library, "XGBGetLastError", api.last_error);
  bind(library, "XGBGetGlobalConfig", api.get_config);
  bind(library, "XGBSetGlobalConfig", api.set_config);
  bind(library, "XGDMatrixCreateFromDense", api.matrix_create);
  bind(library, "XGDMatrixSetFloatInfo", api.matrix_set_float);
  bind(library, "XGDMatrixFree", api.matrix_free);
  bind(library, "XGBoosterCreate", api.booster_create);
  bind(library, "XGBoosterFree", api.booster_free);
  bind(library, "XGBoosterSetParam", api.booster_set_param);
  bind(library, "XGBoosterSetStrFeatureInfo", api.booster_set_feature_info);
  bind(library, "XGBoosterUpdateOneIter", api.booster_update);
  bind(library, "XGBoosterLoadModelFromBuffer", api.booster_load);
  bind(library, "XGBoosterSaveModelToBuffer", api.booster_save);
  bind(library, "XGBoosterPredictFromDense", api.booster_predict_dense);
  bind(library, "XGBoosterPredictFromDMatrix", api.booster_predict_matrix);
  bind(library, "XGBoosterFeatureScore", api.booster_score);
  bind(library, "omp_set_num_threads", api.omp_set_threads);
  bind(library, "omp_get_max_threads", api.omp_max_threads);
  return api;
}

/// NumPy's array interface over rows of float32.
std::string array_interface(std::span<const float> values, std::size_t width) {
  return "{\"data\":[" + std::to_string(reinterpret_cast<std::uintptr_t>(values.data())) + ",true],\"shape\":[" +
         std::to_string(values.size() / width) + "," + std::to_string(width) + "],\"typestr\":\"<f4\",\"version\":3}";
}

std::string prediction_config(int type) {
  return "{\"type\":" + std::to_string(type) +
         ",\"training\":false,\"iteration_begin\":0,\"iteration_end\":0,\"strict_shape\":false,\"missing\":NaN,"
         "\"cache_id\":0}";
}

std::vector<float> copy_result(const bst_ulong* shape, bst_ulong dimensions, const float* values) {
  std::size_t size = 1;
  for (bst_ulong i = 0; i < dimensions; ++i) size *= shape[i];
  return {values, values + size};  // the library reuses the buffer in its next call
}

constexpr int output_type = 0;
constexpr int margin_type = 1;
constexpr int contribution_type = 2;

}  // namespace

const XgboostLibrary& XgboostLibrary::get() {
  // A failure is not remembered: installing the library helps a long-lived connection at once.
  static const XgboostLibrary library = open();
  return library;
}

bool XgboostLibrary::available() {
  return !version_text().empty();
}

std::string XgboostLibrary::version_text() {
  try {
    int major = 0;
    int minor = 0;
    int patch = 0;
    get().version(&major, &minor, &patch);
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  } catch (const LibraryError&) {
    return "";
  }
}

void XgboostLibrary::check(int status) const {
  if (status != 0) throw LibraryError("XGBoost: " + clean_message(last_error()));
}

std::string clean_message(std::string_view message) {
  if (message.starts_with('[')) {  // "[12:34:56] path/file.cc:123: text"
    const auto stamp = message.find("] ");
    if (stamp != message.npos) message.remove_prefix(stamp + 2);
  }
  const auto position = message.find(": ");  // "path/file.cc:123"
  const auto line_number = message.substr(0, position).rfind(':');
  const bool is_position =
      position != message.npos && line_number != message.npos &&
      message.substr(line_number + 1, position - line_number - 1).find_first_not_of("0123456789") == message.npos;
  if (is_position) message.remove_prefix(position + 2);
  if (message.starts_with("Check failed: ")) {  // "Check failed: condition (a vs. b) : text"
    const auto text = message.find(": ", std::string_view("Check failed: ").size());
    if (text != message.npos && text + 2 < message.find('\n')) message.remove_prefix(text + 2);
  }
  message = message.substr(0, message.find("Stack trace"));
  std::string line(message);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  const auto last = line.find_last_not_of(' ');
  line.erase(last == line.npos ? 0 : last + 1);
  if (line.size() > 200) line.resize(200);  // some messages quote the whole model
  return line.empty() ? "an error without a message" : line;
}

void quiet_this_thread() {
  const auto& library = XgboostLibrary::get();
  library.check(library.set_config("{\"verbosity\": 0}"));
  library.omp_set_threads(1);
}

QuietScope::QuietScope() : library_(XgboostLibrary::get()), threads_(library_.omp_max_threads()) {
  const char* config = nullptr;
  library_.check(library_.get_config(&config));
  config_ = config;
  quiet_this_thread();
}

QuietScope::~QuietScope() {
  library_.omp_set_threads(threads_);
  library_.set_config(config_.c_str());
}

Matrix::Matrix(std::span<const float> rows, std::size_t width, int threads) {
  const auto& library = XgboostLibrary::get();
  const std::string config = "{\"missing\":NaN,\"nthread\":" + std::to_string(threads) + "}";
  DMatrixHandle handle = nullptr;
  library.check(library.matrix_create(array_interface(rows, width).c_str(), config.c_str(), &handle));
  handle_.reset(handle);
}

void Matrix::set_label(std::span<const float> labels) {
  const auto& library = XgboostLibrary::get();
  library.check(library.matrix_set_float(handle_.get(), "label", labels.data(), labels.size()));
}

Booster Booster::load(std::string_view model) {
  const auto& library = XgboostLibrary::get();
  BoosterHandle handle = nullptr;
  library.check(library.booster_create(nullptr, 0, &handle));
  Booster booster(handle);
  library.check(library.booster_load(handle, model.data(), model.size()));
  booster.set("nthread", "1");  // loading resets it, so it comes last
  return booster;
}

Booster::Booster(const Matrix& training_rows) {
  const auto& library = XgboostLibrary::get();
  DMatrixHandle rows = training_rows.handle();
  BoosterHandle handle = nullptr;
  library.check(library.booster_create(&rows, 1, &handle));
  handle_.reset(handle);
}

void Booster::set(const std::string& parameter, const std::string& value) {
  const auto& library = XgboostLibrary::get();
  library.check(library.booster_set_param(handle_.get(), parameter.c_str(), value.c_str()));
}

void Booster::set_feature_names(const std::vector<std::string>& names) {
  const auto& library = XgboostLibrary::get();
  std::vector<const char*> pointers;
  for (const std::string& name : names) pointers.push_back(name.c_str());
  library.check(library.booster_set_feature_info(handle_.get(), "feature_name", pointers.data(), pointers.size()));
}

void Booster::update(int iteration, const Matrix& training_rows) {
  const auto& library = XgboostLibrary::get();
  library.check(library.booster_update(handle_.get(), iteration, training_rows.handle()));
}

std::string Booster::save_json() {
  const auto& library = XgboostLibrary::get();
  bst_ulong size = 0;
  const char* bytes = nullptr;
  library.check(library.booster_save(handle_.get(), "{\"format\": \"json\"}", &size, &bytes));
  return {bytes, size};
}

std::vector<float> Booster::predict(std::span<const float> rows, std::size_t width, bool margin) {
  const auto& library = XgboostLibrary::get();
  const bst_ulong* shape = nullptr;
  bst_ulong dimensions = 0;
  const float* values = nullptr;
  library.check(library.booster_predict_dense(handle_.get(), array_interface(rows, width).c_str(),
                                              prediction_config(margin ? margin_type : output_type).c_str(), nullptr,
                                              &shape, &dimensions, &values));
  return copy_result(shape, dimensions, values);
}

std::vector<std::pair<std::string, float>> Booster::scores(const std::string& type) {
  const auto& library = XgboostLibrary::get();
  const std::string config = "{\"importance_type\": \"" + type + "\"}";
  bst_ulong count = 0;
  const char** names = nullptr;
  bst_ulong dimensions = 0;
  const bst_ulong* shape = nullptr;
  const float* values = nullptr;
  library.check(library.booster_score(handle_.get(), config.c_str(), &count, &names, &dimensions, &shape, &values));
  std::vector<std::pair<std::string, float>> result;
  for (bst_ulong i = 0; i < count; ++i) result.emplace_back(names[i], values[i]);
  return result;
}

std::vector<float> Booster::contributions(std::span<const float> rows, std::size_t width) {
  const auto& library = XgboostLibrary::get();
  const Matrix matrix(rows, width);
  const bst_ulong* shape = nullptr;
  bst_ulong dimensions = 0;
  const float* values = nullptr;
  library.check(library.booster_predict_matrix(
      handle_.get(), matrix.handle(), prediction_config(contribution_type).c_str(), &shape, &dimensions, &values));
  return copy_result(shape, dimensions, values);
}

}  // namespace rpcroute::model
