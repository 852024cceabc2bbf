// libcurl, opened on first use.
#pragma once

namespace rpcroute::rpc {

/// Whether libcurl is there, or can be opened now. Every other file calls it by its own functions and header.
bool curl_is_installed();

}  // namespace rpcroute::rpc
