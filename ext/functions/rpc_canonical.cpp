// rpc_canonical(), rpc_digest(), rpc_diff(): comparing what different nodes answered.
#include "functions/functions.hpp"
#include "rpc/canonical.hpp"

namespace rpcroute::functions {
namespace {

/// The text of argument `index`; nullopt for NULL. Throws sqlite::Error for other types.
std::optional<std::string_view> text_argument(sqlite::Arguments arguments, int index, const char* name) {
  const sqlite::Value value = arguments[index];
  if (value.is_null()) return std::nullopt;
  if (value.is_blob()) throw sqlite::Error(std::string(name) + " must be text, got a BLOB");
  return value.text();
}

/// The optional last argument: which method's answer it is; "" when it is not said.
std::string method_argument(sqlite::Arguments arguments, int index) {
  if (index >= arguments.size()) return {};
  return std::string(text_argument(arguments, index, "method").value_or(""));
}

struct RpcCanonical {
  static sqlite::FunctionSpec spec() {
    return {.name = "rpc_canonical",
            .arities = {1, 2},
            .deterministic = true,
            .returns_json = true,
            .doc = {"rpc_canonical(json [, method])",
                    "One text for all encodings of the same JSON-RPC result (or whole response): member order, blanks, "
                    "hex case of data and padding of quantities do not matter, nor fields that nodes may legitimately "
                    "differ in. NULL for NULL.",
                    "SELECT rpc_canonical('{\"status\":\"0x01\",\"transactionHash\":\"0xAB\"}', "
                    "'eth_getTransactionReceipt')"}};
  }
  static void call(sqlite::Call& call, sqlite::Arguments arguments) {
    if (const auto json = text_argument(arguments, 0, "json")) {
      call.result().set_json(rpc::canonical(*json, method_argument(arguments, 1), call.connection().pulse()));
    }
  }
};

struct RpcDigest {
  static sqlite::FunctionSpec spec() {
    return {.name = "rpc_digest",
            .arities = {1, 2},
            .deterministic = true,
            .doc = {"rpc_digest(json [, method])", "SHA-256 of rpc_canonical(), in hex. NULL for NULL.",
                    "SELECT rpc_digest('\"0x01\"', 'eth_blockNumber') = rpc_digest('\"0x1\"', 'eth_blockNumber')"}};
  }
  static void call(sqlite::Call& call, sqlite::Arguments arguments) {
    if (const auto json = text_argument(arguments, 0, "json")) {
      call.result().set(rpc::canonical_digest(*json, method_argument(arguments, 1), call.connection().pulse()));
    }
  }
};

struct RpcDiff {
  static sqlite::FunctionSpec spec() {
    return {.name = "rpc_diff",
            .arities = {2, 3},
            .deterministic = true,
            .returns_json = true,
            .doc = {"rpc_diff(a, b [, method])",
                    "JSON array of the paths at which two answers differ in their canonical form; [] when they agree. "
                    "NULL when either is NULL.",
                    "SELECT rpc_diff('{\"number\":\"0x1\"}', '{\"number\":\"0x2\"}')"}};
  }
  static void call(sqlite::Call& call, sqlite::Arguments arguments) {
    const auto a = text_argument(arguments, 0, "a");
    const auto b = text_argument(arguments, 1, "b");
    if (!a || !b) return;
    call.result().set_json(rpc::canonical_diff(*a, *b, method_argument(arguments, 2), call.connection().pulse()));
  }
};

}  // namespace

sqlite::Function rpc_canonical() {
  return sqlite::scalar<RpcCanonical>();
}
sqlite::Function rpc_digest() {
  return sqlite::scalar<RpcDigest>();
}
sqlite::Function rpc_diff() {
  return sqlite::scalar<RpcDiff>();
}

}  // namespace rpcroute::functions
