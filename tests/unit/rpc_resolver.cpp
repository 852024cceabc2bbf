#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <clocale>
#include <condition_variable>
#include <map>
#include <mutex>

#include "rpc/client.hpp"
#include "rpc/descriptors.hpp"
#include "rpc/resolver.hpp"
#include "rpc/websocket.hpp"
#include "rpc_asking.hpp"
#include "rpc_stream_server.hpp"

using namespace rpcroute::rpc;
using namespace rpcroute::tests;

namespace {

/// Stands in for the system's resolver: names that begin with "hang" have no answer until they are let go, those that
/// begin with "no" have none at all, and all others are on loopback.
class Names {
 public:
  Names() {
    replace_system_look_up(
        [state = state_](const std::string& host, const std::string& port) { return state->look_up(host, port); });
  }

  ~Names() {
    let_go();
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return state_->running == 0; });
    lock.unlock();
    replace_system_look_up({});
  }

  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  void let_go() {
    const std::lock_guard lock(state_->mutex);
    state_->hanging = false;
    state_->changed.notify_all();
  }

  /// Until that many look-ups have begun in all.
  void await_begun(int count) {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return state_->begun >= count; });
  }

  int begun() const { return state_->read(state_->begun); }
  int most_at_once() const { return state_->read(state_->most); }
  Clock::duration longest() const { return state_->read(state_->longest); }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool hanging = true;
    int begun = 0;
    int running = 0;
    int most = 0;
    Clock::duration longest{0};

    template <class Value>
    Value read(const Value& value) {
      const std::lock_guard lock(mutex);
      return value;
    }

    Resolution look_up(const std::string& host, const std::string& port) {
      const auto begin = Clock::now();
      std::unique_lock lock(mutex);
      ++begun;
      most = std::max(most, ++running);
      changed.notify_all();
      if (host.starts_with("hang")) changed.wait(lock, [&] { return !hanging; });
      longest = std::max(longest, Clock::now() - begin);
      --running;
      changed.notify_all();
      if (host.starts_with("no")) return {{}, Failure{ErrorClass::dns, "", "the host name did not resolve", {}}, {}};
      return {{*numeric_endpoint("::1", port), *numeric_endpoint("127.0.0.1", port)}, {}, {}};
    }
  };

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

std::string url(const Server& server, const std::string& host) {
  return "http://" + host + ":" + std::to_string(server.port());
}

std::string outcome(const Answer& answer) {
  return answer.failure ? error_class(answer) + "/" + answer.failure->kind : answer.result;
}

HeadRequest head_request(const std::string& url, Milliseconds timeout) {
  HeadRequest request;
  request.provider.provider_id = "a";
  request.provider.ws_url = url;
  request.method = "eth_subscribe";
  request.params = R"(["newHeads"])";
  request.timeout = timeout;
  return request;
}

HeadAnswer watch(const HeadRequest& what) {
  HeadWatch watch({what}, process_environment());
  return watch.wait(Clock::now() + Milliseconds(20000), {}).at(0).value();
}

}  // namespace

TEST_CASE("A host name is looked up once for a connection, and the set-up contains that time") {
  Names names;
  const Server server(Server::answers("1"));
  RpcClient client;
  client.submit(call(url(server, "hang.example")));
  const auto answer = client.next(Clock::now() + Milliseconds(20000), [&] {
    if (names.begun() > 0) names.let_go();
    return false;
  });
  CHECK(outcome(answer.value().second) == "1");
  CHECK(answer->second.setup_ms.value() >= std::chrono::duration<double, std::milli>(names.longest()).count());
  CHECK(names.begun() == 1);
  const Answer warm = ask(client, call(url(server, "hang.example")));
  CHECK(outcome(warm) == "1");
  CHECK(warm.setup_ms.value() == 0);
  CHECK(names.begun() == 1);
}

TEST_CASE("Every new connection has its host looked up anew") {
  Names names;
  const Server server([](Peer& peer, const Request& request) { return peer.result(request, "1") && false; });
  RpcClient client;
  for (int i = 1; i <= 3; ++i) {
    CHECK(outcome(ask(client, call(url(server, "some.example")))) == "1");
    CHECK(names.begun() == i);
  }
  Call once = call(url(server, "some.example"));
  once.never_resend = true;
  CHECK(outcome(ask(client, once)) == "1");
  CHECK(names.begun() == 4);
}

