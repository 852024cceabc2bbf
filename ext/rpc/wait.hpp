// How long rpcroute waits for the world, and how it is told to stop waiting.
#pragma once

#include <chrono>
#include <functional>

namespace rpcroute::rpc {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

/// Asked between waits, at least every 50 ms; true ends the work. See Interrupted.
using Interrupt = std::function<bool()>;

/// Thrown out of a wait when the Interrupt said so.
struct Interrupted {};

/// The longest wait after which the Interrupt is asked again.
constexpr Milliseconds wait_slice{50};

}  // namespace rpcroute::rpc
