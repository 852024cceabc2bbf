// tx_wait(transactions): follows sent transactions to their receipts.
#include "tables/follow_table.hpp"
#include "tables/tables.hpp"

namespace rpcroute::tables {

const sqlite::Table& tx_wait() {
  static const sqlite::Table table = follow_table(
      "tx_wait", &transaction::wait, sqlite::Role::key,
      {"tx_wait(transactions [, providers [, timeout_sec [, poll_ms]]])",
       "Follows sent transactions, all at once, to their receipts or to timeout_sec after their broadcast. What this "
       "process sent gets its duration; another process's gets duration_source 'block' and a block_timestamp.",
       "SELECT tx_hash, state, duration_sec FROM tx_wait((SELECT json_group_array(json_object('provider_id', "
       "provider_id, 'tx_hash', tx_hash, 'raw', raw, 'timestamp', timestamp)) FROM tx_outcomes WHERE state = "
       "'pending'))"});
  return table;
}

}  // namespace rpcroute::tables