TEST_CASE("A name is a name however it is spelt") {
  const auto restore = [before = std::string(setlocale(LC_CTYPE, nullptr))](void*) {
    setlocale(LC_CTYPE, before.c_str());
  };
  const std::unique_ptr<void, decltype(restore)> locale(setlocale(LC_CTYPE, "C.UTF-8"), restore);  // for libidn2
  Names names;
  const Server server(Server::answers("1"));
  for (const char* host : {"Some.EXAMPLE", "some.example.",
                           "b\xC3\xBC"
                           "cher.example",
                           "so%6De.example", "a-b_c.example"}) {
    INFO(host);
    RpcClient client;
    CHECK(outcome(ask(client, call(url(server, host)))) == "1");
    CHECK(outcome(ask(client, call(url(server, host)))) == "1");
  }
  CHECK(names.begun() == 5);
}

TEST_CASE("Addresses, and this machine's own name, are not looked up") {
  Names names;
  const Server server(Server::answers("1"));
  RpcClient client;
  for (const char* host : {"127.0.0.1", "127.1", "localhost", "a.localhost", "0x7f000001"}) {
    INFO(host);
    CHECK(outcome(ask(client, call(url(server, host)))) == "1");
  }
  CHECK(names.begun() == 0);
}

TEST_CASE("A host without addresses is a dns error, over HTTP and WebSocket") {
  Names names;
  RpcClient client;
  const Answer answer = ask(client, call("http://nobody.example/"));
  CHECK(outcome(answer) == "dns/");
  CHECK_FALSE(answer.request_left);
  CHECK(name(watch(head_request("ws://nobody.example", Milliseconds(10000))).failure.value().error_class) == "dns");
}

TEST_CASE("A host that only has addresses within a link is none that HTTP can reach") {
  replace_system_look_up([](const std::string&, const std::string& port) {
    return Resolution{{*numeric_endpoint("fe80::1%1", port)}, {}, {}};
  });
  RpcClient client;
  CHECK(outcome(ask(client, call("http://some.example/"))) == "dns/");
  replace_system_look_up({});
}

TEST_CASE("Questions to one host wait for one look-up, and none waits longer than it would for an answer") {
  Names names;
  const Server server(Server::answers("1"));
  RpcClient patient;
  patient.submit(call(url(server, "hang.example"), Milliseconds(20000)));
  CHECK_FALSE(patient.next(Clock::now() + Milliseconds(1), {}));
  names.await_begun(1);
  RpcClient client;
  std::vector<RpcClient::Ticket> tickets;
  for (int i = 0; i < 25; ++i) tickets.push_back(client.submit(call(url(server, "hang.example"), Milliseconds(100))));
  const auto begin = Clock::now();
  const auto answers = client.collect(tickets, Clock::now() + Milliseconds(20000), {});
  CHECK(Clock::now() - begin < Milliseconds(2000));
  REQUIRE(answers.size() == 25);
  for (const auto& [ticket, answer] : answers) {
    CHECK(outcome(answer) == "dns/timeout");
    CHECK(answer.failure->message == "the host name's look-up has not ended in time");
    CHECK_FALSE(answer.request_left);
    CHECK_FALSE(answer.setup_ms);
  }
  for (int i = 0; i < 5; ++i) {
    RpcClient another;
    CHECK(outcome(ask(another, call(url(server, "hang.example"), Milliseconds(5)))) == "dns/timeout");
  }
  const auto head = watch(head_request("ws://hang.example:" + std::to_string(server.port()), Milliseconds(5)));
  CHECK(name(head.failure.value().error_class) == "dns");
  CHECK(head.failure->kind == "timeout");
  CHECK(names.begun() == 1);

  CHECK(outcome(ask(client, call(url(server, "other.example")))) == "1");  // the rest goes on beside it
  tickets = {client.submit(call(url(server, "hang.example"))), client.submit(call(url(server, "hang.example")))};
  names.let_go();
  for (const auto& [ticket, answer] : client.collect(tickets, Clock::now() + Milliseconds(20000), {})) {
    CHECK(outcome(answer) == "1");
  }
  CHECK(outcome(patient.next(Clock::now() + Milliseconds(20000), {}).value().second) == "1");
}

