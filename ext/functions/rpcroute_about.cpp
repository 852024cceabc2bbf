// rpcroute_version(), rpcroute_debug(): what is loaded; rpcroute_sha256(): the fingerprint of models and evidence.
#include <curl/curl.h>

#include "functions/functions.hpp"
#include "model/xgboost_library.hpp"
#include "rpc/curl_library.hpp"
#include "text/sha256.hpp"

namespace rpcroute::functions {
namespace {

struct Version {
  static sqlite::FunctionSpec spec() {
    return {.name = "rpcroute_version",
            .arities = {0},
            .doc = {"rpcroute_version()", "The version of the extension.", "SELECT rpcroute_version()"}};
  }
  static void call(sqlite::Call& call, sqlite::Arguments) { call.result().set(RPCROUTE_VERSION); }
};

struct Debug {
  static sqlite::FunctionSpec spec() {
    return {
        .name = "rpcroute_debug",
        .arities = {0},
        .doc = {"rpcroute_debug()",
                "One line for a bug report: versions of rpcroute, SQLite, libcurl and XGBoost ('absent' where one of "
                "the two is not installed), and how the extension was built.",
                "SELECT rpcroute_debug()"}};
  }
  static void call(sqlite::Call& call, sqlite::Arguments) {
    const std::string xgboost = model::XgboostLibrary::available() ? model::XgboostLibrary::version_text() : "absent";
    const std::string curl = rpc::curl_is_installed() ? curl_version_info(CURLVERSION_NOW)->version : "absent";
    call.result().set("rpcroute " RPCROUTE_VERSION ", SQLite " + std::string(sqlite3_libversion()) + ", libcurl " +
                      curl + ", XGBoost " + xgboost + ", built by " + "C++ " + std::to_string(__cplusplus / 100) +
                      " compiler " + __VERSION__ + " against SQLite " + SQLITE_VERSION);
  }
};

struct Sha256 {
  static sqlite::FunctionSpec spec() {
    return {.name = "rpcroute_sha256",
            .arities = {1},
            .deterministic = true,
            .doc = {"rpcroute_sha256(x)", "SHA-256 of a text (as UTF-8) or BLOB, in hex; NULL for NULL.",
                    "SELECT rpcroute_sha256('abc')"}};
  }
  static void call(sqlite::Call& call, sqlite::Arguments arguments) {
    const sqlite::Value value = arguments[0];
    if (value.is_null()) return;
    const auto bytes = value.is_blob() ? value.blob() : std::as_bytes(std::span(value.text()));
    call.result().set(text::sha256_hex(bytes));
  }
};

}  // namespace

sqlite::Function rpcroute_version() {
  return sqlite::scalar<Version>();
}
sqlite::Function rpcroute_debug() {
  return sqlite::scalar<Debug>();
}
sqlite::Function rpcroute_sha256() {
  return sqlite::scalar<Sha256>();
}

}  // namespace rpcroute::functions
