#include <catch2/catch.hpp>

#include "rpc/client.hpp"
#include "rpc/websocket.hpp"
#include "rpc_server.hpp"
#include "rpc_stream_server.hpp"

using namespace rpcroute::rpc;
using rpcroute::tests::Certificate;
using rpcroute::tests::Peer;
using rpcroute::tests::Request;
using rpcroute::tests::Server;
using rpcroute::tests::Socket;
using rpcroute::tests::StreamServer;

namespace {

Environment trusting(const Certificate& certificate) {
  return [path = certificate.path()](const std::string& name) {
    return name == "RPCROUTE_CA_FILE" ? std::optional(path) : std::nullopt;
  };
}

HeadRequest request(const std::string& url, Milliseconds timeout = Milliseconds(10000)) {
  HeadRequest request;
  request.provider.provider_id = "a";
  request.provider.ws_url = url;
  request.method = "eth_subscribe";
  request.params = R"(["newHeads"])";
  request.timeout = timeout;
  return request;
}

HeadAnswer watch(const HeadRequest& what, const Environment& environment = process_environment()) {
  HeadWatch watch({what}, environment);
  auto answers = watch.wait(Clock::now() + Milliseconds(20000), {});
  REQUIRE(answers.size() == 1);
  REQUIRE(answers[0]);
  return *answers[0];
}

std::string error_class(const HeadAnswer& answer) {
  return answer.failure ? std::string(name(answer.failure->error_class)) : "none";
}

void accept_subscription(Socket& socket) {
  socket.receive();
  socket.send(R"({"jsonrpc":"2.0","id":1,"result":"0xsub"})");
}

void send_heads(Socket& socket) {
  accept_subscription(socket);
  socket.send(
      R"({"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"0xsub","result":{"number":"0x10"}}})");
  socket.receive();
}

void stay_silent(Socket& socket) {
  accept_subscription(socket);
  socket.receive();
}

}  // namespace

TEST_CASE("The first head of a subscription comes with the times of connection and first message") {
  const StreamServer server(send_heads);
  const HeadAnswer answer = watch(request("ws://127.0.0.1:" + server.port() + "/path?x=1"));
  CHECK(error_class(answer) == "none");
  CHECK(answer.head == R"({"number":"0x10"})");
  CHECK(answer.http_status == 101);
  CHECK(answer.latency_ms.value() > 0);
  CHECK(answer.first_message_ms.value() > 0);
  CHECK(answer.total_ms.value() == Approx(*answer.setup_ms + *answer.latency_ms));
  CHECK(answer.response_bytes > 100);
  CHECK(server.upgrade_header().find("GET /path?x=1 HTTP/1.1") == 0);
}

TEST_CASE("Heads that never come are a timeout that keeps the connection's times") {
  const StreamServer server(stay_silent);
  const HeadAnswer answer = watch(request("ws://127.0.0.1:" + server.port(), Milliseconds(300)));
  CHECK(error_class(answer) == "timeout");
  CHECK(answer.failure->kind == "no_head");
  CHECK(answer.latency_ms);
  CHECK_FALSE(answer.first_message_ms);
}

