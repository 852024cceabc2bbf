#include "rpc/endpoint.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include "rpc/descriptors.hpp"
#include "rpc/template.hpp"
#include "text/ascii.hpp"
#include "text/json.hpp"
#include "text/utf8.hpp"

namespace rpcroute::rpc {
namespace {

using CurlUrl = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

/// Headers that frame the message: a row that sets them could smuggle a second request.
constexpr std::array<std::string_view, 8> framing_headers = {
    "connection", "content-length", "expect", "te", "trailer", "transfer-encoding", "upgrade", "proxy-authorization"};

std::string url_part(const CurlUrl& url, CURLUPart part, unsigned int form = 0) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, CURLU_DEFAULT_PORT | form) != CURLUE_OK) return {};
  std::string result(text);
  curl_free(text);
  return result;
}

#ifdef CURLU_PUNYCODE
constexpr unsigned int punycode = CURLU_PUNYCODE;
#else
constexpr unsigned int punycode = 0;
#endif

/// The characters libcurl would have to repair; some of its repairs differ from other URL parsers' reading.
void check_characters(std::string_view url) {
  for (const char c : url) {
    if (c == '\0') throw ConfigError{"holds a NUL character"};
    if (text::is_control(c)) throw ConfigError{"holds a control character"};
    if (c == ' ') throw ConfigError{"holds a space"};
    if (c == '\\') throw ConfigError{"holds a backslash"};
  }
}

std::string scheme_of(std::string_view url) {
  const std::size_t end = url.find("://");
  return end == std::string_view::npos ? std::string() : text::lower(url.substr(0, end));
}

void check_scheme(std::string_view scheme, Transport transport) {
  const bool http = transport == Transport::http;
  if (scheme == (http ? "http" : "ws") || scheme == (http ? "https" : "wss")) return;
  throw ConfigError{http ? "must begin with http:// or https://" : "must begin with ws:// or wss://"};
}

/// Parsed as http(s), which ws(s) equals in form (RFC 6455 section 3) and libcurl 7.88 does not know.
CurlUrl parsed(std::string_view url, std::string_view scheme) {
  CurlUrl handle(curl_url(), &curl_url_cleanup);
  if (!handle) throw std::bad_alloc();
  const bool secure = scheme == "https" || scheme == "wss";
  const std::string as_http = (secure ? "https" : "http") + std::string(url.substr(scheme.size()));
  const CURLUcode code = curl_url_set(handle.get(), CURLUPART_URL, as_http.c_str(), 0);
  if (code != CURLUE_OK) throw ConfigError{text::lower(curl_url_strerror(code))};
  const bool user_info = !url_part(handle, CURLUPART_USER).empty() || !url_part(handle, CURLUPART_PASSWORD).empty();
  const std::string_view authority =
      url.substr(scheme.size() + 3, url.find_first_of("/?#", scheme.size() + 3) - scheme.size() - 3);
  if (user_info || authority.find('@') != std::string_view::npos) {
    throw ConfigError{"holds a user name or password; use a header with ${RPCROUTE_…}"};
  }
  return handle;
}

void add_url_secrets(const CurlUrl& url, Secrets& secrets) {
  const std::string path = url_part(url, CURLUPART_PATH);
  if (path != "/") {
    secrets.add(path);
    secrets.add_parts(path, "/;,:");
  }
  for (const CURLUPart part : {CURLUPART_QUERY, CURLUPART_FRAGMENT}) {
    const std::string text = url_part(url, part);
    secrets.add(text);
    secrets.add_parts(text, "&=;");
  }
}

void add_filled_secrets(const Expansion& expansion, Secrets& secrets) {
  for (const auto& span : expansion.filled) secrets.add(expansion.text.substr(span.begin, span.end - span.begin));
}

void read_parts(const CurlUrl& url, Endpoint& endpoint) {
  endpoint.secure = url_part(url, CURLUPART_SCHEME) == "https";
  endpoint.host = url_part(url, CURLUPART_HOST, punycode);
  if (endpoint.host.empty()) endpoint.host = url_part(url, CURLUPART_HOST);
  if (endpoint.host.starts_with('[')) endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
  endpoint.port = url_part(url, CURLUPART_PORT);
  const std::string query = url_part(url, CURLUPART_QUERY);
  endpoint.target = url_part(url, CURLUPART_PATH) + (query.empty() ? "" : "?" + query);
}

