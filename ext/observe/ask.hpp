// One question to many providers.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "observe/observe.hpp"
#include "rpc/client.hpp"

namespace rpcroute::observe {

struct Question {
  std::string method;
  std::optional<std::string> params;  ///< JSON array; nullopt: the method's default
  Mode mode = Mode::parallel;
  rpc::Milliseconds timeout{3500};
  std::size_t max_response_bytes = std::size_t{8} << 20;
};

/// Asks every provider once; the answers come in the providers' order. Throws rpc::Interrupted; then nothing of it is
/// outstanding.
std::vector<rpc::Answer> ask(rpc::RpcClient& client, std::span<const rpc::Provider> providers, const Question& question,
                             const rpc::Interrupt& interrupt);

}  // namespace rpcroute::observe
