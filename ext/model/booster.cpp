#include "model/booster.hpp"

#include <cstdint>

namespace rpcroute::model {
namespace {

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

std::vector<float> Booster::predict(std::span<const float> rows, std::size_t width, bool margin,
                                    std::span<const float> base_margins) {
  const auto& library = XgboostLibrary::get();
  const auto free = [&](void* handle) { library.matrix_free(handle); };
  std::unique_ptr<void, decltype(free)> information(nullptr, free);
  if (!base_margins.empty()) {
    DMatrixHandle proxy = nullptr;
    library.check(library.proxy_create(&proxy));
    information.reset(proxy);
    library.check(library.matrix_set_float(proxy, "base_margin", base_margins.data(), base_margins.size()));
  }
  const bst_ulong* shape = nullptr;
  bst_ulong dimensions = 0;
  const float* values = nullptr;
  library.check(library.booster_predict_dense(handle_.get(), array_interface(rows, width).c_str(),
                                              prediction_config(margin ? margin_type : output_type).c_str(),
                                              information.get(), &shape, &dimensions, &values));
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