/// `scheme://host:port/…`, without the host where a variable had a part in it.
std::string shown_url(const Expansion& expansion, std::string_view scheme) {
  const std::string_view url = expansion.text;
  const std::size_t begin = scheme.size() + 3;
  const std::size_t end = std::min(url.find_first_of("/?#", begin), url.size());
  std::string shown = std::string(scheme) + "://";
  if (!expansion.filled_within(begin, end)) shown += text::printable(url.substr(begin, end - begin)) + "/";
  return shown + "…";
}

void resolve_url(std::string_view text, Transport transport, const Environment& environment, Endpoint& endpoint) {
  if (text.empty()) throw ConfigError{"is missing"};
  check_characters(text);
  const Expansion expansion = expand(text, environment);
  add_filled_secrets(expansion, endpoint.secrets);
  check_characters(expansion.text);
  const std::string scheme = scheme_of(expansion.text);
  check_scheme(scheme, transport);
  const CurlUrl url = parsed(expansion.text, scheme);
  add_url_secrets(url, endpoint.secrets);
  read_parts(url, endpoint);
  endpoint.url = expansion.text;
  endpoint.shown = shown_url(expansion, scheme);
}

/// RFC 9110 section 5.6.2.
bool is_token(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    const bool alphanumeric = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    return alphanumeric || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

std::string header_line(std::string_view name, const text::Json& value, const Environment& environment,
                        Secrets& secrets) {
  const std::string shown = "header '" + text::printable(name, 40) + "' ";
  if (!is_token(name)) throw ConfigError{shown + "has a name that HTTP does not allow"};
  const std::string folded = text::lower(name);
  const bool framing = std::find(framing_headers.begin(), framing_headers.end(), folded) != framing_headers.end();
  if (framing || folded.starts_with("sec-websocket-")) throw ConfigError{shown + "is not the provider's to set"};
  if (!value.is_text()) throw ConfigError{shown + "must be a text"};
  const Expansion expansion = expand(value.text(), environment);
  add_filled_secrets(expansion, secrets);
  if (std::any_of(expansion.text.begin(), expansion.text.end(), text::is_control)) {
    throw ConfigError{shown + "holds a line break or another control character"};
  }
  const std::string_view text = text::trimmed(expansion.text);
  secrets.add(text);
  secrets.add_parts(text, " ,;=:");
  return std::string(name) + (text.empty() ? ";" : ": ") + std::string(text);
}

void resolve_headers(std::string_view json, const Environment& environment, Endpoint& endpoint) {
  if (text::trimmed(json).empty()) return;
  const text::JsonTree tree(json);
  if (!tree.root().is_object()) throw ConfigError{"headers must be a JSON object"};
  for (const text::JsonMember& member : tree.root().members()) {
    endpoint.headers.push_back(header_line(member.name, member.value, environment, endpoint.secrets));
  }
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

std::string certificate_authorities(const Environment& environment) {
  return environment("RPCROUTE_CA_FILE").value_or(std::string());
}

std::variant<Endpoint, Failure> resolve_endpoint(const Provider& provider, Transport transport,
                                                 const Environment& environment) {
  Endpoint endpoint;
  const auto config = [&](const std::string& message) {
    return Failure{ErrorClass::config, "", redact(message, endpoint), std::nullopt};
  };
  if (!provider.config_error.empty()) return config(provider.config_error);
  const bool http = transport == Transport::http;
  try {
    resolve_url(http ? provider.url : provider.ws_url, transport, environment, endpoint);
  } catch (const ConfigError& error) {
    return config((http ? "url: " : "ws_url: ") + error.message);
  } catch (const std::runtime_error&) {  // libcurl, which is opened when it is first needed, could not be
    if (!descriptor_is_free()) return descriptor_shortage();
    throw;
  }
  try {
    resolve_headers(provider.headers, environment, endpoint);
  } catch (const ConfigError& error) {
    return config(error.message);
  }
  return endpoint;
}

std::string redact(std::string_view text, const Endpoint& endpoint) {
  return text::printable(endpoint.secrets.scrubbed(text));
}

}  // namespace rpcroute::rpc
