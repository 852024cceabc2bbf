#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "rpc/client.hpp"
#include "rpc_asking.hpp"
#include "rpc_certificate.hpp"
#include "rpc_server.hpp"
#include "rpc_stream_server.hpp"

using namespace rpcroute::rpc;
using namespace rpcroute::tests;

TEST_CASE("A provider's result comes back as it wrote it, with times") {
  const Answer answer = ask(Server::answers(R"({"a": 18446744073709551617, "b":1.10})"));
  CHECK_FALSE(answer.failure);
  CHECK(answer.result == R"({"a": 18446744073709551617, "b":1.10})");
  CHECK(answer.http_status == 200);
  CHECK(answer.latency_ms.value() > 0);
  CHECK(answer.setup_ms.value() > 0);
  CHECK(answer.total_ms.value() == Approx(*answer.latency_ms + *answer.setup_ms));
  CHECK(answer.started <= answer.finished);
}

TEST_CASE("The second question travels on the first one's connection and says so by a set-up of zero") {
  const Server server(Server::answers("\"0x1\""));
  RpcClient client;
  CHECK(ask(client, call(server.url())).setup_ms.value() > 0);
  CHECK(ask(client, call(server.url())).setup_ms.value() == 0);
  CHECK(server.connections() == 1);
}

TEST_CASE("An answer that is there as soon as the question left still took time") {
  const Server server(Server::answers("\"0x1\""));
  RpcClient client;
  for (int i = 0; i < 200; ++i) CHECK(ask(client, call(server.url())).latency_ms.value() > 0);
}

TEST_CASE("What may not be sent twice gets a connection of its own, which is not kept") {
  const Server server(Server::answers("\"0x1\""));
  RpcClient client;
  ask(client, call(server.url()));
  Call once = call(server.url());
  once.never_resend = true;
  CHECK(ask(client, once).setup_ms.value() > 0);
  CHECK(server.connections() == 2);
}

TEST_CASE("A kept connection that the provider closed is replaced for a read, and a send is never repeated") {
  const Server server([](Peer& peer, const Request& request) {
    if (request.method() == "eth_sendRawTransaction") return false;
    return peer.result(request, "1") && false;
  });
  RpcClient client;
  ask(client, call(server.url()));
  CHECK_FALSE(ask(client, call(server.url())).failure);
  CHECK(server.requests() == 2);
  Call send = call(server.url());
  send.method = "eth_sendRawTransaction";
  send.never_resend = true;
  CHECK(error_class(ask(client, send)) == "connect");
  CHECK(server.requests() == 3);
}

TEST_CASE("A refused connection is a connect error and has no times") {
  std::string url;
  {
    const Server gone(Server::answers("1"));
    url = gone.url();
  }
  RpcClient client;
  const Answer answer = ask(client, call(url));
  CHECK(error_class(answer) == "connect");
  CHECK(answer.failure->message == "connection refused");
  CHECK_FALSE(answer.latency_ms);
  CHECK_FALSE(answer.setup_ms);
  CHECK_FALSE(answer.total_ms);
}

