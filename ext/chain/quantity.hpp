// QUANTITY, the way Ethereum's JSON-RPC writes numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rpcroute::chain {

/// Reads "0x3e8"; leading zeros are forgiven ("0x00a1" is 161). nullopt for anything else: "0x", "0X10", " 0x1",
/// decimals, or a value above 2^63-1.
std::optional<std::int64_t> parse_quantity(std::string_view text);

}  // namespace rpcroute::chain
