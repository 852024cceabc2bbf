// Every table-valued function of rpcroute, each in a file of its name.
#pragma once

#include "sqlite/table.hpp"

namespace rpcroute::tables {

const sqlite::Table& asof_join();
const sqlite::Table& rpcroute_reference();

}  // namespace rpcroute::tables
