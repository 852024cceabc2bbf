// What became of a probe transaction: the labels that the models learn.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "chain/receipt.hpp"
#include "rpc/failure.hpp"
#include "rpc/provider.hpp"

namespace rpcroute::transaction {

enum class State { prepared, pending, confirmed, reverted, rejected, timeout };

/// The text that stands in the column `state`.
std::string_view name(State state);

/// A row of tx_outcomes without its tx_id.
struct Record {
  double timestamp = 0;  ///< Unix seconds of the broadcast; of the preparation or refusal when there was none
  std::string provider_id;
  std::string chain;
  std::string region;
  std::optional<std::string> tx_hash;  ///< none for what tx_probe calls rejected
  std::optional<std::string> raw;      ///< the signed bytes, while the transaction is prepared or pending
  std::optional<std::uint64_t> nonce;  ///< none for what tx_probe calls rejected: the next one gets it
  std::int64_t overlap = 0;            ///< earlier ones of the account not yet mined at the broadcast
  std::optional<double> propensity;    ///< of the draw; empty when the statement forced it
  State state = State::rejected;
  std::optional<int> status;                        ///< of the receipt
  std::optional<double> duration_sec;               ///< broadcast → first receipt anywhere; timeout_sec for a timeout
  std::optional<double> own_receipt_sec;            ///< broadcast → receipt at the provider itself
  std::optional<std::string_view> duration_source;  ///< "receipt", or "block" when no clock of ours was looking
  std::optional<double> submit_ms;                  ///< broadcast → acknowledgement
  std::optional<std::int64_t> submit_head;          ///< height as the other providers saw it at the broadcast
  std::optional<std::int64_t> block_number;
  std::optional<std::int64_t> block_timestamp;  ///< whole seconds
  std::optional<std::int64_t> blocks_waited;    ///< block_number - submit_head; empty when that is negative
  std::optional<std::int64_t> gas_used;
  std::optional<std::int64_t> effective_gas_price;  ///< wei
  std::optional<rpc::ErrorClass> error_class;
  std::string error;                       ///< for people; empty when there is none
  std::optional<double> preconfirmed_sec;  ///< broadcast → first receipt of a block that was not sealed yet
  std::optional<double> max_cost_gwei;     ///< what it can cost at most; empty when nothing was signed

  void fail(const rpc::Failure& failure) {
    error_class = failure.error_class;
    error = failure.message;
  }
};

/// A record that names its provider and nothing more.
Record record_for(const rpc::Provider& provider, const std::string& region, double timestamp);

/// Puts what a receipt says into a record; durations are the caller's.
void fill(Record& record, const chain::Receipt& receipt);

/// Puts the block into a record: the transaction is in it.
void fill_block(Record& record, std::uint64_t number, std::optional<std::int64_t> timestamp);

}  // namespace rpcroute::transaction
