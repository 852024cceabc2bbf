// One WebSocket connection of a provider: JSON-RPC by message, and heads to whoever subscribed.
#pragma once

#include <memory>
#include <optional>

#include "endpoint.hpp"

namespace rpcroute::devnet {

/// Takes a connection over and accepts its upgrade at that moment.
std::shared_ptr<Subscriber> open_websocket(Endpoint& endpoint, tcp::socket socket, HttpRequest request,
                                           Clock::time_point moment, std::optional<Fault> fault);

}  // namespace rpcroute::devnet
