#include "chain/receipt.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "chain/eip1559.hpp"
#include "chain/keccak.hpp"
#include "text/ascii.hpp"
#include "text/json.hpp"

namespace rpcroute::chain {
namespace {

using text::Json;

struct Result : text::JsonTree {
  explicit Result(std::string_view json) : JsonTree(json) {
    if (!problem().empty()) throw Misread{"the result is not JSON"};
  }
};

/// What rows can do without: nullopt when it is unreadable, or more than SQL's integers hold.
std::optional<std::uint64_t> optional_quantity(const Json& object, const char* name) {
  return parse_quantity(object[name]);
}

/// nullopt only when it is absent.
std::optional<std::uint64_t> height_in(const Json& object, const char* name) {
  const Json value = object[name];
  if (!value.is_given()) return std::nullopt;
  const auto height = parse_quantity(value);
  if (!height) throw Misread{std::string(name) + " is not a quantity below 2^63"};
  return height;
}

std::uint64_t required_quantity(const Json& object, const char* name) {
  const Json value = object[name];
  if (!value.is_given()) throw Misread{std::string(name) + " is missing"};
  const auto number = read_quantity(value);
  if (!number) throw Misread{std::string(name) + " is not a quantity"};
  return *number;
}

std::string hash_of(const Json& value, const char* name) {
  if (!read_hash(value.text())) throw Misread{std::string(name) + " is not a hash"};
  return text::lower(value.text());
}

/// Of a sealed block. Nodes mark one that is not by null, by no hash at all, or by a hash of zeros: then it is empty.
std::string block_hash_in(const Json& object, const char* name) {
  const Json value = object[name];
  std::string hash = value.is_given() ? hash_of(value, name) : std::string();
  if (hash.find_first_not_of('0', 2) == std::string::npos) hash.clear();
  return hash;
}

Json object_of(const Json& value, const char* what) {
  if (!value.is_object()) throw Misread{std::string("the ") + what + " is not an object"};
  return value;
}

BlockTransaction block_transaction(const Json& value) {
  const Json object = object_of(value, "transaction");
  BlockTransaction transaction;
  transaction.hash = hash_of(object["hash"], "hash");
  transaction.from = text::lower(object["from"].text());
  transaction.to = text::lower(object["to"].text());
  transaction.nonce = required_quantity(object, "nonce");
  if (const Json amount = object["value"]; amount.is_given()) {
    transaction.value = read_quantity256(amount).value_or(Uint256(1));
  }
  return transaction;
}

std::optional<bool> status_in(const Json& receipt) {
  if (const auto flag = receipt["status"].boolean()) return flag;
  const auto status = optional_quantity(receipt, "status");
  return status && *status <= 1 ? std::optional(*status == 1) : std::nullopt;
}

/// The value of that field which more of them tell than any other.
template <class T>
std::optional<T> most_told(std::span<const Receipt> receipts, std::optional<T> Receipt::*field) {
  std::map<T, std::size_t> votes;
  for (const Receipt& receipt : receipts) {
    if (receipt.*field) ++votes[*(receipt.*field)];
  }
  const T* most = nullptr;
  std::size_t best = 0;
  for (const auto& [value, count] : votes) {
    if (count >= best) most = count > best ? &value : nullptr;
    best = std::max(best, count);
  }
  return most == nullptr ? std::nullopt : std::optional(*most);
}

}  // namespace

std::optional<Receipt> read_receipt(std::string_view json, std::string_view transaction_hash) {
  const Result result(json);
  if (result.root().is_null()) return std::nullopt;
  const Json object = object_of(result.root(), "receipt");
  Receipt receipt;
  receipt.transaction_hash = hash_of(object["transactionHash"], "transactionHash");
  if (receipt.transaction_hash != text::lower(transaction_hash)) throw Misread{"the receipt is another transaction's"};
  std::string block_hash = block_hash_in(object, "blockHash");
  const auto block_number = height_in(object, "blockNumber");
  if (!block_hash.empty() && block_number) {
    receipt.block_hash = std::move(block_hash);
    receipt.block_number = *block_number;
  }
  receipt.succeeded = status_in(object);
  receipt.gas_used = optional_quantity(object, "gasUsed");
  receipt.effective_gas_price = optional_quantity(object, "effectiveGasPrice");
  return receipt;
}

Receipt agreed(std::span<const Receipt> receipts) {
  Receipt receipt = receipts.front();
  receipt.succeeded = most_told(receipts, &Receipt::succeeded);
  receipt.gas_used = most_told(receipts, &Receipt::gas_used);
  receipt.effective_gas_price = most_told(receipts, &Receipt::effective_gas_price);
  return receipt;
}

void drop_impossible(Receipt& receipt, std::uint64_t max_fee, std::optional<std::uint64_t> base_fee) {
  if (receipt.gas_used != transfer_gas) receipt.gas_used.reset();
  const auto& price = receipt.effective_gas_price;
  if (price && (*price > max_fee || *price < base_fee.value_or(0))) receipt.effective_gas_price.reset();
}

std::optional<Block> read_block(std::string_view json) {
  const Result result(json);
  if (result.root().is_null()) return std::nullopt;
  const Json object = object_of(result.root(), "block");
  Block block;
  block.number = height_in(object, "number");
  block.hash = block_hash_in(object, "hash");
  block.timestamp = optional_quantity(object, "timestamp");
  block.base_fee_per_gas = optional_quantity(object, "baseFeePerGas");
  for (const Json value : object["transactions"].elements()) {
    if (!value.is_text()) block.transactions.push_back(block_transaction(value));
  }
  return block;
}

std::optional<KnownTransaction> read_transaction(std::string_view json, std::string_view transaction_hash) {
  const Result result(json);
  if (result.root().is_null()) return std::nullopt;
  const Json object = object_of(result.root(), "transaction");
  if (hash_of(object["hash"], "hash") != text::lower(transaction_hash)) {
    throw Misread{"the answer is another transaction"};
  }
  KnownTransaction known;
  if (read_hash(object["blockHash"].text())) known.block_hash = block_hash_in(object, "blockHash");
  known.block_number = optional_quantity(object, "blockNumber");
  return known;
}

std::uint64_t read_quantity_result(std::string_view json) {
  const auto number = read_quantity(Result(json).root());
  if (!number) throw Misread{"the result is not a quantity"};
  return *number;
}

Uint256 read_quantity256_result(std::string_view json) {
  const auto number = read_quantity256(Result(json).root());
  if (!number) throw Misread{"the result is not a quantity"};
  return *number;
}

std::string read_hash_result(std::string_view json) {
  return hash_of(Result(json).root(), "the result");
}

std::optional<std::string> read_first_account(std::string_view json) {
  const Result result(json);
  if (!result.root().is_array()) throw Misread{"the result is not a list of accounts"};
  const auto accounts = result.root().elements();
  if (accounts.empty()) return std::nullopt;
  const std::string_view account = (*accounts.begin()).text();
  if (!read_address(account)) throw Misread{"the first account is not an address"};
  return text::lower(account);
}

}  // namespace rpcroute::chain
