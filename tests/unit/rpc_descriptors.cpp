// What becomes of questions when descriptors run out, in forked children that may open only so many. Not under the
// sanitizers: their allocator does not survive a fork beside other threads, and their checks open descriptors.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>
#include <list>

#include "rpc/client.hpp"
#include "rpc/descriptors.hpp"
#include "rpc/websocket.hpp"
#include "rpc_asking.hpp"
#include "rpc_certificate.hpp"
#include "rpc_stream_server.hpp"

using namespace rpcroute::rpc;
using namespace rpcroute::tests;

namespace {

/// What `work` says in a forked child that may open `free` descriptors more.
std::string limited(int free, const std::function<std::string()>& work) {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(120);                                             // rather than wait for ever
    int first = ::open("/dev/null", O_RDONLY | O_CLOEXEC);  // the lowest one that is free
    std::vector<int> opened;
    for (int i = 0; i < free; ++i) {
      opened.push_back(first);
      first = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    const rlimit limit{static_cast<rlim_t>(first), static_cast<rlim_t>(first)};
    setrlimit(RLIMIT_NOFILE, &limit);
    ::close(first);
    for (const int descriptor : opened) ::close(descriptor);
    std::string said;
    try {
      said = work();
    } catch (const std::exception& error) {
      said = std::string("exception: ") + error.what();
    }
    static_cast<void>(!::write(pipe[1], said.data(), said.size()));
    _exit(0);
  }
  ::close(pipe[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t count = 0; (count = ::read(pipe[0], buffer, sizeof buffer)) > 0;) {
    said.append(buffer, static_cast<std::size_t>(count));
  }
  ::close(pipe[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? said : "it crashed";
}

std::string outcome(const Answer& answer) {
  if (!answer.failure) return "ok";
  return error_class(answer) + "/" + answer.failure->kind + (answer.request_left ? " left" : "");
}

/// How often each outcome came of asking all of them at once, `rounds` times.
std::string outcomes(const std::vector<std::string>& urls, const Environment& environment, int rounds = 1) {
  std::map<std::string, int> counts;
  RpcClient client(environment);
  for (int round = 0; round < rounds; ++round) {
    for (const std::string& url : urls) client.submit(call(url));
    while (const auto answer = client.next(Clock::now() + Milliseconds(20000), {})) ++counts[outcome(answer->second)];
  }
  std::string text;
  for (const auto& [what, count] : counts) text += what + ":" + std::to_string(count) + " ";
  return text;
}

const std::string shortage = "config/descriptors";

}  // namespace

TEST_CASE("With few descriptors all are asked, as many at a time as there are") {
  std::list<Server> servers;
  std::vector<std::string> urls;
  for (int i = 0; i < 12; ++i) urls.push_back(servers.emplace_back(Server::answers("1")).url());
  for (const int free : {4, 5, 6, 8, 11, 20, 100}) {
    INFO(free);
    CHECK(limited(free, [&] { return outcomes(urls, process_environment(), 3); }) == "ok:36 ");
  }
}

TEST_CASE("Under a limit of 16 descriptors names and TLS are asked too") {
  const Certificate certificate;
  const Environment trusting = [path = certificate.path()](const std::string& name) {
    return name == "RPCROUTE_CA_FILE" ? std::optional(path) : std::nullopt;
  };
  std::list<StreamServer> servers;
  std::vector<std::string> urls;
  const std::string body = R"({"jsonrpc":"2.0","id":null,"error":{"code":7,"message":"there"}})";
  for (int i = 0; i < 6; ++i) {
    urls.push_back("https://localhost:" + servers.emplace_back([](Socket&) {}, &certificate, body).port());
  }
  for (const int free : {10, 16}) {
    INFO(free);
    CHECK(limited(free, [&] { return outcomes(urls, trusting, 2); }) == "rpc/server left:12 ");
  }
}

TEST_CASE("Without any descriptor the failure is ours, not the provider's, and nothing has left") {
  const Server server(Server::answers("1"));
  for (const int free : {0, 1}) {
    INFO(free);
    CHECK(limited(free, [&] {
            return outcomes({server.url(), server.url()}, process_environment());
          }) == shortage + ":2 ");
    CHECK(limited(free, [] { return outcomes({"http://some.example"}, process_environment()); }) == shortage + ":1 ");
    CHECK(limited(free, [] { return outcomes({"https://127.0.0.1:9"}, process_environment()); }) == shortage + ":1 ");
  }
  CHECK(limited(0, [] {
          RpcClient client;
          return ask(client, call("http://127.0.0.1:9")).failure->message;
        }) == "no file descriptor is free: raise the limit (ulimit -n)");
}

TEST_CASE("However few there are, what fails fails for want of them") {
  const Server server(Server::answers("1"));
  const Certificate certificate;
  const StreamServer secure([](Socket&) {}, &certificate, R"({"id":null,"error":{"code":7,"message":"there"}})");
  for (int free = 0; free < 12; ++free) {
    INFO(free);
    const std::string plain = limited(free, [&] { return outcomes({server.url()}, process_environment()); });
    CAPTURE(plain);
    CHECK((plain == "ok:1 " || plain == shortage + ":1 "));
    const std::string tls = limited(free, [&] {
      return outcomes({"https://localhost:" + secure.port()}, [path = certificate.path()](const std::string& name) {
        return name == "RPCROUTE_CA_FILE" ? std::optional(path) : std::nullopt;
      });
    });
    CAPTURE(tls);
    CHECK((tls == "rpc/server left:1 " || tls == shortage + ":1 "));
    const std::string unknown =
        limited(free, [] { return outcomes({"http://nowhere.invalid"}, process_environment()); });
    CAPTURE(unknown);
    CHECK((unknown == "dns/:1 " || unknown == shortage + ":1 "));
  }
}

TEST_CASE("A client that found none asks again when there are some") {
  const Server server(Server::answers("1"));
  CHECK(limited(8, [&] {
          std::vector<int> taken;
          for (int next = 0; (next = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken.push_back(next);
          RpcClient client;
          std::string said = outcome(ask(client, call(server.url())));
          for (const int descriptor : taken) ::close(descriptor);
          return said + ", " + outcome(ask(client, call(server.url())));
        }) == shortage + ", ok");
}

TEST_CASE("When the host takes what was free, connections that were kept make room") {
  std::list<Server> servers;
  std::vector<std::string> urls;
  for (int i = 0; i < 4; ++i) urls.push_back(servers.emplace_back(Server::answers("1")).url());
  CHECK(limited(40, [&] {
          RpcClient client;
          for (int i = 0; i < 3; ++i) ask(client, call(urls[static_cast<std::size_t>(i)]));
          for (int next = 0; (next = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) {
          }
          return outcome(ask(client, call(urls[3]))) + ", " + outcome(ask(client, call(urls[0])));
        }) == "ok, ok");
}

TEST_CASE("WebSocket without descriptors fails for want of them, too") {
  const StreamServer server([](Socket& socket) {
    socket.receive();
    socket.send(R"({"method":"eth_subscription","params":{"result":{"number":"0x10"}}})");
    socket.receive();
  });
  bool some_failed = false;
  bool some_succeeded = false;
  for (int free = 0; free < 10; ++free) {
    for (const std::string& url : {"ws://127.0.0.1:" + server.port(), std::string("wss://some.example")}) {
      INFO(free << " " << url);
      const std::string said = limited(free, [&] {
        HeadRequest request;
        request.provider.ws_url = url;
        request.method = "eth_subscribe";
        request.timeout = Milliseconds(5000);
        HeadWatch watch({request}, process_environment());
        const auto answer = watch.wait(Clock::now() + Milliseconds(20000), {}).at(0).value();
        if (!answer.failure) return std::string("ok");
        return std::string(name(answer.failure->error_class)) + "/" + answer.failure->kind;
      });
      CAPTURE(said);
      some_failed = some_failed || said == shortage;
      some_succeeded = some_succeeded || said == "ok";
      CHECK((said == "ok" || said == shortage || (url.starts_with("wss") && said == "dns/")));
    }
  }
  CHECK(some_failed);
  CHECK(some_succeeded);
}

TEST_CASE("What is spared for the host is at most half of what is left") {
  const auto spare = [](int free) {
    return std::stoi(limited(free, [] { return std::to_string(spare_descriptors()); }));
  };
  CHECK(spare(0) == 0);
  CHECK(spare(1) == 1);
  CHECK(spare(9) == 5);
  CHECK(spare(64) == 32);
  CHECK(spare(200) == 168);
}

#endif
