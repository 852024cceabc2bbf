#include "observe/observe.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <latch>

#include "rpc_server.hpp"
#include "rpc_stream_server.hpp"

using namespace rpcroute::observe;
using namespace rpcroute;
using rpcroute::tests::Peer;
using rpcroute::tests::Request;
using rpcroute::tests::Server;
using rpcroute::tests::Socket;
using rpcroute::tests::StreamServer;

namespace {

rpc::Provider provider(const std::string& id, const std::string& url) {
  rpc::Provider provider;
  provider.provider_id = id;
  provider.chain = "test";
  provider.url = url;
  return provider;
}

std::string error_class(const Observation& observation) {
  CHECK(observation.ok != observation.failure.has_value());
  return observation.failure ? std::string(rpc::name(observation.failure->error_class)) : "none";
}

/// Asks everybody for the same; no methods are the heights.
std::vector<Observation> observe_all(rpc::RpcClient& client, const std::vector<rpc::Provider>& providers,
                                     const std::vector<std::string>& methods, const Round& round,
                                     const rpc::Interrupt& interrupt = {}) {
  std::vector<Target> targets;
  for (const rpc::Provider& provider : providers) targets.push_back({provider, methods});
  return observe::observe(client, targets, round, interrupt);
}

bool stall(Peer& peer, const Request&) {
  peer.stall();
  return false;
}

}  // namespace

TEST_CASE("Every provider, method and sample has its observation, in that order") {
  const Server a(Server::answers("\"0x10\""));
  const Server b(Server::answers("\"0x11\""));
  const std::vector<rpc::Provider> providers = {provider("a", a.url()), provider("b", b.url())};
  const std::vector<std::string> methods = {"eth_blockNumber", "eth_chainId"};
  Round round;
  round.samples = 2;
  round.region = "here";
  round.mode = GENERATE(Mode::parallel, Mode::sequential);
  rpc::RpcClient client;
  const auto observations = observe_all(client, providers, methods, round, {});
  REQUIRE(observations.size() == 8);
  for (std::size_t i = 0; i < 8; ++i) {
    const Observation& observation = observations[i];
    CHECK(observation.provider_id == (i < 4 ? "a" : "b"));
    CHECK(observation.method == methods[i / 2 % 2]);
    CHECK(observation.sample == static_cast<int>(i % 2) + 1);
    CHECK(observation.region == "here");
    CHECK(observation.chain == "test");
    CHECK(error_class(observation) == "none");
    CHECK(observation.latency_ms.value() > 0);
    CHECK(observation.http_status == 200);
    CHECK(observation.block_number.has_value() == (observation.method == "eth_blockNumber"));
  }
  CHECK(observations[0].block_number == 0x10);
  CHECK(observations[4].block_number == 0x11);
  CHECK(a.requests() == 4);
  CHECK(b.requests() == 4);
}

TEST_CASE("Sequential polls have one request in flight at any moment") {
  std::atomic<int> in_flight = 0;
  std::atomic<int> most = 0;
  const auto behaviour = [&](Peer& peer, const Request& request) {
    most = std::max(most.load(), ++in_flight);
    --in_flight;
    return peer.result(request, "\"0x1\"");
  };
  const Server a(behaviour);
  const Server b(behaviour);
  const std::vector<rpc::Provider> providers = {provider("a", a.url()), provider("b", b.url())};
  Round round;
  round.mode = Mode::sequential;
  round.samples = 5;
  rpc::RpcClient client;
  CHECK(observe_all(client, providers, {}, round, {}).size() == 10);
  CHECK(most == 1);
  CHECK(a.connections() == 1);
}

