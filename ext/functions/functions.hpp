// Every SQL function of rpcroute, one maker for each, in a file of its name.
#pragma once

#include "sqlite/function.hpp"

namespace rpcroute::functions {

sqlite::Function block_lag();

}  // namespace rpcroute::functions
