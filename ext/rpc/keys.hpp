// Objects of JSON arguments whose keys are a closed list: a misspelt one would otherwise be as good as absent.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rpcroute::rpc {

/// What an object may not have among its `keys`, to be said after "has": one that is not `known`, with the known ones,
/// the nearest first; or one twice. Empty when nothing is wrong.
std::string complaint_about(std::span<const std::string_view> keys, std::span<const std::string_view> known);

}  // namespace rpcroute::rpc
