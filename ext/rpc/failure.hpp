// What can go wrong when a provider is asked, as data: a failed observation is a row, never an exception.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rpcroute::rpc {

/// The closed list of `error_class`. `name()` gives the text that stands in the column.
enum class ErrorClass {
  config,        // the provider's own row is unusable: URL, variable, header, chain
  dns,           // the host name did not resolve
  connect,       // refused, reset, closed early
  tls,           // the handshake or the certificate
  timeout,       // no whole answer in time
  http,          // a status outside 2xx without a JSON-RPC body
  rate_limited,  // asked too often, whatever the status says
  auth,          // the key is missing, wrong or not entitled
  malformed,     // not JSON-RPC, another id, a result of the wrong type
  too_large,     // more decompressed bytes than allowed
  rpc,           // a JSON-RPC error object
  // tx_probe only:
  nonce,
  underpriced,
  funds,
  wrong_chain,
  spend_limit,
  mainnet,
  unobserved,  // nobody answered the question for the receipt
};

std::string_view name(ErrorClass error_class);

/// Why an observation failed. `kind` refines the class ("reverted", "missing_data", "billing", …; empty when there is
/// nothing to add). `message` is for people: at most 200 characters, no control characters, no secret, valid UTF-8.
struct Failure {
  ErrorClass error_class;
  std::string kind;
  std::string message;
  std::optional<double> retry_after_sec;  ///< seconds the provider asked us to wait
};

}  // namespace rpcroute::rpc
