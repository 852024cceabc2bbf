// Bytes that nobody asked for on a kept connection are nobody's answer.
#include <catch2/catch.hpp>
#include <semaphore>

#include "rpc/client.hpp"
#include "rpc_asking.hpp"

using namespace rpcroute::rpc;
using namespace rpcroute::tests;

namespace {

/// Answers, and when that has arrived writes more.
class Talkative {
 public:
  explicit Talkative(std::string more)
      : server_([this, more](Peer& peer, const Request& request) {
          if (!peer.result(request, std::to_string(++answers_))) return false;
          if (answers_ > 1) return true;
          arrived_.acquire();
          peer.send(more);
          written_.release();
          return true;
        }) {}

  /// Lets it write; what it has written has then arrived.
  void go_on() {
    arrived_.release();
    written_.acquire();
  }

  const Server& server() const { return server_; }

 private:
  std::atomic<int> answers_ = 0;
  std::binary_semaphore arrived_{0};
  std::binary_semaphore written_{0};
  const Server server_;
};

}  // namespace

TEST_CASE("What a provider writes on an idle connection is not the next answer, which comes on a new one") {
  const auto more =
      GENERATE(as<std::string>{}, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n", "\r\n", "\n", "x",
               "HTTP/1.1 200 OK\r\nContent-Length: 36\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":666}",
               "HTTP/1.1 100 Continue\r\n\r\n");
  Talkative talkative(more);
  RpcClient client;
  CHECK(ask(client, call(talkative.server().url())).result == "1");
  talkative.go_on();
  const Answer next = ask(client, call(talkative.server().url()));
  INFO((next.failure ? next.failure->message : ""));
  CHECK(next.result == "2");
  CHECK(next.setup_ms.value() > 0);
  CHECK(talkative.server().connections() == 2);
  CHECK(talkative.server().requests() == 2);
  CHECK(ask(client, call(talkative.server().url())).result == "3");
  CHECK(talkative.server().connections() == 2);
}

TEST_CASE("What follows an answer at once ends its connection and belongs to no other answer") {
  const auto more =
      GENERATE(as<std::string>{}, "\r\n", "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n",
               "HTTP/1.1 200 OK\r\nContent-Length: 36\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":666}");
  const auto status = GENERATE(as<std::string>{}, "200 OK", "500 Internal Server Error");
  const Server server([=](Peer& peer, const Request& request) {
    const std::string body = R"({"jsonrpc":"2.0","id":)" + request.id() + R"(,"result":)" + request.id() + "}";
    return peer.send("HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body +
                     more);
  });
  RpcClient client;
  for (const char* result : {"1", "2", "3"}) CHECK(ask(client, call(server.url())).result == result);
}
