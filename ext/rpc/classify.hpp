// What a provider's complaint means. Codes collide between clients and chains, so that a rule looks at the chain, the
// method, the HTTP status, the code and the words together.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "rpc/failure.hpp"
#include "rpc/provider.hpp"

namespace rpcroute::rpc {

struct Complaint {
  chain::ChainKind chain = chain::ChainKind::evm;
  std::string_view method;
  std::optional<long> http_status;
  std::optional<std::int64_t> code;  ///< of the JSON-RPC error object
  std::string_view text;             ///< as written: message, data, or the body when it is no JSON-RPC
};

struct Verdict {
  ErrorClass error_class;
  std::string_view kind;  ///< static text
};

/// A JSON-RPC error object's verdict. Where the method sends a transaction, `nonce`, `underpriced`, `funds` and
/// `wrong_chain` take part, and kind `already_known` means that the node has the very transaction: a success.
Verdict classify_error(const Complaint& complaint);

/// The verdict on an answer without a JSON-RPC body: `http` by its status, `malformed` for 2xx, unless status or words
/// say rate limit, billing or key.
Verdict classify_status(const Complaint& complaint);

/// Whether the method hands a transaction to the network.
bool sends_transaction(std::string_view method);

/// Seconds to wait: the larger of a Retry-After header (RFC 9110 section 10.2.3: seconds or a date) and
/// `backoff_seconds`; at least 1, since providers are known to ask for 0. `now` in Unix seconds.
std::optional<double> asked_wait(std::string_view retry_after, std::optional<double> backoff_seconds, double now);

}  // namespace rpcroute::rpc
