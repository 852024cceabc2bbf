#include "transaction/record.hpp"

namespace rpcroute::transaction {

std::string_view name(State state) {
  switch (state) {
    case State::prepared:
      return "prepared";
    case State::pending:
      return "pending";
    case State::confirmed:
      return "confirmed";
    case State::reverted:
      return "reverted";
    case State::rejected:
      return "rejected";
    case State::timeout:
      return "timeout";
  }
  return "";
}

Record record_for(const rpc::Provider& provider, const std::string& region, double timestamp) {
  Record record;
  record.timestamp = timestamp;
  record.provider_id = provider.provider_id;
  record.chain = provider.chain;
  record.region = region;
  return record;
}

void fill(Record& record, const chain::Receipt& receipt) {
  record.state = receipt.succeeded == false ? State::reverted : State::confirmed;
  if (receipt.succeeded) record.status = *receipt.succeeded ? 1 : 0;
  if (receipt.gas_used) record.gas_used = static_cast<std::int64_t>(*receipt.gas_used);
  if (receipt.effective_gas_price) record.effective_gas_price = static_cast<std::int64_t>(*receipt.effective_gas_price);
}

void fill_block(Record& record, std::uint64_t number, std::optional<std::int64_t> timestamp) {
  record.block_number = static_cast<std::int64_t>(number);
  record.block_timestamp = timestamp;
  if (record.submit_head && *record.block_number >= *record.submit_head) {
    record.blocks_waited = *record.block_number - *record.submit_head;
  }
}

}  // namespace rpcroute::transaction
