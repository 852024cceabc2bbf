#include "evm_json.hpp"

namespace rpcroute::devnet {
namespace {

const std::string& empty_bloom() {
  static const std::string bloom = hex(Bytes(256));
  return bloom;
}

constexpr const char* no_uncles_hash = "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347";

void write_header(JsonText& json, const Block& block) {
  json.field("baseFeePerGas", quantity(block.base_fee)).field("difficulty", "0x0").field("extraData", "0x");
  json.field("gasLimit", quantity(Block::gas_limit)).field("gasUsed", quantity(block.gas_used));
  json.field("hash", block.hash).field("logsBloom", empty_bloom()).field("miner", Address{});
  json.field("mixHash", block.mix).field("nonce", "0x0000000000000000").field("number", quantity(block.number));
  json.field("parentHash", block.parent).field("receiptsRoot", block.transactions_root);
  json.field("sha3Uncles", no_uncles_hash).field("stateRoot", block.mix);
  json.field("timestamp", quantity(block.timestamp)).field("transactionsRoot", block.transactions_root);
}

void write_access_list(JsonText& json, const Rlp& list) {
  json.key("accessList").begin_array();
  for (const auto& entry : list.items) {
    json.begin_object().field("address", hex(entry.items[0].bytes)).key("storageKeys").begin_array();
    for (const auto& key : entry.items[1].items) json.value(hex(key.bytes));
    json.end_array().end_object();
  }
  json.end_array();
}

void write_place(JsonText& json, const std::optional<Inclusion>& inclusion) {
  const auto text = [&](auto&& make) {
    return inclusion ? std::optional<std::string>(make(*inclusion)) : std::optional<std::string>();
  };
  json.field("blockHash", text([](const Inclusion& i) { return hex(i.block->hash); }));
  json.field("blockNumber", text([](const Inclusion& i) { return quantity(i.block->number); }));
  json.field("transactionIndex", text([](const Inclusion& i) { return quantity(std::uint64_t{i.index}); }));
}

}  // namespace

std::string block_json(const Block& block, bool whole_transactions) {
  JsonText json;
  json.begin_object();
  write_header(json, block);
  json.field("size", quantity(block.size)).key("transactions").begin_array();
  for (std::size_t i = 0; i < block.transactions.size(); ++i) {
    const auto& tx = block.transactions[i];
    if (whole_transactions)
      json.raw(transaction_json(tx, Inclusion{&block, i}));
    else
      json.value(tx.hash);
  }
  return json.end_array().key("uncles").begin_array().end_array().end_object().take();
}

std::string header_json(const Block& block) {
  JsonText json;
  json.begin_object();
  write_header(json, block);
  return json.end_object().take();
}

std::string transaction_json(const Transaction& tx, const std::optional<Inclusion>& inclusion) {
  JsonText json;
  json.begin_object();
  write_place(json, inclusion);
  json.field("from", tx.from).field("to", tx.to).field("gas", quantity(tx.gas));
  json.field("gasPrice", quantity(inclusion ? tx.gas_price(inclusion->block->base_fee) : tx.max_fee));
  json.field("maxFeePerGas", quantity(tx.max_fee)).field("maxPriorityFeePerGas", quantity(tx.tip));
  json.field("hash", tx.hash).field("input", hex(tx.data)).field("nonce", quantity(tx.nonce));
  json.field("value", quantity(tx.value)).field("type", "0x2").field("chainId", quantity(tx.chain_id));
  write_access_list(json, tx.access_list);
  const auto parity = quantity(std::uint64_t{tx.y_parity});
  json.field("v", parity).field("r", quantity(tx.r)).field("s", quantity(tx.s)).field("yParity", parity);
  return json.end_object().take();
}

std::string receipt_json(const Inclusion& inclusion) {
  const auto& tx = inclusion.transaction();
  std::uint64_t cumulative = 0;
  for (std::size_t i = 0; i <= inclusion.index; ++i) cumulative += inclusion.block->transactions[i].intrinsic_gas();
  JsonText json;
  json.begin_object();
  write_place(json, inclusion);
  json.field("contractAddress", nullptr).field("cumulativeGasUsed", quantity(cumulative));
  json.field("effectiveGasPrice", quantity(tx.gas_price(inclusion.block->base_fee))).field("from", tx.from);
  json.field("gasUsed", quantity(tx.intrinsic_gas())).key("logs").begin_array().end_array();
  json.field("logsBloom", empty_bloom()).field("status", "0x1").field("to", tx.to);
  return json.field("transactionHash", tx.hash).field("type", "0x2").end_object().take();
}

}  // namespace rpcroute::devnet
