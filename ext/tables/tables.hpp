// Every table-valued function of rpcroute, each in a file of its name.
#pragma once

#include "sqlite/table.hpp"

namespace rpcroute::tables {

const sqlite::Table& rpc_call();
const sqlite::Table& rpc_probe();
const sqlite::Table& asof_join();
const sqlite::Table& model_importance();
const sqlite::Table& model_info();
const sqlite::Table& rpcroute_reference();
const sqlite::Table& tx_probe();
const sqlite::Table& tx_send();
const sqlite::Table& tx_wait();

}  // namespace rpcroute::tables