TEST_CASE("However many hosts hang, no more than 8 threads hang with them, and what waited is seen to later") {
  Names names;
  const Server server(Server::answers("1"));
  RpcClient client;
  for (int i = 0; i < 40; ++i) {
    client.submit(call(url(server, "hang" + std::to_string(i) + ".example"), Milliseconds(20000)));
  }
  while (names.begun() < 8) CHECK_FALSE(client.next(Clock::now() + Milliseconds(1), {}));
  for (int i = 0; i < 20; ++i) CHECK_FALSE(client.next(Clock::now() + Milliseconds(1), {}));
  CHECK(names.begun() == 8);
  client.cancel_all();
  const auto late = client.submit(call(url(server, "late.example"), Milliseconds(10000)));
  CHECK_FALSE(client.next(Clock::now() + Milliseconds(1), {}));
  names.let_go();
  const auto answer = client.next(Clock::now() + Milliseconds(20000), {});
  REQUIRE(answer);
  CHECK(answer->first == late);
  CHECK(outcome(answer->second) == "1");
  CHECK(names.begun() == 9);  // what nobody waits for any more is not looked up
  CHECK(names.most_at_once() == 8);
}

TEST_CASE("An interrupt, a cancelled call and a client that goes do not wait for a look-up") {
  Names names;
  {
    RpcClient client;
    const auto ticket = client.submit(call("http://hang.example/"));
    int asked = 0;
    CHECK_THROWS_AS(client.next(Clock::now() + Milliseconds(20000), [&] { return ++asked > 2; }), Interrupted);
    client.cancel(ticket);
    CHECK(client.outstanding() == 0);
    client.submit(call("http://hang.example/"));
    CHECK_FALSE(client.next(Clock::now() + Milliseconds(10), {}));
  }
  names.await_begun(1);
}

TEST_CASE("WebSocket connects to a looked-up host, whose time is the set-up") {
  Names names;
  names.let_go();
  const StreamServer server([](Socket& socket) {
    socket.receive();
    socket.send(R"({"method":"eth_subscription","params":{"result":{"number":"0x10"}}})");
    socket.receive();
  });
  const HeadAnswer answer = watch(head_request("ws://some.example:" + server.port(), Milliseconds(10000)));
  CHECK(answer.failure.value_or(Failure{}).message == "");
  CHECK(answer.setup_ms.value() > 0);
  CHECK(names.begun() == 1);
  CHECK(server.upgrade_header().find("Host: some.example:") != std::string::npos);
}

TEST_CASE("A kept connection to a host that died under the question is replaced after another look-up") {
  Names names;
  const Server server([requests = std::make_shared<std::atomic<int>>(0)](Peer& peer, const Request& request) {
    if (++*requests == 2) return false;
    return peer.result(request, "1");
  });
  RpcClient client;
  CHECK(outcome(ask(client, call(url(server, "some.example")))) == "1");
  const Answer answer = ask(client, call(url(server, "some.example")));
  CHECK(outcome(answer) == "1");
  CHECK(answer.request_left);
  CHECK(answer.setup_ms.value() > 0);
  CHECK(server.requests() == 3);
  CHECK(names.begun() == 2);
}

TEST_CASE("What was sent on a connection that died has left, whatever keeps it from being sent again") {
  const auto found = std::make_shared<std::atomic<int>>(0);
  replace_system_look_up([found](const std::string&, const std::string& port) {
    if (++*found == 1) return Resolution{{*numeric_endpoint("127.0.0.1", port)}, {}, {}};
    return Resolution{{}, descriptor_shortage(), {}};
  });
  const Server server([requests = std::make_shared<std::atomic<int>>(0)](Peer& peer, const Request& request) {
    return ++*requests == 1 && peer.result(request, "1");
  });
  RpcClient client;
  CHECK(outcome(ask(client, call(url(server, "some.example")))) == "1");
  const Answer answer = ask(client, call(url(server, "some.example")));
  CHECK(outcome(answer) == "config/descriptors");
  CHECK(answer.request_left);
  CHECK(*found == 2);
  replace_system_look_up({});
}

TEST_CASE("A forked child looks up on its own, whatever hangs in its parent") {
  Names names;
  const Server server(Server::answers("1"));
  RpcClient client;
  for (int i = 0; i < 8; ++i) client.submit(call(url(server, "hang" + std::to_string(i) + ".example")));
  CHECK_FALSE(client.next(Clock::now() + Milliseconds(1), {}));
  names.await_begun(8);
  const pid_t child = fork();
  if (child == 0) {
    replace_system_look_up([](const std::string&, const std::string& port) {
      return Resolution{{*numeric_endpoint("127.0.0.1", port)}, {}, {}};
    });
    client.submit(call(url(server, "hang0.example")));
    const auto answer = client.next(Clock::now() + Milliseconds(20000), {});
    _exit(answer && !answer->second.failure ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  names.let_go();
  int answered = 0;
  while (const auto answer = client.next(Clock::now() + Milliseconds(20000), {})) {
    CHECK(outcome(answer->second) == "1");
    ++answered;
  }
  CHECK(answered == 8);
}
