// What is asked once before anything is signed: whether each provider is on its chain, and what a transfer costs there.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "chain/fees.hpp"
#include "transaction/conversation/exchange.hpp"
#include "transaction/conversation/fleet.hpp"

namespace rpcroute::transaction {

/// The fees of a scan; empty when no provider answered, so that nothing can be sent.
using SurveyThen = std::function<void(std::optional<chain::Fees>)>;

/// Verifies the fleet's chain ids and chooses the fees from what the verified ones tell. `account` is who will send;
/// empty when the nodes sign. Throws std::runtime_error out of the exchange's step when the chain has no base fee or
/// its transfers need more than 21000 gas, and std::invalid_argument as chain::choose_fees does.
void survey(Conversation& conversation, Fleet& fleet, const std::string& account, const chain::FeeWishes& wishes,
            rpc::Milliseconds call_timeout, SurveyThen then);

}  // namespace rpcroute::transaction
