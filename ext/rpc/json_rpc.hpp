// JSON-RPC 2.0: one request, one answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "text/budget.hpp"
#include "text/json.hpp"

namespace rpcroute::rpc {

/// `params` is the text of a JSON array or object; std::invalid_argument otherwise.
std::string encode_request(std::uint64_t id, std::string_view method, std::string_view params);

/// The provider answered; `json` is the raw text of `result`, a slice of the body.
struct RpcResult {
  std::string_view json;
};

/// The provider answered with an error object.
struct RpcError {
  std::optional<std::int64_t> code;
  std::string message;                    ///< decoded
  std::string_view data;                  ///< raw JSON of error.data, a slice of the body; empty when absent
  std::string text;                       ///< message and every text inside data, as written: what classify() searches
  std::optional<double> backoff_seconds;  ///< of error.data, however deep
};

/// What an error object says; it may be the bare text of a message.
RpcError read_error(const text::Json& json);

/// The body answers nothing; `problem` says why.
struct NotJsonRpc {
  std::string problem;
};

/// Lenient where the meaning is plain: `jsonrpc` may be missing, id `"7"` answers 7, an error may have a null id or
/// none (a parse error has), `"result": null` beside an error is an error. Everything else is no answer.
std::variant<RpcResult, RpcError, NotJsonRpc> decode_response(std::string_view body, std::uint64_t id,
                                                              const text::Pulse& pulse = {});

}  // namespace rpcroute::rpc
