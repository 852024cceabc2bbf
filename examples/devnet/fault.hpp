// What a provider can be told to do wrong.
//
// A fault is a JSON object {"name": …, "methods": […], "probability": p, "count": n, …}: it strikes requests of these
// methods (absent: all that the fault can change) with that probability (1), at most n times (for ever). A provider may
// hold several; the first that strikes a request is the one that shapes its answer.
//
//   before the request is looked at (nothing is processed)
//     refuse               the port is closed and connections end; takes no methods, probability or count
//     reset                RST instead of an answer
//     stall                no byte is answered; the connection stays open
//     429                  status 429 with a JSON-RPC error
//     429_retry_after      the same with "Retry-After: <seconds>" (7)
//     rate_limit_200       status 200 with a JSON-RPC error -32005 that speaks of a rate limit
//     unauthorized         status 401 with a JSON-RPC error
//     html_502             a proxy's error page
//     rpc_error_on_500     a JSON-RPC error as the body of a status 500
//     redirect_file        302 to file:///etc/passwd
//     redirect_host        302 to "location" (http://localhost:9/)
//     respond              "status", "body", "content_type" and "headers" (an object) as given
//     rpc_error            a JSON-RPC error with "code", "message" and "data" as given, status 200
//   after it was processed, the answer is lost
//     reset_after_accept   RST
//     error_after_accept   status 502 without JSON
//     stall_after_accept   no byte is answered
//     duplicate_answer     the request is processed twice and the second answer returned ("already known" to a send)
//   the answer's bytes
//     double_response      the whole HTTP response is written twice
//     drip                 one byte every "interval_ms" (1000)
//     truncate             half of the promised body, then the end
//     wrong_id             the id plus one
//     string_id            the id as a string
//     empty_200            no body
//     invalid_json         the closing brace is missing
//     invalid_utf8         a member more, of bytes that are no characters
//     gzip_bomb            a gzip body of 50 MiB of one digit within valid JSON
//     endless_body         a chunked body of white space without end
//     huge_header          a header line of 1 MiB
//   the result
//     null_result          null
//     stale_nonce          eth_getTransactionCount as it was "behind" (1) transactions ago
//     indexing_in_progress eth_getTransactionReceipt fails with geth's "transaction indexing is in progress"
//     wrong_chain_id       eth_chainId, net_version and getGenesisHash of another chain
//     height_zero          of eth_blockNumber and getSlot: 0
//     height_regress       "by" (5) lower than the provider's view
//     height_other_chain   "by" (30000000) higher
//     empty_quantity       "0x"
//     zero_padded          the true height with leading zeros, "0x00a1"
//     decimal_height       the true height as decimal digits in a string
//     number_height        the true height as a bare JSON number
//     max_uint64           2^64 - 1
//   WebSocket
//     ws_silent            subscriptions are acknowledged and no head ever comes
//     ws_mute              the connection opens and nothing is ever answered
//     ws_close             the connection opens and is closed
//     ws_heads             a head every "interval_ms" (100), whether there is a new one or not
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "json.hpp"

namespace rpcroute::devnet {

enum class FaultKind {
  refuse,
  reset,
  stall,
  status_429,
  status_429_retry_after,
  rate_limit_200,
  unauthorized,
  html_502,
  rpc_error_on_500,
  redirect_file,
  redirect_host,
  respond,
  rpc_error,
  reset_after_accept,
  error_after_accept,
  stall_after_accept,
  duplicate_answer,
  double_response,
  drip,
  truncate,
  wrong_id,
  string_id,
  empty_200,
  invalid_json,
  invalid_utf8,
  gzip_bomb,
  endless_body,
  huge_header,
  null_result,
  stale_nonce,
  indexing_in_progress,
  wrong_chain_id,
  height_zero,
  height_regress,
  height_other_chain,
  empty_quantity,
  zero_padded,
  decimal_height,
  number_height,
  max_uint64,
  ws_silent,
  ws_mute,
  ws_close,
  ws_heads,
};

/// When a fault acts.
enum class FaultStage { listen, before, after, bytes, result, websocket };

struct Fault {
  FaultKind kind;
  std::set<std::string, std::less<>> methods;  ///< empty: all
  double probability = 1;
  std::optional<std::uint64_t> count;  ///< times left
  double interval_ms = 0;
  std::uint64_t amount = 0;  ///< "by", "behind", "seconds"
  int status = 200;
  std::int64_t code = -32000;
  std::string text;  ///< "location", "message", "body"
  std::string content_type = "application/json";
  std::string data;  ///< JSON text of "data"
  std::map<std::string, std::string> headers;
};

FaultStage stage(FaultKind kind);
std::string_view name(FaultKind kind);

/// All names, with commas between.
std::string fault_names();

/// Throws std::invalid_argument that names the fault and what is wrong with it.
Fault parse_fault(const Json& json);

}  // namespace rpcroute::devnet
