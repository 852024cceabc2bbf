// From a provider's templates to something that can be asked, with the secrets it must not tell.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rpc/failure.hpp"
#include "rpc/provider.hpp"
#include "rpc/redact.hpp"

namespace rpcroute::rpc {

/// The value of an environment variable, or nullopt when it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// getenv().
Environment process_environment();

/// Path of a file of certificate authorities to trust instead of the system's, from RPCROUTE_CA_FILE; empty when unset.
std::string certificate_authorities(const Environment& environment);

enum class Transport { http, websocket };

/// An expanded, checked URL with its header lines. Never shown; `shown` is.
struct Endpoint {
  std::string url;
  bool secure = false;               ///< https or wss
  std::string host;                  ///< without the brackets of an IPv6 address, letters beyond ASCII as Punycode
  std::string port;                  ///< decimal, the scheme's default when the URL has none
  std::string target;                ///< path and query
  std::vector<std::string> headers;  ///< "Name: value"
  std::string shown;                 ///< `scheme://host/…`, or `scheme://…` where the host came from a variable
  Secrets secrets;
};

/// Expands and checks the provider's `url` (http, https) or `ws_url` (ws, wss) and its headers. Variables are read only
/// when their names begin with RPCROUTE_ and not with RPCROUTE_KEY, the signer's. Anything wrong is a `config` failure.
std::variant<Endpoint, Failure> resolve_endpoint(const Provider& provider, Transport transport,
                                                 const Environment& environment);

/// `text` without the endpoint's secrets, on one line, at most 200 characters. Every message passes here.
std::string redact(std::string_view text, const Endpoint& endpoint);

}  // namespace rpcroute::rpc
