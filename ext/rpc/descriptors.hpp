// How many more files and sockets this process may open, and what to say when it is none.
#pragma once

#include <cstddef>

#include "rpc/failure.hpp"

namespace rpcroute::rpc {

/// What the soft limit (RLIMIT_NOFILE) leaves, minus a reserve for the host: at most 32, and at most half.
std::size_t spare_descriptors();

/// Whether an errno says that the process or the machine has no descriptor left.
bool is_descriptor_shortage(int error);

/// Whether one could be opened just now: for failures that do not tell why.
bool descriptor_is_free();

/// The limit is ours, whoever was to be asked.
Failure descriptor_shortage();

}  // namespace rpcroute::rpc
