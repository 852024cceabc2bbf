// What a provider's answer to a transaction means for its fate. What its words mean is rpc/classify's to say.
#pragma once

#include "rpc/client.hpp"

namespace rpcroute::transaction {

/// Whether a send was taken.
enum class Acceptance {
  accepted,  ///< acknowledged, or known already
  refused,   ///< the pool or its gateway said no, in words that leave nothing open
  doubted,   ///< said no in other words, or in words that nodes have used of what they mined: it is looked up for a
             ///< while
  unsent,    ///< no byte of it can have left
  unclear,   ///< it left, and no answer tells: it may have landed
};

/// Judges the answer to eth_sendRawTransaction or eth_sendTransaction by whether the request left and whether the node
/// complained, not by what else went wrong. An acknowledgement without a failure is accepted; its hash is the caller's
/// to check.
Acceptance judge_send(const rpc::Answer& answer);

/// The provider seems to have had the transaction before: when it left is unknown.
bool was_known(const rpc::Answer& answer);

/// Whether the search for a receipt was answered with an error that means "not yet", as some nodes say null.
bool is_not_yet(const rpc::Answer& answer);

}  // namespace rpcroute::transaction
