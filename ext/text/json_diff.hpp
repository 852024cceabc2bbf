// Where two JSON values differ.
#pragma once

#include <string>

#include "text/budget.hpp"
#include "text/json.hpp"

namespace rpcroute::text {

/// JSON array of the paths (SQLite's: `$.logs[0].data`) at which two values differ whose members are ordered by name,
/// none twice; where one side has nothing, that path. Throws OverBudget when the paths take more than `max_bytes`.
std::string json_differences(const Json& a, const Json& b, std::size_t max_bytes, Budget& budget);

}  // namespace rpcroute::text
