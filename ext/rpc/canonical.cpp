#include "rpc/canonical.hpp"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <span>

#include "rpc/classify.hpp"
#include "rpc/json_rpc.hpp"
#include "text/ascii.hpp"
#include "text/digits.hpp"
#include "text/json.hpp"
#include "text/json_tree.hpp"
#include "text/sha256.hpp"

namespace rpcroute::rpc {
namespace {

using Names = std::set<std::string_view>;

/// Fields of type uint in execution-apis, and those of extensions that are numbers to every client that has them.
const Names quantity_fields = {"amount",
                               "balance",
                               "baseFeePerBlobGas",
                               "baseFeePerGas",
                               "blobGasPrice",
                               "blobGasUsed",
                               "blockNumber",
                               "blockTimestamp",
                               "chainId",
                               "cumulativeGasUsed",
                               "currentBlock",
                               "difficulty",
                               "effectiveGasPrice",
                               "excessBlobGas",
                               "gas",
                               "gasLimit",
                               "gasPrice",
                               "gasUsed",
                               "highestBlock",
                               "index",
                               "logIndex",
                               "maxFeePerBlobGas",
                               "maxFeePerGas",
                               "maxPriorityFeePerGas",
                               "nonce",
                               "number",
                               "oldestBlock",
                               "r",
                               "reward",
                               "s",
                               "size",
                               "startingBlock",
                               "status",
                               "timestamp",
                               "totalDifficulty",
                               "transactionIndex",
                               "type",
                               "v",
                               "validatorIndex",
                               "value",
                               "yParity"};

/// Methods whose result is one quantity.
const Names quantity_methods = {"eth_blockNumber",
                                "eth_chainId",
                                "eth_gasPrice",
                                "eth_maxPriorityFeePerGas",
                                "eth_blobBaseFee",
                                "eth_getBalance",
                                "eth_getTransactionCount",
                                "eth_estimateGas",
                                "eth_getBlockTransactionCountByHash",
                                "eth_getBlockTransactionCountByNumber",
                                "eth_getUncleCountByBlockHash",
                                "eth_getUncleCountByBlockNumber",
                                "net_peerCount"};

// The kinds of objects, each by the fields that nodes must agree on.

/// Left out: `miner` (differs on Polygon), `size` and `totalDifficulty` (out of the specification), `withdrawals`,
/// `requestsHash` and `blockAccessListHash` (missing on some); the hash commits to what they say.
const Names block = {"number",           "hash",
                     "parentHash",       "nonce",
                     "sha3Uncles",       "logsBloom",
                     "transactionsRoot", "stateRoot",
                     "receiptsRoot",     "mixHash",
                     "difficulty",       "extraData",
                     "gasLimit",         "gasUsed",
                     "timestamp",        "transactions",
                     "uncles",           "baseFeePerGas",
                     "withdrawalsRoot",  "blobGasUsed",
                     "excessBlobGas",    "parentBeaconBlockRoot"};

const Names transaction = {"blockHash",
                           "blockNumber",
                           "from",
                           "gas",
                           "gasPrice",
                           "maxFeePerGas",
                           "maxPriorityFeePerGas",
                           "maxFeePerBlobGas",
                           "hash",
                           "input",
                           "nonce",
                           "to",
                           "transactionIndex",
                           "value",
                           "type",
                           "accessList",
                           "chainId",
                           "v",
                           "r",
                           "s",
                           "yParity",
                           "blobVersionedHashes",
                           "authorizationList"};

/// Left out: `blockTimestamp` and the fees of second layers.
const Names receipt = {
    "transactionHash",   "transactionIndex", "blockHash",   "blockNumber", "from", "to",     "cumulativeGasUsed",
    "gasUsed",           "contractAddress",  "logs",        "logsBloom",   "type", "status", "root",
    "effectiveGasPrice", "blobGasUsed",      "blobGasPrice"};

/// Left out: `blockTimestamp`, `transactionLogIndex`, `l1BatchNumber`, `logType`.
const Names event_log = {"address",          "topics",    "data",     "blockNumber", "transactionHash",
                         "transactionIndex", "blockHash", "logIndex", "removed"};

/// Left out: the blob fields, absent on some.
const Names fee_history = {"oldestBlock", "baseFeePerGas", "gasUsedRatio", "reward"};

/// Fields whose null is as good as their absence.
const Names optional_fields = {"to",   "contractAddress", "blockHash", "blockNumber", "transactionIndex", "logIndex",
                               "hash", "number"};

bool has(const text::JsonTree& object, std::initializer_list<std::string_view> names) {
  return std::all_of(names.begin(), names.end(), [&](std::string_view name) { return object.find(name) != nullptr; });
}

const Names* record_of(const text::JsonTree& object) {
  if (has(object, {"parentHash", "stateRoot"})) return &block;
  if (has(object, {"transactionHash", "cumulativeGasUsed"})) return &receipt;
  if (has(object, {"address", "topics", "data"})) return &event_log;
  if (has(object, {"hash", "from", "nonce", "input"})) return &transaction;
  if (has(object, {"oldestBlock", "gasUsedRatio"})) return &fee_history;
  return nullptr;
}

bool is_solana(std::string_view method) {
  return !method.empty() && method.find('_') == std::string_view::npos;
}

/// A value's type as its place tells it.
enum class Place { data, quantity, solana };

bool is_zero(const text::JsonTree* value) {
  return value != nullptr && value->is_text() && value->scalar == "0x0";
}

void drop(text::JsonTree& object, std::string_view name) {
  std::erase_if(object.members, [&](const auto& member) { return member.name == name; });
}

void rename(text::JsonTree& object, std::string_view from, std::string to) {
  for (auto& [name, value] : object.members) {
    if (name == from) name = std::move(to);
  }
  std::sort(object.members.begin(), object.members.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
}

void canonicalise(text::JsonTree& tree, Place place);

/// After its fields are canonical. A transaction of type 0 may lack type and chainId; of the other types' v and
/// yParity, which are the same number, clients send one or both.
void settle_transaction(text::JsonTree& object) {
  const bool legacy = object.find("type") == nullptr || is_zero(object.find("type"));
  if (legacy) {
    drop(object, "type");
    drop(object, "chainId");
  } else if (object.find("yParity") != nullptr) {
    drop(object, "v");
  } else {
    rename(object, "v", "yParity");
  }
}

/// A creation that failed made no contract, though some clients name its address; blobs are for type 3 alone.
void settle_receipt(text::JsonTree& object) {
  const text::JsonTree* type = object.find("type");
  const bool blobs = type != nullptr && type->scalar == "0x3";
  if (is_zero(object.find("status"))) drop(object, "contractAddress");
  if (is_zero(type)) drop(object, "type");
  if (!blobs) {
    drop(object, "blobGasPrice");
    drop(object, "blobGasUsed");
  }
}

void settle_log(text::JsonTree& object) {
  const text::JsonTree* removed = object.find("removed");
  if (removed != nullptr && removed->scalar == "false") drop(object, "removed");
}

void canonicalise_object(text::JsonTree& object, Place place) {
  const Names* record = place == Place::solana ? nullptr : record_of(object);
  std::erase_if(object.members, [&](const auto& member) {
    const bool optional = place != Place::solana && member.value.is_null() && optional_fields.contains(member.name);
    return optional || (record != nullptr && !record->contains(member.name));
  });
  for (auto& [name, value] : object.members) {
    // A block's nonce is 8 bytes of data; everybody else's is a number.
    const bool quantity = quantity_fields.contains(name) && !(record == &block && name == "nonce");
    canonicalise(value, place == Place::solana ? place : quantity ? Place::quantity : Place::data);
  }
  if (record == &transaction) settle_transaction(object);
  if (record == &receipt) settle_receipt(object);
  if (record == &event_log) settle_log(object);
}

void canonicalise_scalar(text::JsonTree& value, Place place) {
  const bool number = value.type == text::JsonTree::Type::number;
  if (number) value.scalar = text::canonical_number(value.scalar);
  if (place == Place::quantity && (number || value.scalar.starts_with("0x"))) {
    if (auto quantity = text::canonical_quantity(value.scalar)) {
      value.type = text::JsonTree::Type::text;
      value.scalar = std::move(*quantity);
      return;
    }
  }
  const bool hexadecimal = value.is_text() && value.scalar.starts_with("0x") &&
                           value.scalar.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string::npos;
  if (place != Place::solana && hexadecimal) value.scalar = text::lower(value.scalar);
}

void canonicalise(text::JsonTree& tree, Place place) {
  if (tree.type == text::JsonTree::Type::object) return canonicalise_object(tree, place);
  for (text::JsonTree& element : tree.elements) canonicalise(element, place);
  if (tree.is_text() || tree.type == text::JsonTree::Type::number) canonicalise_scalar(tree, place);
}

text::JsonTree text_tree(std::string_view text) {
  text::JsonTree tree;
  tree.type = text::JsonTree::Type::text;
  tree.scalar = text;
  return tree;
}

/// Nethermind puts a revert's data as "Reverted 0x…".
text::JsonTree canonical_error_data(text::JsonTree data, Place place) {
  constexpr std::string_view prefix = "reverted 0x";
  if (data.is_text() && text::lower(data.scalar).starts_with(prefix)) data.scalar.erase(0, prefix.size() - 2);
  canonicalise(data, place);
  return data;
}

text::JsonTree canonical_error(const text::JsonTree& error, std::string_view method) {
  const bool solana = is_solana(method);
  const auto decoded = decode_response(R"({"id":null,"error":)" + text::to_json(error) + "}", 0);
  const auto& complaint = std::get<RpcError>(decoded);
  const Verdict verdict = classify_error({solana ? chain::ChainKind::solana : chain::ChainKind::evm, method,
                                          std::nullopt, complaint.code, complaint.text});
  text::JsonTree result;
  result.type = text::JsonTree::Type::object;
  result.members.push_back({"error_class", text_tree(name(verdict.error_class))});
  result.members.push_back({"error_kind", text_tree(verdict.kind)});
  const text::JsonTree* data = error.find("data");
  if (data != nullptr && !data->is_null()) {
    result.members.insert(result.members.begin(),
                          {"data", canonical_error_data(*data, solana ? Place::solana : Place::data)});
  }
  return result;
}

bool is_error_object(const text::JsonTree& tree) {
  return has(tree, {"code", "message"}) && tree.members.size() <= 3;
}

text::JsonTree canonical_result(text::JsonTree tree, std::string_view method) {
  const text::JsonTree* context = tree.find("context");
  if (context != nullptr && context->find("slot") != nullptr && tree.find("value") != nullptr) drop(tree, "context");
  if (method == "eth_getLogs" && tree.is_null()) tree.type = text::JsonTree::Type::array;
  canonicalise(tree, is_solana(method)                   ? Place::solana
                     : quantity_methods.contains(method) ? Place::quantity
                                                         : Place::data);
  return tree;
}

text::JsonTree canonical_tree(std::string_view json, std::string_view method) {
  text::JsonTree tree = text::parse_tree(json);
  if (tree.find("jsonrpc") != nullptr) {
    const text::JsonTree* error = tree.find("error");
    if (error != nullptr && error->type == text::JsonTree::Type::object) return canonical_error(*error, method);
    const text::JsonTree* result = tree.find("result");
    if (result != nullptr) return canonical_result(*result, method);
  }
  if (is_error_object(tree)) return canonical_error(tree, method);
  return canonical_result(std::move(tree), method);
}

}  // namespace

std::string canonical(std::string_view json, std::string_view method) {
  return text::to_json(canonical_tree(json, method));
}

std::string canonical_digest(std::string_view json, std::string_view method) {
  const std::string text = canonical(json, method);
  return text::sha256_hex(std::as_bytes(std::span(text)));
}

std::string canonical_diff(std::string_view a, std::string_view b, std::string_view method) {
  std::vector<std::string> paths;
  text::append_differences(canonical_tree(a, method), canonical_tree(b, method), "$", paths);
  std::string json = "[";
  const char* separator = "";
  for (const std::string& path : paths) json += std::exchange(separator, ",") + text::json_literal(path);
  return json + "]";
}

}  // namespace rpcroute::rpc
