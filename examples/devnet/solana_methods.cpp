// The Solana methods of a provider. The chain's heights serve as slots.
#include <algorithm>
#include <map>

#include "json_rpc.hpp"

namespace rpcroute::devnet {
namespace {

/// Slots that a commitment is behind the tip.
constexpr std::uint64_t confirmed_depth = 1, finalized_depth = 31;

/// agave's default of --health-check-slot-distance.
constexpr std::uint64_t health_distance = 128;

/// Blocks for which a blockhash is good.
constexpr std::uint64_t blockhash_validity = 150;

const Chain& chain(const MethodCall& call) {
  return call.node.world().chain;
}

/// The configuration object is the last parameter where there is one.
std::uint64_t depth_of(const MethodCall& call) {
  const auto count = call.params.Size();
  const Json* commitment = count > 0 ? member(call.param(count - 1), "commitment") : nullptr;
  if (!commitment || text_of(*commitment) == "finalized") return finalized_depth;
  return text_of(*commitment) == "confirmed" ? confirmed_depth : 0;
}

std::uint64_t slot_of(const MethodCall& call) {
  return call.view - std::min(depth_of(call), call.view - chain(call).first().number);
}

MethodResult with_slot(const MethodCall& call, std::string json) {
  const auto slot = slot_of(call);
  auto answer = result(std::move(json));
  answer.height = {slot, chain(call).head().number - (call.view - slot), slot};
  return answer;
}

MethodResult in_context(const MethodCall& call, std::string_view value) {
  JsonText json;
  json.begin_object().key("context").begin_object().field("apiVersion", "2.0.0").field("slot", slot_of(call));
  return with_slot(call, json.end_object().key("value").raw(value).end_object().take());
}

MethodResult get_slot(const MethodCall& call) {
  return with_slot(call, std::to_string(slot_of(call)));
}

MethodResult get_block_height(const MethodCall& call) {
  return result(std::to_string(slot_of(call) - chain(call).first().number));
}

MethodResult get_latest_blockhash(const MethodCall& call) {
  const Block* block = chain(call).by_number(slot_of(call));
  JsonText json;
  json.begin_object().field("blockhash", base58(block->hash));
  json.field("lastValidBlockHeight", block->number - chain(call).first().number + blockhash_validity);
  return in_context(call, json.end_object().take());
}

MethodResult wrong_size() {
  return invalid_params("Invalid param: WrongSize");
}

bool is_key(const Json& json) {
  const auto text = text_of(json);
  return text.size() >= 32 && text.size() <= 44;
}

/// Every key owns something, and always the same.
MethodResult get_balance(const MethodCall& call) {
  if (!is_key(call.param(0))) return wrong_size();
  const auto hash = keccak(view(text_of(call.param(0))));
  return in_context(call, std::to_string(1'000'000'000 + hash[0] * 1'000'000));
}

MethodResult get_token_accounts(const MethodCall& call) {
  return is_key(call.param(0)) ? in_context(call, "[]") : wrong_size();
}

MethodResult get_health(const MethodCall& call) {
  const auto behind = chain(call).head().number - call.view;
  if (behind <= health_distance) return text_result("ok");
  return error(-32005, "Node is behind by " + std::to_string(behind) + " slots",
               "{\"numSlotsBehind\":" + std::to_string(behind) + "}");
}

MethodResult get_genesis_hash(const MethodCall& call) {
  return text_result(base58(chain(call).first().hash));
}

MethodResult get_version(const MethodCall&) {
  return result(R"({"feature-set":1,"solana-core":"2.0.0"})");
}

const std::map<std::string_view, MethodResult (*)(const MethodCall&)> methods = {
    {"getBalance", get_balance},
    {"getBlockHeight", get_block_height},
    {"getGenesisHash", get_genesis_hash},
    {"getHealth", get_health},
    {"getLatestBlockhash", get_latest_blockhash},
    {"getSlot", get_slot},
    {"getTokenAccountsByOwner", get_token_accounts},
    {"getVersion", get_version},
};

}  // namespace

MethodResult call_solana(const MethodCall& call) {
  const auto method = methods.find(call.method);
  return method == methods.end() ? error(-32601, "Method not found") : method->second(call);
}

}  // namespace rpcroute::devnet
