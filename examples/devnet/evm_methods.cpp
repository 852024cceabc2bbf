// The Ethereum methods of a provider, in geth's words.
#include <algorithm>
#include <array>
#include <map>
#include <variant>

#include "evm_json.hpp"
#include "json_rpc.hpp"

namespace rpcroute::devnet {
namespace {

/// How far behind the head the tags "safe" and "finalized" stay: one and two epochs.
constexpr std::uint64_t safe_depth = 32, finalized_depth = 64;

Wei suggested_tip() {
  return 1'000'000'000;
}

const Chain& chain(const MethodCall& call) {
  return call.node.world().chain;
}

std::uint64_t below(const MethodCall& call, std::uint64_t depth) {
  return call.view - std::min(depth, call.view - chain(call).first().number);
}

MethodResult with_height(const MethodCall& call, MethodResult result, std::uint64_t height) {
  result.height = {height, chain(call).head().number, height};
  return result;
}

/// The height that a block parameter means: a tag, a number, or an object of EIP-1898.
std::variant<std::uint64_t, MethodResult> height_of(const MethodCall& call, const Json& block) {
  if (const Json* number = member(block, "blockNumber")) return height_of(call, *number);
  if (const Json* hash_text = member(block, "blockHash")) {
    const auto hash = parse_fixed<32>(text_of(*hash_text));
    const Block* found = hash ? chain(call).by_hash(*hash) : nullptr;
    if (found && found->number <= call.view) return found->number;
    return error(-32000, "header for hash not found");
  }
  const auto text = text_of(block);
  if (block.IsNull() || text == "latest" || text == "pending") return call.view;
  if (text == "earliest") return chain(call).first().number;
  if (text == "safe") return below(call, safe_depth);
  if (text == "finalized") return below(call, finalized_depth);
  const auto number = parse_quantity(text);
  if (!number) return invalid_params("invalid argument: block number must be a tag or a hex quantity");
  return *number;
}

/// The state at a block parameter, or why there is none.
std::variant<std::uint64_t, MethodResult> state_height(const MethodCall& call, const Json& block) {
  auto height = height_of(call, block);
  if (const auto* number = std::get_if<std::uint64_t>(&height)) {
    if (*number > call.view || *number < chain(call).first().number) return error(-32000, "header not found");
  }
  return height;
}

std::optional<Address> address_of(const Json& json) {
  return parse_fixed<20>(text_of(json));
}

MethodResult no_address() {
  return invalid_params("invalid argument 0: hex string has length 0, want 40 for common.Address");
}
MethodResult no_hash() {
  return invalid_params("invalid argument 0: hex string has length 0, want 64 for common.Hash");
}

MethodResult block_number(const MethodCall& call) {
  return with_height(call, text_result(quantity(call.view)), call.view);
}

MethodResult chain_id(const MethodCall& call) {
  return text_result(quantity(chain(call).chain_id()));
}
MethodResult net_version(const MethodCall& call) {
  return text_result(std::to_string(chain(call).chain_id()));
}
MethodResult syncing(const MethodCall&) {
  return result("false");
}
MethodResult client_version(const MethodCall&) {
  return text_result("rpcroute-devnet/v0.1.0");
}
MethodResult no_code(const MethodCall&) {
  return text_result("0x");
}
MethodResult no_logs(const MethodCall&) {
  return result("[]");
}

MethodResult get_block_by_number(const MethodCall& call) {
  if (!call.param(0).IsString()) return invalid_params("missing value for required argument 0");
  const auto height = height_of(call, call.param(0));
  if (const auto* failed = std::get_if<MethodResult>(&height)) return *failed;
  const auto number = std::get<std::uint64_t>(height);
  const Block* block = number <= call.view ? chain(call).by_number(number) : nullptr;
  const bool whole = call.param(1).IsTrue();
  auto answer = result(block ? block_json(*block, whole) : "null");
  return text_of(call.param(0)) == "latest" ? with_height(call, std::move(answer), number) : answer;
}

MethodResult get_block_by_hash(const MethodCall& call) {
  const auto hash = parse_fixed<32>(text_of(call.param(0)));
  if (!hash) return no_hash();
  const Block* block = chain(call).by_hash(*hash);
  return result(block && block->number <= call.view ? block_json(*block, call.param(1).IsTrue()) : "null");
}

MethodResult get_balance(const MethodCall& call) {
  const auto address = address_of(call.param(0));
  if (!address) return no_address();
  const auto height = state_height(call, call.param(1));
  if (const auto* failed = std::get_if<MethodResult>(&height)) return *failed;
  return text_result(quantity(chain(call).state(*address, std::get<std::uint64_t>(height)).balance));
}

MethodResult get_transaction_count(const MethodCall& call) {
  const auto address = address_of(call.param(0));
  if (!address) return no_address();
  if (text_of(call.param(1)) == "pending") return text_result(quantity(call.node.pending_nonce(*address, call.view)));
  const auto height = state_height(call, call.param(1));
  if (const auto* failed = std::get_if<MethodResult>(&height)) return *failed;
  return text_result(quantity(chain(call).state(*address, std::get<std::uint64_t>(height)).nonce));
}

MethodResult gas_price(const MethodCall& call) {
  return text_result(quantity(Wei(chain(call).base_fee() + suggested_tip())));
}

MethodResult max_priority_fee(const MethodCall&) {
  return text_result(quantity(suggested_tip()));
}

MethodResult fee_history(const MethodCall& call) {
  const auto wanted =
      call.param(0).IsUint64() ? std::optional(call.param(0).GetUint64()) : parse_quantity(text_of(call.param(0)));
  const auto newest = state_height(call, call.param(1));
  if (const auto* failed = std::get_if<MethodResult>(&newest)) return *failed;
  if (!wanted || *wanted == 0) return invalid_params("invalid argument 0: block count must be at least 1");
  const auto last = std::get<std::uint64_t>(newest);
  const auto first = last + 1 - std::min({*wanted, std::uint64_t{1024}, last + 1 - chain(call).first().number});
  JsonText json;
  json.begin_object().field("oldestBlock", quantity(first)).key("baseFeePerGas").begin_array();
  for (auto n = first; n <= last; ++n) json.value(quantity(chain(call).by_number(n)->base_fee));
  json.value(quantity(chain(call).base_fee())).end_array().key("gasUsedRatio").begin_array();
  for (auto n = first; n <= last; ++n) {
    json.value(static_cast<double>(chain(call).by_number(n)->gas_used) / static_cast<double>(Block::gas_limit));
  }
  json.end_array();
  if (const auto& percentiles = call.param(2); percentiles.IsArray() && !percentiles.Empty()) {
    json.key("reward").begin_array();
    for (auto n = first; n <= last; ++n) {
      json.begin_array();
      for (rapidjson::SizeType i = 0; i < percentiles.Size(); ++i) json.value(quantity(suggested_tip()));
      json.end_array();
    }
    json.end_array();
  }
  return result(json.end_object().take());
}

/// Reads the object of eth_sendTransaction and eth_estimateGas; what is absent gets geth's defaults.
std::variant<Transaction, MethodResult> transaction_of(const MethodCall& call) {
  const Json& fields = call.param(0);
  if (!fields.IsObject()) return invalid_params("missing value for required argument 0");
  const auto amount = [&](const char* key, const Wei& otherwise) {
    const Json* value = member(fields, key);
    return value ? parse_wei(text_of(*value)).value_or(otherwise) : otherwise;
  };
  Transaction tx;
  tx.chain_id = chain(call).chain_id();
  if (const Json* from = member(fields, "from")) tx.from = address_of(*from).value_or(Address{});
  if (const Json* to = member(fields, "to")) tx.to = address_of(*to);
  if (const Json* data = member(fields, member(fields, "input") ? "input" : "data")) {
    tx.data = parse_hex(text_of(*data)).value_or(Bytes{});
  }
  tx.value = amount("value", 0);
  tx.tip = amount("maxPriorityFeePerGas", amount("gasPrice", suggested_tip()));
  tx.max_fee = amount("maxFeePerGas", amount("gasPrice", 2 * chain(call).base_fee() + tx.tip));
  tx.gas = static_cast<std::uint64_t>(amount("gas", tx.intrinsic_gas()));
  tx.nonce = static_cast<std::uint64_t>(amount("nonce", call.node.pending_nonce(tx.from, call.view)));
  return tx;
}

MethodResult estimate_gas(const MethodCall& call) {
  const auto tx = transaction_of(call);
  if (const auto* failed = std::get_if<MethodResult>(&tx)) return *failed;
  return text_result(quantity(std::get<Transaction>(tx).intrinsic_gas()));
}

MethodResult submit(const MethodCall& call, const Transaction& tx) {
  const auto refused = call.node.submit(tx, call.view);
  return refused ? error(*refused) : text_result(hex(tx.hash));
}

MethodResult send_raw_transaction(const MethodCall& call) {
  const auto raw = parse_hex(text_of(call.param(0)));
  if (!raw) return invalid_params("invalid argument 0: json: cannot unmarshal into Go value of type hexutil.Bytes");
  const auto decoded = decode_transaction(*raw, chain(call).chain_id());
  if (const auto* refused = std::get_if<Rejection>(&decoded)) return error(*refused);
  return submit(call, std::get<Transaction>(decoded));
}

MethodResult send_transaction(const MethodCall& call) {
  auto decoded = transaction_of(call);
  if (const auto* failed = std::get_if<MethodResult>(&decoded)) return *failed;
  auto& tx = std::get<Transaction>(decoded);
  for (const auto& [address, key] : call.node.world().unlocked) {
    if (address != tx.from) continue;
    sign(tx, key);
    return submit(call, tx);
  }
  return error(-32000, "unknown account");
}

MethodResult accounts(const MethodCall& call) {
  JsonText json;
  json.begin_array();
  for (const auto& [address, key] : call.node.world().unlocked) json.value(address);
  return result(json.end_array().take());
}

/// Where the transaction lies, if the node has come that far.
std::optional<Inclusion> inclusion_in_view(const MethodCall& call, const Hash& hash) {
  const auto inclusion = chain(call).find(hash);
  return inclusion && inclusion->block->number <= call.view ? inclusion : std::nullopt;
}

MethodResult get_receipt(const MethodCall& call) {
  const auto hash = parse_fixed<32>(text_of(call.param(0)));
  if (!hash) return no_hash();
  const auto inclusion = inclusion_in_view(call, *hash);
  return result(inclusion ? receipt_json(*inclusion) : "null");
}

MethodResult get_transaction(const MethodCall& call) {
  const auto hash = parse_fixed<32>(text_of(call.param(0)));
  if (!hash) return no_hash();
  if (const auto inclusion = inclusion_in_view(call, *hash)) {
    return result(transaction_json(inclusion->transaction(), inclusion));
  }
  const Transaction* pending = call.node.pending(*hash, call.view);
  return result(pending ? transaction_json(*pending, std::nullopt) : "null");
}

MethodResult no_notifications(const MethodCall&) {
  return error(-32601, "notifications not supported");
}

const std::map<std::string_view, MethodResult (*)(const MethodCall&)> methods = {
    {"eth_accounts", accounts},
    {"eth_blockNumber", block_number},
    {"eth_call", no_code},
    {"eth_chainId", chain_id},
    {"eth_estimateGas", estimate_gas},
    {"eth_feeHistory", fee_history},
    {"eth_gasPrice", gas_price},
    {"eth_getBalance", get_balance},
    {"eth_getBlockByHash", get_block_by_hash},
    {"eth_getBlockByNumber", get_block_by_number},
    {"eth_getCode", no_code},
    {"eth_getLogs", no_logs},
    {"eth_getTransactionByHash", get_transaction},
    {"eth_getTransactionCount", get_transaction_count},
    {"eth_getTransactionReceipt", get_receipt},
    {"eth_maxPriorityFeePerGas", max_priority_fee},
    {"eth_sendRawTransaction", send_raw_transaction},
    {"eth_sendTransaction", send_transaction},
    {"eth_subscribe", no_notifications},
    {"eth_syncing", syncing},
    {"net_version", net_version},
    {"web3_clientVersion", client_version},
};

}  // namespace

MethodResult call_evm(const MethodCall& call) {
  const auto method = methods.find(call.method);
  if (method != methods.end()) return method->second(call);
  return error(-32601, "the method " + std::string(call.method) + " does not exist/is not available");
}

}  // namespace rpcroute::devnet
