// What the makers of records check alike.
#pragma once

#include "transaction/life/life.hpp"

namespace rpcroute::transaction {

/// Throws std::invalid_argument naming the argument, what it was and what it may be.
void check_range(const char* argument, double value, double least, double most);
void check(const FollowPlan& plan);

}  // namespace rpcroute::transaction
