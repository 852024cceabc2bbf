// tx_send(transactions): sends prepared transactions.
#include "tables/follow_table.hpp"
#include "tables/tables.hpp"

namespace rpcroute::tables {

const sqlite::Table& tx_send() {
  static const sqlite::Table table = follow_table(
      "tx_send", &transaction::send, sqlite::Role::addressee,
      {"tx_send(transactions [, providers [, timeout_sec [, poll_ms]]])",
       "Sends prepared transactions: the bytes tx_probe signed with send = 0, those of one account in the order of "
       "their nonces. Sending the same bytes again is harmless, so a rerun after a crash loses nothing and doubles "
       "nothing.",
       "SELECT tx_hash, state FROM tx_send((SELECT json_group_array(json_object('provider_id', provider_id, 'tx_hash', "
       "tx_hash, 'raw', raw, 'timestamp', timestamp)) FROM tx_outcomes WHERE state = 'prepared'))"});
  return table;
}

}  // namespace rpcroute::tables