TEST_CASE("One provider's failure is its own observation and leaves the others alone") {
  const Server good(Server::answers("\"0x10\""));
  const Server wrong(Server::answers("null"));
  const Server silent(stall);
  rpc::Provider unusable = provider("u", good.url());
  unusable.config_error = "no such chain";
  const std::vector<rpc::Provider> providers = {provider("g", good.url()), provider("w", wrong.url()),
                                                provider("s", silent.url()), provider("c", "ftp://x"), unusable};
  Round round;
  round.timeout = rpc::Milliseconds(300);
  rpc::RpcClient client;
  const auto observations = observe_all(client, providers, {}, round, {});
  REQUIRE(observations.size() == 5);
  CHECK(error_class(observations[0]) == "none");
  CHECK(error_class(observations[1]) == "malformed");
  CHECK_FALSE(observations[1].block_number);
  CHECK(error_class(observations[2]) == "timeout");
  CHECK_FALSE(observations[2].latency_ms);
  CHECK(error_class(observations[3]) == "config");
  CHECK(error_class(observations[4]) == "config");
  CHECK(observations[4].failure->message == "no such chain");
  CHECK(good.requests() == 1);
  for (const Observation& observation : observations) CHECK(observation.timestamp > 1.6e9);
}

TEST_CASE("Each kind of chain is asked for its height with its own method") {
  const Server server([](Peer& peer, const Request& request) {
    return peer.result(request, request.method() == "getSlot" ? "400" : "\"0x10\"");
  });
  rpc::Provider solana = provider("s", server.url());
  solana.kind = chain::ChainKind::solana;
  const std::vector<rpc::Provider> providers = {provider("e", server.url()), solana};
  rpc::RpcClient client;
  const auto observations = observe_all(client, providers, {}, Round{}, {});
  CHECK(observations[0].method == "eth_blockNumber");
  CHECK(observations[0].block_number == 16);
  CHECK(observations[1].method == "getSlot");
  CHECK(observations[1].block_number == 400);
}

TEST_CASE("Chains of every kind are asked in one round") {
  // Neither answers before both are asked.
  std::latch both(2);
  const auto behaviour = [&](Peer& peer, const Request& request) {
    both.arrive_and_wait();
    return peer.result(request, request.method() == "getSlot" ? "400" : "\"0x10\"");
  };
  const Server a(behaviour);
  const Server b(behaviour);
  rpc::Provider solana = provider("s", b.url());
  solana.kind = chain::ChainKind::solana;
  rpc::RpcClient client;
  for (const Observation& observation : observe_all(client, {provider("e", a.url()), solana}, {}, Round{}, {})) {
    CHECK(error_class(observation) == "none");
  }
}

TEST_CASE("Who says he is on another chain than his own is config, and what he said is kept") {
  const Server server([](Peer& peer, const Request& request) {
    if (request.method() == "eth_getBlockByNumber") {
      return peer.result(request,
                         R"({"number":"0x10","hash":"0x)" + std::string(64, 'a') + R"(","timestamp":"0x65000000"})");
    }
    return peer.result(request, request.method() == "getGenesisHash" ? "\"5eykt\"" : "\"0xa4b1\"");
  });
  rpc::Provider arbitrum = provider("42161", server.url());
  arbitrum.chain_id = 42161;
  rpc::Provider mainnet = provider("1", server.url());
  mainnet.chain_id = 1;
  rpc::Provider solana = provider("5eykt", server.url());
  solana.kind = chain::ChainKind::solana;
  solana.genesis_hash = "5eykt";
  rpc::Provider devnet = solana;
  devnet.genesis_hash = "EtWTR";
  const std::vector<Target> targets = {{arbitrum, {"eth_chainId", "eth_getBlockByNumber"}},
                                       {mainnet, {"eth_chainId", "eth_blockNumber"}},
                                       {provider("nobody knows", server.url()), {"eth_chainId"}},
                                       {solana, {"getGenesisHash"}},
                                       {devnet, {"getGenesisHash"}}};
  rpc::RpcClient client;
  const auto observations = observe::observe(client, targets, Round{}, {});
  REQUIRE(observations.size() == 7);
  CHECK(error_class(observations[0]) == "none");
  CHECK(observations[0].identity.chain_id == 42161);
  CHECK(observations[1].identity.block_timestamp == 0x65000000);
  CHECK(observations[1].block_number == 0x10);
  CHECK(error_class(observations[2]) == "config");
  CHECK(observations[2].failure->kind == "wrong_chain");
  CHECK(observations[2].failure->message == "the node is on chain 42161, not on 1");
  CHECK(observations[2].identity.chain_id == 42161);
  CHECK(observations[2].latency_ms);
  CHECK(error_class(observations[3]) == "none");  // its height says nothing of its chain
  CHECK(error_class(observations[4]) == "none");
  CHECK(observations[5].identity.genesis_hash == "5eykt");
  CHECK(error_class(observations[5]) == "none");
  CHECK(observations[6].failure->kind == "wrong_chain");
}

