#include "transaction/reference.hpp"

#include <rapidjson/document.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "chain/evm_signer.hpp"
#include "transaction/life/probe.hpp"

namespace rpcroute::transaction {
namespace {

std::string lower_hex(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

[[noreturn]] void refuse(std::size_t index, const std::string& why) {
  throw std::invalid_argument("transactions[" + std::to_string(index) + "] " + why);
}

std::string text_member(const rapidjson::Value& object, const char* name, bool required, std::size_t index) {
  const auto found = object.FindMember(name);
  const bool absent = found == object.MemberEnd() || found->value.IsNull();
  if (absent && required) refuse(index, std::string("has no ") + name);
  if (absent) return "";
  if (!found->value.IsString()) refuse(index, std::string(name) + " must be text");
  return {found->value.GetString(), found->value.GetStringLength()};
}

TransactionReference reference_of(const rapidjson::Value& value, std::size_t index) {
  if (!value.IsObject()) refuse(index, "must be an object");
  TransactionReference reference;
  reference.provider_id = text_member(value, "provider_id", true, index);
  reference.tx_hash = lower_hex(text_member(value, "tx_hash", true, index));
  reference.raw = lower_hex(text_member(value, "raw", false, index));
  if (!chain::read_hash(reference.tx_hash)) refuse(index, "tx_hash must be 0x and 64 hexadecimal digits");
  const auto timestamp = value.FindMember("timestamp");
  if (timestamp != value.MemberEnd() && !timestamp->value.IsNull()) {
    if (!timestamp->value.IsNumber()) refuse(index, "timestamp must be a number of seconds");
    reference.timestamp = timestamp->value.GetDouble();
  }
  return reference;
}

}  // namespace

std::vector<TransactionReference> parse_transaction_references(std::string_view json) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
  if (document.HasParseError() || !document.IsArray()) {
    throw std::invalid_argument("transactions must be a JSON array of objects with provider_id, tx_hash and raw");
  }
  std::vector<TransactionReference> references;
  for (const auto& value : document.GetArray()) {
    auto reference = reference_of(value, references.size());
    const bool known = std::any_of(references.begin(), references.end(), [&](const TransactionReference& other) {
      return other.tx_hash == reference.tx_hash;
    });
    if (!known) references.push_back(std::move(reference));
  }
  return references;
}

ReadTransaction read_reference(const TransactionReference& reference) {
  const auto bytes = chain::from_hex(reference.raw);
  const auto read = bytes ? chain::read_signed_payload(*bytes) : std::nullopt;
  if (!read) throw std::invalid_argument("the raw of " + reference.tx_hash + " is no signed EIP-1559 transaction");
  if (chain::to_hex(chain::keccak256(*bytes)) != reference.tx_hash) {
    throw std::invalid_argument("the raw of " + reference.tx_hash + " has another hash");
  }
  const auto sender = chain::recover_sender(read->first, read->second);
  if (!sender || !chain::is_probe_transfer(read->first, *sender)) {
    throw std::invalid_argument("the raw of " + reference.tx_hash +
                                " is no probe: a transfer of nothing from the account to itself for 21000 gas");
  }
  return {read->first, chain::to_hex(*sender)};
}

Fleets::Fleets(const std::vector<rpc::Provider>& providers) {
  std::map<std::string, std::vector<rpc::Provider>> by_chain;
  for (const rpc::Provider& provider : providers) {
    if (provider.kind == rpc::ChainKind::evm) by_chain[chain_of(provider)].push_back(provider);
  }
  for (auto& [chain, members] : by_chain) fleets_.push_back(std::make_unique<Fleet>(std::move(members), true));
}

Fleets::Place Fleets::find(const std::string& provider_id, std::optional<std::uint64_t> chain_id) const {
  for (const auto& fleet : fleets_) {
    if (const auto own = fleet->find(provider_id)) return {fleet.get(), own};
  }
  for (const auto& fleet : fleets_) {
    if (fleets_.size() == 1 || (chain_id && fleet->chain_id() == chain_id)) return {fleet.get(), std::nullopt};
  }
  return {};
}

std::vector<Fleet*> Fleets::all() const {
  std::vector<Fleet*> fleets;
  for (const auto& fleet : fleets_) fleets.push_back(fleet.get());
  return fleets;
}

TransactionRecord record_for(const TransactionReference& reference, const std::optional<ReadTransaction>& read,
                             const Fleets::Place& place, const std::string& region, double unix_now) {
  TransactionRecord record;
  if (place.own) record.chain = (*place.fleet)[*place.own].provider.chain;
  record.provider_id = reference.provider_id;
  record.region = region;
  record.timestamp = reference.timestamp.value_or(unix_now);
  record.tx_hash = reference.tx_hash;
  if (!reference.raw.empty()) record.raw = reference.raw;
  if (read) record.nonce = read->transaction.nonce;
  return record;
}

void check(const TransactionFollowPlan& plan) {
  check_range("timeout_sec", plan.timeout_sec, 0.1, 86'400);
  check_range("poll_ms", plan.poll_ms, 10, 60'000);
}

void check_range(const char* argument, double value, double least, double most) {
  if (value >= least && value <= most) return;
  std::ostringstream text;
  text << argument << " must be " << least << ".." << most << ", got " << value;
  throw std::invalid_argument(text.str());
}

}  // namespace rpcroute::transaction
