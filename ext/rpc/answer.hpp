// From a reply of the transport to the answer of a call.
#pragma once

#include <cstdint>
#include <string>

#include "rpc/client.hpp"
#include "rpc/endpoint.hpp"
#include "rpc/http.hpp"
#include "text/budget.hpp"

namespace rpcroute::rpc {

/// What must be known about a call to read its answer.
struct Asked {
  Endpoint endpoint;
  chain::ChainKind chain;
  std::string method;
  std::uint64_t id;
};

/// Decodes, classifies and redacts. Throws what the pulse throws.
Answer read_answer(HttpReply reply, const Asked& asked, const text::Pulse& pulse);

/// The answer to a call that was never made.
Answer unasked(Failure failure);

}  // namespace rpcroute::rpc
