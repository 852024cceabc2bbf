// The height of the chain at the moment of a broadcast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "transaction/conversation/exchange.hpp"
#include "transaction/conversation/fleet.hpp"

namespace rpcroute::transaction {

/// Asks every verified provider for its head while the transaction is on its way, without anybody waiting for the
/// answers. What was asked before the broadcast may be slots old by then: numbering waits for the slowest provider.
class BroadcastHead {
 public:
  /// Must stay where it is while `conversation` goes on.
  BroadcastHead(Conversation& conversation, const Fleet& fleet, std::size_t own, rpc::Milliseconds call_timeout) {
    for (const std::size_t i : fleet.verified()) {
      conversation.ask(
          call_to(fleet, i, "eth_blockNumber", "[]", call_timeout),
          [this, is_own = i == own](const rpc::Answer& answer) { heads_.add(quantity_of(answer), is_own); });
    }
  }
  BroadcastHead(const BroadcastHead&) = delete;
  BroadcastHead& operator=(const BroadcastHead&) = delete;

  /// As the other providers see it, of the answers so far, borne out by the `earlier` one; that one while there are
  /// none.
  std::optional<std::int64_t> of_others(std::optional<std::int64_t> earlier) const {
    Heads heads = heads_;
    if (earlier) heads.add(static_cast<std::uint64_t>(*earlier), true);
    const auto head = heads.of_others();
    return head ? static_cast<std::int64_t>(*head) : earlier;
  }

 private:
  Heads heads_;
};

}  // namespace rpcroute::transaction
