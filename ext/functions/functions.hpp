// Every SQL function of rpcroute, one maker for each, in a file of its name.
#pragma once

#include "sqlite/function.hpp"

namespace rpcroute::functions {

sqlite::Function asof_join();
sqlite::Function block_lag();
sqlite::Function predict_confirm();
sqlite::Function predict_confirm_named();
sqlite::Function predict_confirm_contributions();
sqlite::Function rpc_canonical();
sqlite::Function rpc_diff();
sqlite::Function rpc_digest();
sqlite::Function rpcroute_debug();
sqlite::Function rpcroute_sha256();
sqlite::Function rpcroute_version();
sqlite::Function train_confirm();
sqlite::Function chain_head();
sqlite::Function median();
sqlite::Function percentile();
sqlite::Function weighted_percentile();

}  // namespace rpcroute::functions
