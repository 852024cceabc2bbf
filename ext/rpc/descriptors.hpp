// How many more files and sockets this process may open.
#pragma once

#include <cstddef>

namespace rpcroute::rpc {

/// The soft limit (RLIMIT_NOFILE) minus what is open now and a reserve for the host; at least 8.
std::size_t spare_descriptors();

}  // namespace rpcroute::rpc