TEST_CASE("Every fault of the transport has its class") {
  struct Fault {
    const char* name;
    Server::Behaviour behaviour;
    const char* error_class;
  };
  const auto fault = GENERATE(values<Fault>({
      {"reset", [](Peer& peer, const Request&) { return peer.reset(), false; }, "connect"},
      {"closed without an answer", [](Peer&, const Request&) { return false; }, "connect"},
      {"truncated", sends("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"jsonrpc\":"), "connect"},
      {"stall before the header", [](Peer& peer, const Request&) { return peer.stall(), false; }, "timeout"},
      {"stall amid the body",
       [](Peer& peer, const Request&) {
         peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{");
         return peer.stall(), false;
       },
       "timeout"},
      {"not HTTP", sends("SSH-2.0-OpenSSH_9.2\r\n"), "malformed"},
      {"false gzip", responds("not gzip", "200 OK", "Content-Encoding: gzip\r\n"), "malformed"},
      {"empty", responds(""), "malformed"},
      {"no content", sends("HTTP/1.1 204 No Content\r\n\r\n"), "malformed"},
      {"invalid JSON", responds("{\"jsonrpc\":"), "malformed"},
      {"invalid UTF-8", responds("{\"id\":1,\"result\":\"\xC3\x28\"}"), "malformed"},
      {"web page", responds("<html>Welcome</html>"), "malformed"},
      {"array", responds(R"([{"id":1,"result":1}])"), "malformed"},
      {"another id", responds(R"({"jsonrpc":"2.0","id":4711,"result":1})"), "malformed"},
      {"no id", responds(R"({"jsonrpc":"2.0","result":1})"), "malformed"},
      {"neither result nor error", responds(R"({"jsonrpc":"2.0","id":1})"), "malformed"},
      {"both result and error", responds(R"({"id":1,"result":1,"error":{"code":1,"message":"m"}})"), "malformed"},
      {"web page with 502", responds("<html>Bad gateway, see /billing</html>", "502 Bad Gateway"), "http"},
      {"redirect", responds("", "302 Found", "Location: file:///etc/passwd\r\n"), "http"},
      {"huge header", responds("{}", "200 OK", "X: " + std::string(80000, 'x') + "\r\n"), "too_large"},
      {"429", responds("slow down", "429 Too Many Requests"), "rate_limited"},
      {"402", responds("", "402 Payment Required"), "rate_limited"},
      {"401", responds("", "401 Unauthorized"), "auth"},
      {"403", responds("", "403 Forbidden"), "auth"},
      {"403 that is a rate limit", responds("Rate Limit exceeded", "403 Forbidden"), "rate_limited"},
      {"200 that is a rate limit", responds("Too Many Requests"), "rate_limited"},
  }));
  INFO(fault.name);
  CHECK(error_class(ask(fault.behaviour, Milliseconds(300))) == fault.error_class);
}

TEST_CASE("A provider that drips a byte at a time is given up at the timeout") {
  const Answer answer = ask(
      [](Peer& peer, const Request&) {
        peer.send("HTTP/1.1 200 OK\r\n\r\n");
        while (peer.send(" ")) {
        }
        return false;
      },
      Milliseconds(200));
  CHECK(error_class(answer) == "timeout");
  CHECK(answer.http_status == 200);
  CHECK_FALSE(answer.latency_ms);
}

TEST_CASE("An endless answer is cut at the cap") {
  const Server server([](Peer& peer, const Request&) {
    const std::string chunk(65536, ' ');
    peer.send("HTTP/1.1 200 OK\r\n\r\n");
    while (peer.send(chunk)) {
    }
    return false;
  });
  RpcClient client;
  Call small = call(server.url());
  small.max_response_bytes = 1 << 20;
  const Answer answer = ask(client, small);
  CHECK(error_class(answer) == "too_large");
  CHECK(answer.response_bytes <= (1 << 20) + 65536);
}

namespace {

/// A gzip stream of `runs` times 258 equal bytes, 13 bits each: RFC 1951's fixed code for length 258 at distance 1.
std::string gzip_bomb(std::size_t runs) {
  std::string stream("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10);
  unsigned byte = 0;
  unsigned filled = 0;
  const auto put = [&](std::string_view bits) {
    for (const char bit : bits) {
      byte |= static_cast<unsigned>(bit - '0') << filled;
      if (++filled < 8) continue;
      stream += static_cast<char>(byte);
      byte = filled = 0;
    }
  };
  put("110");       // the last block, fixed codes
  put("01010000");  // a blank
  for (std::size_t run = 0; run < runs; ++run) put("1100010100000");
  return stream;
}

}  // namespace

TEST_CASE("A small compressed answer that unfolds beyond the cap is cut at the cap") {
  const std::string bomb = gzip_bomb(200'000);
  REQUIRE(bomb.size() < 400'000);
  const Server server(responds(bomb, "200 OK", "Content-Encoding: gzip\r\n"));
  RpcClient client;
  Call small = call(server.url());
  small.max_response_bytes = 1 << 20;
  const Answer answer = ask(client, small);
  CHECK(error_class(answer) == "too_large");
  CHECK(answer.response_bytes <= (1 << 20) + 65536);
}

TEST_CASE("An error object in an answer of any status is the provider's error") {
  const Answer answer = ask([](Peer& peer, const Request& request) {
    return peer.error(request, R"({"code":-32000,"message":"header not found"})", "500 Internal Server Error");
  });
  CHECK(error_class(answer) == "rpc");
  CHECK(answer.failure->kind == "missing_data");
  CHECK(answer.failure->message == "header not found");
  CHECK(answer.error_code == -32000);
  CHECK(answer.http_status == 500);
  CHECK(answer.latency_ms);
}

TEST_CASE("A text id answers its number") {
  CHECK_FALSE(ask([](Peer& peer, const Request& request) {
                return peer.respond(R"({"id":")" + request.id() + R"(","result":1})");
              }).failure);
}

TEST_CASE("The wait that a provider asks for is passed on") {
  const auto retry_after = [](std::string body, std::string header) {
    return ask(responds(std::move(body), "429 Too Many Requests", std::move(header))).failure->retry_after_sec;
  };
  CHECK(retry_after("", "Retry-After: 30\r\n") == 30.0);
  CHECK(retry_after("", "retry-after: 0\r\n") == 1.0);
  CHECK_FALSE(retry_after("", ""));
  CHECK(retry_after(R"({"id":1,"error":{"code":-32005,"data":{"rate":{"backoff_seconds":7}}}})", "") == 7.0);
  CHECK(retry_after("", "Retry-After: Fri, 01 Jan 2100 00:00:00 GMT\r\n").value() > 86400);
}

TEST_CASE("A TLS request to a plain port is a tls error") {
  const Server server(responds("{}"));
  RpcClient client;
  Answer answer = ask(client, call("https://127.0.0.1:" + std::to_string(server.port())));
  CHECK(error_class(answer) == "tls");
}

TEST_CASE("A host that does not resolve is a dns error") {
  RpcClient client;
  CHECK(error_class(ask(client, call("http://nowhere.invalid/"))) == "dns");
}

TEST_CASE("A key in path, query and header shows in no message, whatever the provider echoes") {
  const std::string key = "s3cr3t+key/0123456789";
  RpcClient client([&](const std::string&) { return std::optional(key); });
  const Server server([](Peer& peer, const Request& request) {
    const std::string line = request.head.substr(0, request.head.find("\r\n"));
    const std::size_t at = request.head.find("X-Key: ");
    const std::string header = request.head.substr(at, request.head.find("\r\n", at) - at);
    return peer.respond("no such path " + line + ", " + header, "404 Not Found");
  });
  Call keyed = call(server.url("/v2/abcdef0123/${RPCROUTE_A}?api-key=q1w2e3r4t5"));
  keyed.provider.headers = R"({"X-Key": "token ${RPCROUTE_B}"})";
  const Answer answer = ask(client, keyed);
  CHECK(error_class(answer) == "http");
  for (const char* secret : {"s3cr3t", "0123456789", "abcdef0123", "q1w2e3r4t5", "v2/"}) {
    CHECK(answer.failure->message.find(secret) == std::string::npos);
  }
  CHECK(answer.failure->message.find("no such path") != std::string::npos);
}

TEST_CASE("A provider without a usable URL is answered for without a request") {
  RpcClient client;
  const Answer answer = ask(client, call("ftp://127.0.0.1/"));
  CHECK(error_class(answer) == "config");
  CHECK(answer.failure->message == "url: must begin with http:// or https://");
  CHECK(answer.timestamp > 1.6e9);
}

TEST_CASE("An interrupt ends the wait, and what was outstanding can be given up") {
  const Server server([](Peer& peer, const Request&) { return peer.stall(), false; });
  RpcClient client;
  client.submit(call(server.url()));
  int asked = 0;
  CHECK_THROWS_AS(client.next(Clock::now() + Milliseconds(20000), [&] { return ++asked > 2; }), Interrupted);
  CHECK(client.outstanding() == 1);
  client.cancel_all();
  CHECK(client.outstanding() == 0);
}

TEST_CASE("Collecting some calls leaves the answers of others for later") {
  const Server server(Server::answers("1"));
  RpcClient client;
  const auto other = client.submit(call(server.url()));
  const std::vector<RpcClient::Ticket> mine = {client.submit(call(server.url())), client.submit(call(""))};
  const auto answers = client.collect(mine, Clock::now() + Milliseconds(20000), {});
  REQUIRE(answers.size() == 2);
  CHECK(answers[0].first == mine[0]);
  CHECK(error_class(answers[1].second) == "config");
  CHECK(client.next(Clock::now() + Milliseconds(20000), {})->first == other);
  CHECK_FALSE(client.next(Clock::now() + Milliseconds(20000), {}));
}

TEST_CASE("A cancelled call is never answered") {
  const Server server(Server::answers("1"));
  RpcClient client;
  client.cancel(client.submit(call(server.url())));
  CHECK(client.outstanding() == 0);
  CHECK_FALSE(client.next(Clock::now() + Milliseconds(20000), {}));
}

TEST_CASE("A forked child makes connections of its own and leaves the parent's alone") {
  const Server server(Server::answers("1"));
  RpcClient client;
  ask(client, call(server.url()));
  const pid_t child = fork();
  if (child == 0) {
    bool good = false;
    {
      client.submit(call(server.url()));
      const auto answer = client.next(Clock::now() + Milliseconds(20000), {});
      good = answer && !answer->second.failure && answer->second.setup_ms.value() > 0;
    }
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(ask(client, call(server.url())).setup_ms.value() == 0);
}

TEST_CASE("Params that are no JSON array or object are refused before anything is sent") {
  RpcClient client;
  Call wrong = call("http://127.0.0.1/");
  wrong.params = GENERATE("", "1", "[", "[1] x", "null");
  CHECK_THROWS_AS(client.submit(wrong), std::invalid_argument);
  CHECK(client.outstanding() == 0);
}

namespace {

/// Listens and never accepts: the kernel completes connections, and nobody ever answers.
class SilentListener {
 public:
  explicit SilentListener(int backlog) : acceptor_(io_, tcp::v4()) {
    acceptor_.bind({boost::asio::ip::address_v4::loopback(), 0});
    acceptor_.listen(backlog);
  }

  unsigned short port() const { return acceptor_.local_endpoint().port(); }

  /// Fills the queue of connections, so that the kernel drops every further one.
  void fill() {
    for (int i = 0; i < 8; ++i) {
      tcp::socket& socket = fillers_.emplace_back(io_, tcp::v4());
      socket.native_non_blocking(true);
      const auto to = acceptor_.local_endpoint();
      ::connect(socket.native_handle(), to.data(), static_cast<socklen_t>(to.size()));  // Asio's own would wait
    }
  }

 private:
  boost::asio::io_context io_;
  tcp::acceptor acceptor_;
  std::list<tcp::socket> fillers_;
};

}  // namespace

TEST_CASE("A request has left as soon as it could be sent, whatever came of it") {
  const auto behaviour = GENERATE(values<Server::Behaviour>({
      Server::answers("1"),
      [](Peer& peer, const Request& request) { return peer.error(request, R"({"code":1,"message":"no"})"); },
      responds("", "429 Too Many Requests"),
      [](Peer& peer, const Request&) { return peer.reset(), false; },
      [](Peer&, const Request&) { return false; },
      [](Peer& peer, const Request&) { return peer.stall(), false; },
      sends("SSH-2.0-OpenSSH_9.2\r\n"),
      responds(std::string(100, ' '), "200 OK", "X: " + std::string(80000, 'x') + "\r\n"),
  }));
  CHECK(ask(behaviour, Milliseconds(300)).request_left);
}

TEST_CASE("A request that was sent on a kept connection which had died has left") {
  std::optional<Server> server(std::in_place, [](Peer& peer, const Request& request) {
    return request.method() != "eth_chainId" && peer.result(request, "1");
  });
  RpcClient client;
  CHECK_FALSE(ask(client, call(server->url())).failure);
  Call last = call(server->url());
  last.method = "eth_chainId";
  const Answer answer = ask(client, last);
  CHECK(answer.failure);
  CHECK(answer.request_left);
}

TEST_CASE("A request that had no connection to leave on has not left") {
  RpcClient client;
  const SilentListener silent(16);
  SECTION("a row that cannot be asked") {
    CHECK_FALSE(ask(client, call("ftp://127.0.0.1/")).request_left);
  }
  SECTION("an unknown host") {
    const Answer answer = ask(client, call("http://nowhere.invalid/"));
    CHECK(error_class(answer) == "dns");
    CHECK_FALSE(answer.request_left);
  }
  SECTION("a closed port") {
    std::string url;
    {
      const Server gone(Server::answers("1"));
      url = gone.url();
    }
    CHECK_FALSE(ask(client, call(url)).request_left);
  }
  SECTION("no TLS on the other side") {
    const Server plain(responds("{}"));
    const Answer answer = ask(client, call("https://127.0.0.1:" + std::to_string(plain.port())));
    CHECK(error_class(answer) == "tls");
    CHECK_FALSE(answer.request_left);
  }
  SECTION("a certificate that is not trusted") {
    const Certificate certificate;
    const StreamServer server([](Socket&) {}, &certificate);
    const Answer answer = ask(client, call("https://localhost:" + server.port()));
    CHECK(error_class(answer) == "tls");
    CHECK_FALSE(answer.request_left);
  }
  SECTION("a TLS handshake that does not end") {
    const Answer answer = ask(client, call("https://127.0.0.1:" + std::to_string(silent.port()), Milliseconds(200)));
    CHECK(error_class(answer) == "timeout");
    CHECK_FALSE(answer.request_left);
  }
  SECTION("a connection that does not come about") {
    SilentListener full(0);
    full.fill();
    const Answer answer = ask(client, call("http://127.0.0.1:" + std::to_string(full.port()), Milliseconds(200)));
    CHECK(error_class(answer) == "timeout");
    CHECK_FALSE(answer.request_left);
  }
  SECTION("whereas one that nobody reads has") {
    const Answer answer = ask(client, call("http://127.0.0.1:" + std::to_string(silent.port()), Milliseconds(200)));
    CHECK(error_class(answer) == "timeout");
    CHECK(answer.request_left);
  }
}
