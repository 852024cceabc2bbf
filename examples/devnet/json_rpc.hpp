// JSON-RPC 2.0: requests, results and their envelopes.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "json.hpp"
#include "node.hpp"

namespace rpcroute::devnet {

/// One call as a method sees it.
struct MethodCall {
  Node& node;
  std::uint64_t view;  ///< height at which the call finds the node
  std::string_view method;
  const Json& params;  ///< an array

  /// The parameter, or null when there are fewer.
  const Json& param(rapidjson::SizeType index) const;
};

struct MethodResult {
  std::string json;  ///< of the result, or of the error object
  bool is_error = false;

  /// A height as an answer carries it.
  struct Height {
    std::uint64_t view;                     ///< the provider's
    std::uint64_t head;                     ///< the chain's at that moment, counted alike
    std::optional<std::uint64_t> reported;  ///< what the answer says
  };
  std::optional<Height> height;
};

MethodResult result(std::string json);
MethodResult text_result(std::string_view text);
MethodResult error(std::int64_t code, std::string_view message, std::string_view data_json = {});
MethodResult error(const Rejection& rejection);

/// -32602
MethodResult invalid_params(std::string_view message);

/// The response object. `id` is JSON text.
std::string envelope(std::string_view id, const MethodResult& result);

MethodResult call_evm(const MethodCall& call);
MethodResult call_solana(const MethodCall& call);

}  // namespace rpcroute::devnet
