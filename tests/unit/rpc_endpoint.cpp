#include <catch2/catch.hpp>
#include <map>

#include "rpc/endpoint.hpp"

using namespace rpcroute::rpc;

namespace {

const std::map<std::string, std::string> variables = {{"RPCROUTE_A", "k3y-value"},
                                                      {"RPCROUTE_HOST", "secret.example"},
                                                      {"RPCROUTE_URL", "https://hidden.example/path-of-mine"},
                                                      {"RPCROUTE_BREAK", "a\r\nX: y"},
                                                      {"RPCROUTE_NESTED", "${RPCROUTE_A}"},
                                                      {"RPCROUTE_EMPTY", ""},
                                                      {"RPCROUTE_KEY", "0xprivate"},
                                                      {"RPCROUTE_KEY_2", "0xprivate2"},
                                                      {"HOME", "/root"}};

std::optional<std::string> variable(const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::nullopt : std::optional(found->second);
}

std::variant<Endpoint, Failure> resolve(const std::string& url, const std::string& headers = "",
                                        Transport transport = Transport::http) {
  Provider provider;
  provider.provider_id = "a";
  (transport == Transport::http ? provider.url : provider.ws_url) = url;
  provider.headers = headers;
  return resolve_endpoint(provider, transport, variable);
}

Endpoint good(const std::string& url, const std::string& headers = "") {
  auto result = resolve(url, headers);
  INFO(url);
  REQUIRE(std::holds_alternative<Endpoint>(result));
  return std::get<Endpoint>(result);
}

std::string complaint(const std::string& url, const std::string& headers = "", Transport transport = Transport::http) {
  const auto result = resolve(url, headers, transport);
  INFO(url);
  REQUIRE(std::holds_alternative<Failure>(result));
  const Failure& failure = std::get<Failure>(result);
  CHECK(failure.error_class == ErrorClass::config);
  return failure.message;
}

}  // namespace

TEST_CASE("A URL without variables is shown without its path, and asked as it is") {
  const Endpoint endpoint = good("http://127.0.0.1:8545/v3/abc?x=1#f");
  CHECK(endpoint.url == "http://127.0.0.1:8545/v3/abc?x=1#f");
  CHECK(endpoint.shown == "http://127.0.0.1:8545/…");
  CHECK(endpoint.host == "127.0.0.1");
  CHECK(endpoint.port == "8545");
  CHECK(endpoint.target == "/v3/abc?x=1");
  CHECK_FALSE(endpoint.secure);
}

TEST_CASE("A variable in the path is filled in, and one in the host hides the host") {
  CHECK(good("https://h.example/${RPCROUTE_A}").url == "https://h.example/k3y-value");
  CHECK(good("https://h.example/${RPCROUTE_A}").shown == "https://h.example/…");
  CHECK(good("https://x.${RPCROUTE_HOST}/y").shown == "https://…");
  CHECK(good("${RPCROUTE_URL}").url == "https://hidden.example/path-of-mine");
  CHECK(good("${RPCROUTE_URL}").shown == "https://…");
}

TEST_CASE("What a variable holds is not expanded again") {
  CHECK(good("http://h/${RPCROUTE_NESTED}").url == "http://h/${RPCROUTE_A}");
}

TEST_CASE("Only variables of ours are read, and never a signing key") {
  CHECK(complaint("http://h/${HOME}") == "url: variable HOME is not read: only RPCROUTE_… are");
  CHECK(complaint("http://h/${RPCROUTE_KEY}") == "url: variable RPCROUTE_KEY is a signing key and never expanded");
  CHECK(complaint("http://h/${RPCROUTE_KEY_2}") == "url: variable RPCROUTE_KEY_2 is a signing key and never expanded");
  CHECK(complaint("http://h/${RPCROUTE_MISSING}") == "url: environment variable RPCROUTE_MISSING is not set");
  CHECK(complaint("http://h/${RPCROUTE_EMPTY}") == "url: environment variable RPCROUTE_EMPTY is not set");
  CHECK(complaint("http://h/${RPCROUTE_A") == "url: '${' without '}'");
  CHECK(complaint("http://h/", R"({"X":"${RPCROUTE_KEY}"})") ==
        "variable RPCROUTE_KEY is a signing key and never expanded");
}