TEST_CASE("A method that does not only read is asked of nobody") {
  const Server server(Server::answers("1"));
  const std::vector<rpc::Provider> providers = {provider("a", server.url())};
  const std::vector<std::string> methods = {"eth_sendRawTransaction", "getSlot"};
  rpc::RpcClient client;
  for (const Observation& observation : observe_all(client, providers, methods, Round{}, {})) {
    CHECK(error_class(observation) == "config");
  }
  CHECK(server.requests() == 0);
}

TEST_CASE("Parameters are the method's own or the caller's") {
  std::mutex mutex;
  std::vector<std::string> bodies;
  const Server server([&](Peer& peer, const Request& request) {
    const std::lock_guard lock(mutex);
    bodies.push_back(request.body);
    return peer.result(request, "\"0x1\"");
  });
  const std::vector<rpc::Provider> providers = {provider("a", server.url())};
  const std::vector<std::string> methods = {"eth_getBalance"};
  rpc::RpcClient client;
  Round round;
  observe_all(client, providers, methods, round, {});
  round.params["eth_getBalance"] = R"(["0xabc","latest"])";
  observe_all(client, providers, methods, round, {});
  REQUIRE(bodies.size() == 2);
  CHECK(bodies[0].find(R"("params":["0x0000000000000000000000000000000000000000","latest"])") != std::string::npos);
  CHECK(bodies[1].find(R"("params":["0xabc","latest"])") != std::string::npos);
}

TEST_CASE("Past the round's deadline the unanswered are timeouts, and nobody more is asked") {
  const Server silent(stall);
  const std::vector<rpc::Provider> providers = {provider("a", silent.url()), provider("b", silent.url())};
  Round round;
  round.timeout = rpc::Milliseconds(60000);
  round.deadline = rpc::Milliseconds(100);
  round.mode = GENERATE(Mode::parallel, Mode::sequential);
  rpc::RpcClient client;
  const auto observations = observe_all(client, providers, {}, round, {});
  CHECK(error_class(observations[0]) == "timeout");
  CHECK(error_class(observations[1]) == "timeout");
  CHECK(observations[0].failure->kind == "deadline");
  CHECK(silent.requests() == (round.mode == Mode::parallel ? 2 : 1));
  CHECK(client.outstanding() == 0);
}

TEST_CASE("An interrupted round leaves nothing outstanding") {
  const Server silent(stall);
  const std::vector<rpc::Provider> providers = {provider("a", silent.url())};
  rpc::RpcClient client;
  int asked = 0;
  CHECK_THROWS_AS(observe_all(client, providers, {}, Round{}, [&] { return ++asked > 2; }), rpc::Interrupted);
  CHECK(client.outstanding() == 0);
}

TEST_CASE("WebSocket evidence stands beside the polls of the same round") {
  const Server http(Server::answers("\"0x10\""));
  const StreamServer heads([](Socket& socket) {
    const bool evm = socket.receive().find("eth_subscribe") != std::string::npos;
    socket.send(R"({"jsonrpc":"2.0","id":1,"result":1})");
    socket.send(evm ? R"({"method":"eth_subscription","params":{"result":{"number":"0x20"}}})"
                    : R"({"method":"slotNotification","params":{"result":{"slot":500,"parent":499,"root":400}}})");
    socket.receive();
  });
  rpc::Provider evm = provider("e", http.url());
  evm.ws_url = "ws://127.0.0.1:" + heads.port();
  rpc::Provider solana = evm;
  solana.kind = chain::ChainKind::solana;
  const std::vector<rpc::Provider> providers = {evm, solana, provider("n", http.url())};
  const std::vector<std::string> methods = {"ws"};
  rpc::RpcClient client;
  const auto observations = observe_all(client, providers, methods, Round{}, {});
  CHECK(error_class(observations[0]) == "none");
  CHECK(observations[0].block_number == 0x20);
  CHECK(observations[0].first_message_ms.value() > 0);
  CHECK(observations[1].block_number == 500);
  CHECK(error_class(observations[2]) == "config");
}
