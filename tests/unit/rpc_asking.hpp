// Asking a provider a question and waiting for its answer, with servers that say what a test wants.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "rpc/client.hpp"
#include "rpc_server.hpp"

namespace rpcroute::tests {

inline rpc::Provider provider(const std::string& url) {
  rpc::Provider provider;
  provider.provider_id = "a";
  provider.url = url;
  return provider;
}

inline rpc::Call call(const std::string& url, rpc::Milliseconds timeout = rpc::Milliseconds(5000)) {
  rpc::Call call;
  call.provider = provider(url);
  call.method = "eth_blockNumber";
  call.timeout = timeout;
  return call;
}

inline rpc::Answer ask(rpc::RpcClient& client, rpc::Call what) {
  client.submit(std::move(what));
  auto answer = client.next(rpc::Clock::now() + rpc::Milliseconds(20000), {});
  REQUIRE(answer);
  return answer->second;
}

inline rpc::Answer ask(Server::Behaviour behaviour, rpc::Milliseconds timeout = rpc::Milliseconds(5000)) {
  const Server server(std::move(behaviour));
  rpc::RpcClient client;
  return ask(client, call(server.url(), timeout));
}

inline std::string error_class(const rpc::Answer& answer) {
  return answer.failure ? std::string(name(answer.failure->error_class)) : "none";
}

/// A server that sends these bytes, whatever it is asked, and closes.
inline Server::Behaviour sends(std::string bytes) {
  return [bytes](Peer& peer, const Request&) { return peer.send(bytes) && false; };
}

inline Server::Behaviour responds(std::string body, std::string status = "200 OK", std::string headers = "") {
  return [=](Peer& peer, const Request&) { return peer.respond(body, status, headers); };
}

}  // namespace rpcroute::tests
