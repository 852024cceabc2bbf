// What becomes of a question when memory runs out, at any point: libcurl's C frames must not see an exception. Not
// under the sanitizers, which have an operator new of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)

#include <catch2/catch.hpp>
#include <cstdlib>
#include <new>
#include <optional>

#include "rpc/client.hpp"
#include "rpc/resolver.hpp"
#include "rpc_asking.hpp"

namespace {

thread_local long allocations_until_failure = -1;  // of this thread; negative: never

bool fails_now() {
  return allocations_until_failure >= 0 && allocations_until_failure-- == 0;
}

}  // namespace

// Not inlined, where the compiler would miss the pair of an allocation in a library.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (!fails_now()) {
    if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  }
  throw std::bad_alloc();
}

[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}

[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

using namespace rpcroute::rpc;
using namespace rpcroute::tests;

namespace {

/// The n-th allocation of this thread fails while it lives.
class Shortage {
 public:
  explicit Shortage(long n) { allocations_until_failure = n; }
  ~Shortage() { allocations_until_failure = -1; }
  Shortage(const Shortage&) = delete;
  Shortage& operator=(const Shortage&) = delete;

  static bool happened() { return allocations_until_failure < 0; }
};

}  // namespace

TEST_CASE("A question during which memory ran out is answered or given up, and the next one is answered") {
  const Server server([](Peer& peer, const Request& request) {
    return peer.error(request, R"({"code":-32000,"message":"a message longer than a short string"})", "200 OK",
                      "Retry-After: Fri, 01 Jan 2100 00:00:00 GMT\r\nContent-Encoding: identity\r\nX: y\r\n");
  });
  replace_system_look_up([](const std::string&, const std::string& port) {
    return Resolution{{*numeric_endpoint("127.0.0.1", port)}, {}, {}};
  });
  const std::string host = GENERATE("127.0.0.1", "some.example");
  const std::string url = "http://" + host + ":" + std::to_string(server.port());
  int exceptions = 0;
  int answers = 0;
  RpcClient client;
  for (long n = 0;; ++n) {
    INFO(n);
    client.submit(call(url));
    std::optional<Answer> answer;
    bool exhausted = false;
    try {
      const Shortage shortage(n);
      auto next = client.next(Clock::now() + Milliseconds(20000), {});
      exhausted = !Shortage::happened();
      if (next) answer = std::move(next->second);
    } catch (const std::bad_alloc&) {
      ++exceptions;
    }
    if (answer) ++answers;
    client.cancel_all();
    const Answer after = ask(client, call(url));
    CHECK(error_class(after) == "rpc");
    if (exhausted) break;
    REQUIRE(n < 5000);
  }
  CHECK(exceptions > 0);
  CHECK(answers > 0);
  replace_system_look_up({});
}

#endif
