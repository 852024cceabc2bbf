// What each fault makes of a result and of a reply.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fault.hpp"
#include "json_rpc.hpp"
#include "reply.hpp"

namespace rpcroute::devnet {

/// Before the request is processed: the reply instead of an answer. `id` is JSON text.
Reply reply_instead(const Fault& fault, std::string_view id);

/// After the request was processed: what is left of its answer.
Reply reply_lost(const Fault& fault);

/// The answer's body as bytes on the wire, spoilt.
Reply reply_spoilt(const Fault& fault, std::string_view body);

/// The id that the answer carries, as JSON text.
std::string spoilt_id(const Fault& fault, std::string id);

/// Changes the result of a method that the fault is for.
void distort(MethodResult& result, const Fault& fault, std::string_view method, Kind kind);

/// Prepares what takes too long to make while others wait.
void prepare(const Fault& fault);

}  // namespace rpcroute::devnet
