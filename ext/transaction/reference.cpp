#include "transaction/reference.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "chain/evm_signer.hpp"
#include "rpc/keys.hpp"
#include "text/ascii.hpp"
#include "text/hex.hpp"
#include "text/json.hpp"

namespace rpcroute::transaction {
namespace {

/// The columns of tx_outcomes: whole rows of it serve as well.
constexpr std::array<std::string_view, 26> keys{"provider_id",
                                                "tx_hash",
                                                "raw",
                                                "timestamp",
                                                "tx_id",
                                                "chain",
                                                "region",
                                                "nonce",
                                                "overlap",
                                                "propensity",
                                                "state",
                                                "status",
                                                "duration_sec",
                                                "submit_ms",
                                                "own_receipt_sec",
                                                "duration_source",
                                                "submit_head",
                                                "block_number",
                                                "blocks_waited",
                                                "block_timestamp",
                                                "gas_used",
                                                "preconfirmed_sec",
                                                "max_cost_gwei",
                                                "error_class",
                                                "effective_gas_price",
                                                "error"};

[[noreturn]] void refuse(std::size_t index, const std::string& why) {
  throw std::invalid_argument("transactions[" + std::to_string(index) + "] " + why);
}

std::string text_member(const text::Json& object, const char* name, bool required, std::size_t index) {
  const text::Json value = object[name];
  if (required && !value.is_given()) refuse(index, std::string("has no ") + name);
  if (value.is_given() && !value.is_text()) refuse(index, std::string(name) + " must be text");
  return std::string(value.text());
}

Reference reference_of(const text::Json& value, std::size_t index) {
  if (!value.is_object()) refuse(index, "must be an object");
  std::vector<std::string_view> given;
  for (const text::JsonMember& member : value.members()) given.push_back(member.name);
  if (const std::string complaint = rpc::complaint_about(given, keys); !complaint.empty()) {
    refuse(index, "has " + complaint);
  }
  Reference reference;
  reference.provider_id = text_member(value, "provider_id", true, index);
  reference.tx_hash = text::lower(text_member(value, "tx_hash", true, index));
  reference.raw = text::lower(text_member(value, "raw", false, index));
  if (!chain::read_hash(reference.tx_hash)) refuse(index, "tx_hash must be 0x and 64 hexadecimal digits");
  if (const text::Json timestamp = value["timestamp"]; timestamp.is_given()) {
    if (!timestamp.real()) refuse(index, "timestamp must be a number of seconds");
    reference.timestamp = *timestamp.real();
  }
  return reference;
}

}  // namespace

std::vector<Reference> parse_references(std::string_view json) {
  const text::JsonTree tree(json);
  if (!tree.root().is_array()) {
    throw std::invalid_argument("transactions must be a JSON array of objects with provider_id, tx_hash and raw");
  }
  std::vector<Reference> references;
  for (const text::Json value : tree.root().elements()) {
    auto reference = reference_of(value, references.size());
    const bool known = std::any_of(references.begin(), references.end(),
                                   [&](const Reference& other) { return other.tx_hash == reference.tx_hash; });
    if (!known) references.push_back(std::move(reference));
  }
  return references;
}

ReadTransaction read_reference(const Reference& reference) {
  const auto bytes = text::from_hex(reference.raw);
  const auto read = bytes ? chain::read_signed_payload(*bytes) : std::nullopt;
  if (!read) throw std::invalid_argument("the raw of " + reference.tx_hash + " is no signed EIP-1559 transaction");
  if (text::to_hex(chain::keccak256(*bytes)) != reference.tx_hash) {
    throw std::invalid_argument("the raw of " + reference.tx_hash + " has another hash");
  }
  const auto sender = chain::recover_sender(read->first, read->second);
  if (!sender || !chain::is_probe_transfer(read->first, *sender)) {
    throw std::invalid_argument("the raw of " + reference.tx_hash +
                                " is no probe: a transfer of nothing from the account to itself for 21000 gas");
  }
  return {read->first, text::to_hex(*sender)};
}

}  // namespace rpcroute::transaction
