// Which method tells a chain's height, what its answers look like, and which methods only read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "chain/kind.hpp"

namespace rpcroute::chain {

/// The height in an answer: an EVM block number or a Solana slot.
struct Height {
  std::optional<std::int64_t> value;  ///< nullopt when the answer carries none
  bool malformed = false;             ///< the result is not what the method returns; `problem` says how
  std::string problem;
};

/// `result_json` is the raw text of a JSON-RPC result. Never guesses: `eth_blockNumber` is a quantity ("0x00a1" is 161)
/// or, from a lenient node, a JSON integer; null, "0x", "161", 12.5 and heights above 2^63-1 are malformed. Whether
/// height 0 is to be believed is for the reader of many answers to decide.
Height height_of(ChainKind kind, std::string_view method, std::string_view result_json);

/// `eth_blockNumber` or `getSlot`.
std::string_view default_height_method(ChainKind kind);

/// Whether the method is on the list of those that change nothing: they send, sign, subscribe and administer nothing.
bool is_read_method(ChainKind kind, std::string_view method);

/// The same on the list of any kind.
bool is_read_method(std::string_view method);

/// Parameters with which the method answers on any node: a JSON array, `[]` where it needs none or where no default has
/// a meaning.
std::string default_params(ChainKind kind, std::string_view method);

/// The parameters of the `newHeads` or slot subscription, and the height in one of its notifications' `result`.
struct HeadSubscription {
  std::string_view method;
  std::string_view params;
};
HeadSubscription head_subscription(ChainKind kind);
Height height_of_head(ChainKind kind, std::string_view result_json);

}  // namespace rpcroute::chain