TEST_CASE("A URL that cannot be asked safely is a config error that does not repeat it") {
  const auto [url, message] = GENERATE(table<std::string, std::string>({
      {"", "url: is missing"},
      {"not a url", "url: holds a space"},
      {"no-url", "url: must begin with http:// or https://"},
      {"file:///etc/passwd", "url: must begin with http:// or https://"},
      {"ws://h/", "url: must begin with http:// or https://"},
      {"http://user:pw@h/", "url: holds a user name or password; use a header with ${RPCROUTE_…}"},
      {"http://@h/", "url: holds a user name or password; use a header with ${RPCROUTE_…}"},
      {"http://h/a\r\nX: y", "url: holds a control character"},
      {"http://h/${RPCROUTE_BREAK}", "url: holds a control character"},
      {std::string("http://h/\0x", 11), "url: holds a NUL character"},
      {"http://h\\@g/", "url: holds a backslash"},
      {"http://h:99999/", "url: port number was not a decimal number between 0 and 65535"},
      {"http://", "url: no host part in the url"},
  }));
  CHECK(complaint(url) == message);
}

TEST_CASE("A WebSocket URL is checked alike") {
  CHECK(std::holds_alternative<Endpoint>(resolve("wss://h.example:1/x", "", Transport::websocket)));
  CHECK(complaint("http://h/", "", Transport::websocket) == "ws_url: must begin with ws:// or wss://");
  CHECK(complaint("", "", Transport::websocket) == "ws_url: is missing");
}

TEST_CASE("Headers become lines, with variables filled in") {
  CHECK(good("http://h/", R"({"X-Key":"Bearer ${RPCROUTE_A}","Empty":""})").headers ==
        std::vector<std::string>{"X-Key: Bearer k3y-value", "Empty;"});
}

TEST_CASE("A header that could smuggle another one is a config error") {
  CHECK(complaint("http://h/", R"({"X":"a\nY: b"})") == "header 'X' holds a line break or another control character");
  CHECK(complaint("http://h/", R"({"X":"${RPCROUTE_BREAK}"})") ==
        "header 'X' holds a line break or another control character");
  CHECK(complaint("http://h/", R"({"X: y":"a"})") == "header 'X: y' has a name that HTTP does not allow");
  CHECK(complaint("http://h/", R"({"Transfer-Encoding":"chunked"})") ==
        "header 'Transfer-Encoding' is not the provider's to set");
  CHECK(complaint("http://h/", R"({"X":1})") == "header 'X' must be a text");
  CHECK(complaint("http://h/", "[]") == "headers must be a JSON object");
  CHECK(complaint("http://h/", "{") == "headers must be a JSON object");
}

TEST_CASE("A row that is unusable says why, and nothing of it is expanded") {
  Provider provider;
  provider.url = "http://h/${RPCROUTE_A}";
  provider.config_error = "chain 'x' is not in rpc_chains";
  const auto result = resolve_endpoint(provider, Transport::http, [](const std::string&) -> std::optional<std::string> {
    throw std::logic_error("a variable was read");
  });
  CHECK(std::get<Failure>(result).message == "chain 'x' is not in rpc_chains");
}

TEST_CASE("Secrets leave every message, in any case and encoding") {
  const Endpoint endpoint =
      good("http://h/v2/abcdef0123/p%2Fq?api-key=zyxwvu", R"({"Authorization":"Bearer t0ken42"})");
  const auto shown = [&](std::string_view text) { return redact(text, endpoint); };
  CHECK(shown("bad key ABCDEF0123.") == "bad key ***.");
  CHECK(shown("GET /v2/abcdef0123/p%2Fq?api-key=zyxwvu") == "GET ***?***");
  CHECK(shown("zyxwvu and t0ken42 and v2") == "*** and *** and v2");
  CHECK(shown("/v2/abcdef0123/p/q") == "***");
}
