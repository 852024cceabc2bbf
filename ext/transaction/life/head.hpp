// The height of the chain at the moment of a broadcast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "transaction/conversation/exchange.hpp"
#include "transaction/conversation/fleet.hpp"
#include "transaction/conversation/heads.hpp"

namespace rpcroute::transaction {

/// Asks every verified provider for its head while the transaction is on its way, without anybody waiting for the
/// answers. What was asked before the broadcast may be slots old by then: numbering waits for the slowest provider.
class BroadcastHead {
 public:
  /// Must stay where it is while `conversation` goes on.
  BroadcastHead(Conversation& conversation, const Fleet& fleet, std::size_t own, rpc::Milliseconds call_timeout)
      : own_(own), heads_(fleet, own) {
    for (const std::size_t i : fleet.verified()) {
      conversation.ask(call_to(fleet, i, "eth_blockNumber", "[]", call_timeout),
                       [this, i](const rpc::Answer& answer) { heads_.add(i, quantity_of(answer)); });
    }
  }
  BroadcastHead(const BroadcastHead&) = delete;
  BroadcastHead& operator=(const BroadcastHead&) = delete;

  /// As the other providers see it, of the answers so far, borne out by the `earlier` one; that one while there are
  /// none.
  std::optional<std::int64_t> of_others(std::optional<std::int64_t> earlier) const {
    Heads heads = heads_;
    if (earlier) heads.add(own_, static_cast<std::uint64_t>(*earlier));
    const auto head = heads.of_others();
    return head ? static_cast<std::int64_t>(*head) : earlier;
  }

 private:
  std::size_t own_;
  Heads heads_;
};

}  // namespace rpcroute::transaction
