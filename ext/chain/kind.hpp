// The kinds of chain, which differ in all that is asked and answered.
#pragma once

namespace rpcroute::chain {

enum class ChainKind { evm, solana };

}  // namespace rpcroute::chain
