#include "model/xgboost_library.hpp"

#include <dlfcn.h>

#include <new>

#include "model/error.hpp"
#include "text/words.hpp"

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
  throw LibraryError(absent + text::loader_words());
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
  bind(library, "XGProxyDMatrixCreate", api.proxy_create);
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
  if (status == 0) return;
  const std::string message = clean_message(last_error());
  if (message == std::bad_alloc().what()) throw std::bad_alloc();
  throw LibraryError("XGBoost: " + message);
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

}  // namespace rpcroute::model
