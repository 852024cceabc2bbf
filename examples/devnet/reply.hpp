// What goes back to a client, which may be anything but HTTP.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace rpcroute::devnet {

/// The bytes to answer, and how.
struct Reply {
  enum class Delivery {
    whole,
    drip,     ///< a byte every `interval`
    endless,  ///< the bytes, then chunks of white space for ever
    stall,    ///< nothing, until the peer leaves
    reset,    ///< RST
  };
  std::string bytes;
  Delivery delivery = Delivery::whole;
  bool close = false;                    ///< after the bytes
  std::chrono::nanoseconds latency{0};   ///< from the request's arrival to the first byte
  std::chrono::nanoseconds interval{0};  ///< of a drip
};

/// A response with its length; `headers` are whole lines with CRLF.
std::string http_response(int status, std::string_view content_type, std::string_view body,
                          std::string_view headers = {});

}  // namespace rpcroute::devnet