TEST_CASE("A server that closes, refuses or speaks something else has its class") {
  SECTION("closes before a head") {
    const StreamServer server([](Socket& socket) { socket.receive(); });
    const HeadAnswer answer = watch(request("ws://127.0.0.1:" + server.port()));
    CHECK(error_class(answer) == "connect");
    CHECK(answer.latency_ms);
  }
  SECTION("refuses the subscription") {
    const StreamServer server([](Socket& socket) {
      socket.receive();
      socket.send(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}})");
      socket.receive();
    });
    const HeadAnswer answer = watch(request("ws://127.0.0.1:" + server.port()));
    CHECK(error_class(answer) == "rpc");
    CHECK(answer.failure->kind == "unsupported");
    CHECK(answer.failure->message == "no such method");
  }
  SECTION("sends garbage") {
    const StreamServer server([](Socket& socket) {
      socket.send("{");
      socket.receive();
    });
    CHECK(error_class(watch(request("ws://127.0.0.1:" + server.port()))) == "malformed");
  }
  SECTION("sends a message that is too large") {
    const StreamServer server([](Socket& socket) {
      socket.send(std::string(100000, ' '));
      socket.receive();
      socket.receive();  // until the client has read its fill and goes: a server that left first would reset the rest
    });
    HeadRequest small = request("ws://127.0.0.1:" + server.port());
    small.max_message_bytes = 1000;
    CHECK(error_class(watch(small)) == "too_large");
  }
  SECTION("is at its limit") {
    const Server server(
        [](Peer& peer, const Request&) { return peer.respond("", "429 Too Many Requests", "Retry-After: 5\r\n"); });
    const HeadAnswer answer = watch(request("ws://127.0.0.1:" + std::to_string(server.port())));
    CHECK(error_class(answer) == "rate_limited");
    CHECK(answer.http_status == 429);
    CHECK(answer.failure->retry_after_sec == 5.0);
  }
  SECTION("knows no WebSocket") {
    const Server server([](Peer& peer, const Request&) { return peer.respond("{}"); });
    CHECK(error_class(watch(request("ws://127.0.0.1:" + std::to_string(server.port())))) == "http");
  }
  SECTION("says nothing at all") {
    const Server server([](Peer& peer, const Request&) { return peer.stall(), false; });
    const HeadAnswer answer = watch(request("ws://127.0.0.1:" + std::to_string(server.port()), Milliseconds(300)));
    CHECK(error_class(answer) == "timeout");
    CHECK_FALSE(answer.latency_ms);
  }
  SECTION("is not there") {
    std::string url;
    {
      const StreamServer gone(stay_silent);
      url = "ws://127.0.0.1:" + gone.port();
    }
    CHECK(error_class(watch(request(url))) == "connect");
  }
}

TEST_CASE("A host that does not resolve, and a row without ws_url, are not asked") {
  CHECK(error_class(watch(request("ws://nowhere.invalid"))) == "dns");
  CHECK(error_class(watch(request(""))) == "config");
}

TEST_CASE("wss trusts whom the operator trusts, and only under the certificate's name") {
  const Certificate certificate;
  const StreamServer server(send_heads, &certificate);
  CHECK(error_class(watch(request("wss://localhost:" + server.port()), trusting(certificate))) == "none");
  CHECK(error_class(watch(request("wss://127.0.0.1:" + server.port()), trusting(certificate))) == "tls");
  CHECK(error_class(watch(request("wss://localhost:" + server.port()))) == "tls");
}

TEST_CASE("https trusts whom the operator trusts, and only under the certificate's name") {
  const Certificate certificate;
  const StreamServer server(stay_silent, &certificate, R"({"jsonrpc":"2.0","id":1,"result":"0x10"})");
  const auto ask = [&](const std::string& url, const Environment& environment) {
    RpcClient client(environment);
    Call call;
    call.provider.url = url;
    call.method = "eth_blockNumber";
    client.submit(call);
    return client.next(Clock::now() + Milliseconds(20000), {}).value().second;
  };
  CHECK_FALSE(ask("https://localhost:" + server.port(), trusting(certificate)).failure);
  CHECK(ask("https://127.0.0.1:" + server.port(), trusting(certificate)).failure->error_class == ErrorClass::tls);
  CHECK(ask("https://localhost:" + server.port(), process_environment()).failure->error_class == ErrorClass::tls);
}

TEST_CASE("Headers with secrets travel with the upgrade and show in no message") {
  const Server server([](Peer& peer, const Request& asked) {
    return peer.respond(asked.head, "418 " + std::string("k3y-in-a-header"));
  });
  HeadRequest keyed = request("ws://127.0.0.1:" + std::to_string(server.port()) + "/k3y-in-a-path");
  keyed.provider.headers = R"({"X-Key":"k3y-in-a-header"})";
  CHECK(watch(keyed).failure->message.find("k3y") == std::string::npos);
  const StreamServer accepting(send_heads);
  keyed.provider.ws_url = "ws://127.0.0.1:" + accepting.port();
  CHECK(error_class(watch(keyed)) == "none");
  CHECK(accepting.upgrade_header().find("X-Key: k3y-in-a-header") != std::string::npos);
}

TEST_CASE("Several subscriptions run at once, and giving up leaves nothing behind") {
  const StreamServer quick(send_heads);
  const StreamServer silent(stay_silent);
  HeadWatch watch({request("ws://127.0.0.1:" + silent.port()), request("ws://127.0.0.1:" + quick.port())},
                  process_environment());
  int asked = 0;
  CHECK_THROWS_AS(watch.wait(Clock::now() + Milliseconds(20000), [&] { return ++asked > 3; }), Interrupted);
  const auto answers = watch.wait(Clock::now() + Milliseconds(100), {});
  CHECK_FALSE(answers[0]);
  CHECK(answers[1]);
}
