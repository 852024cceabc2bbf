// What a provider's answer to a transaction means for its fate. What its words mean is rpc/classify's to say.
#pragma once

#include <string>

#include "rpc/client.hpp"

namespace rpcroute::transaction {

/// Whether a send was taken.
enum class Acceptance {
  accepted,    // acknowledged, or known already
  refused,     // said no; our own hash is still looked up once, for nodes have said no to what they mined
  nonce_used,  // said that the nonce is used up: by this very transaction, perhaps
  unsent,      // no byte of it can have left
  unclear,     // an answer is missing or says nothing: it may have landed
};

struct Verdict {
  Acceptance acceptance = Acceptance::unclear;
  rpc::ErrorClass error_class = rpc::ErrorClass::rpc;  ///< unless accepted
  std::string message;                                 ///< unless accepted
};

/// Judges the answer to eth_sendRawTransaction or eth_sendTransaction. An acknowledgement without a failure is
/// accepted; its hash is the caller's to check.
Verdict judge_send(const rpc::Answer& answer);

/// Whether the search for a receipt was answered with the error that means "not yet": geth since 1.14, while it indexes
/// its newest blocks.
bool is_indexing(const rpc::Failure& failure);

}  // namespace rpcroute::transaction
