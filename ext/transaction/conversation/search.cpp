#include "transaction/conversation/search.hpp"

#include <algorithm>

#include "chain/fees.hpp"
#include "chain/receipt.hpp"
#include "transaction/conversation/heads.hpp"

namespace rpcroute::transaction {
namespace {

/// The hash of what that block holds under the transaction's number.
std::optional<std::string> hash_in(const std::optional<chain::Block>& block, const NodeTransaction& transaction) {
  if (!block) return std::nullopt;
  for (const chain::BlockTransaction& other : block->transactions) {
    const bool same = other.from == transaction.account && other.to == transaction.account &&
                      other.nonce == transaction.nonce && other.value == chain::Uint256();
    if (same) return other.hash;
  }
  return std::nullopt;
}

void finish(SearchResult& result, const Heads& heads, const std::vector<std::size_t>& asked,
            std::optional<std::size_t> own) {
  const bool own_was_asked = own && std::find(asked.begin(), asked.end(), *own) != asked.end();
  result.own_is_silent = own_was_asked && !result.heard.own_answers;
  result.head = heads.of_others();
}

}  // namespace

std::vector<std::size_t> ready_ones(const Conversation& conversation, const Fleet& fleet, std::vector<std::size_t> whom,
                                    Urgency urgency) {
  const auto now = conversation.now();
  std::erase_if(whom, [&](std::size_t i) {
    const Pace pace = conversation.pace(fleet[i].provider.provider_id);
    return (urgency == Urgency::last_word ? pace.rests_until() : pace.ready()) > now;
  });
  return whom;
}

std::optional<bool> knows(const rpc::Answer& answer, const std::string& tx_hash) {
  const auto known = read_of(answer, [&](const auto& json) { return chain::read_transaction(json, tx_hash); });
  return known ? std::optional(known->has_value()) : std::nullopt;
}

std::optional<bool> has_receipt(const rpc::Answer& answer, const std::string& tx_hash) {
  const auto receipt = read_of(answer, [&](const auto& json) { return chain::read_receipt(json, tx_hash); });
  return receipt ? std::optional(receipt->has_value()) : std::nullopt;
}

void search_by_hash(Conversation& conversation, const Fleet& fleet, const std::string& tx_hash,
                    std::optional<std::size_t> own, rpc::Milliseconds call_timeout, Urgency urgency, SearchThen then) {
  const std::vector<std::size_t> whom = ready_ones(conversation, fleet, fleet.all_asked(), urgency);
  auto calls = calls_to(fleet, whom, "eth_getTransactionByHash", json_strings({tx_hash}), call_timeout);
  append(calls, calls_to(fleet, whom, "eth_blockNumber", "[]", call_timeout));
  conversation.ask_all(std::move(calls), [=, &fleet, then = std::move(then)](const std::vector<rpc::Answer>& answers) {
    SearchResult result;
    Heads heads(fleet, own);
    for (std::size_t k = 0; k < whom.size(); ++k) {
      heads.add(whom[k], quantity_of(answers[whom.size() + k]));
      const auto told = read_of(answers[k], [&](const auto& json) { return chain::read_transaction(json, tx_hash); });
      if (!told) continue;
      result.heard.hear(whom[k] == own, told->has_value());
      if (!*told) continue;
      result.tx_hash = tx_hash;
      const bool sealed = !(*told)->block_hash.empty() && (*told)->block_number;
      if (sealed) result.blocks.push_back({*(*told)->block_number, (*told)->block_hash});
    }
    finish(result, heads, whom, own);
    then(result);
  });
}

void search_by_nonce(Conversation& conversation, const Fleet& fleet, const NodeTransaction& transaction,
                     std::optional<std::size_t> own, rpc::Milliseconds call_timeout, SearchThen then) {
  const std::vector<std::size_t> whom = ready_ones(conversation, fleet, fleet.all_asked());
  auto calls = calls_to(fleet, whom, "eth_getBlockByNumber", R"(["pending",true])", call_timeout);
  append(calls, calls_to(fleet, whom, "eth_getBlockByNumber", R"(["latest",true])", call_timeout));
  append(calls,
         calls_to(fleet, whom, "eth_getTransactionCount", json_strings({transaction.account, "latest"}), call_timeout));
  conversation.ask_all(std::move(calls), [=, &fleet, then = std::move(then)](const std::vector<rpc::Answer>& answers) {
    SearchResult result;
    Heads heads(fleet, own);
    for (std::size_t k = 0; k < whom.size(); ++k) {
      const auto pending = block_of(answers[k]);
      const auto latest = block_of(answers[whom.size() + k]);
      const auto count = quantity_of(answers[2 * whom.size() + k]);
      if (latest) heads.add(whom[k], latest->number);
      auto hash = hash_in(pending, transaction);
      if (!hash) hash = hash_in(latest, transaction);
      if (hash) result.tx_hash = hash;
      const bool is_used = count && *count > transaction.nonce;
      if (whom[k] == own) result.number_is_used = is_used && !hash;
      if (hash || is_used || (pending && latest && count)) result.heard.hear(whom[k] == own, hash || is_used);
    }
    finish(result, heads, whom, own);
    then(result);
  });
}

void search_block(Conversation& conversation, const Fleet& fleet, const BlockId& block, rpc::Milliseconds call_timeout,
                  Urgency urgency, BlockThen then) {
  const std::vector<std::size_t> whom = ready_ones(conversation, fleet, fleet.all_asked(), urgency);
  auto calls = calls_to(fleet, whom, "eth_getBlockByNumber", R"([")" + chain::quantity(block.number) + R"(",false])",
                        call_timeout);
  conversation.ask_all(std::move(calls), [block, then = std::move(then)](const std::vector<rpc::Answer>& answers) {
    BlockResult result;
    std::vector<std::uint64_t> timestamps;
    std::vector<std::uint64_t> base_fees;
    for (const rpc::Answer& answer : answers) {
      const auto told = read_of(answer, [](const auto& json) { return chain::read_block(json); });
      if (!told) continue;
      if (!*told) {
        ++result.absent;
      } else if ((*told)->hash == block.hash && (*told)->number == block.number) {
        ++result.same;
        if ((*told)->timestamp) timestamps.push_back(*(*told)->timestamp);
        if ((*told)->base_fee_per_gas) base_fees.push_back(*(*told)->base_fee_per_gas);
      } else {
        ++result.different;
      }
    }
    if (!timestamps.empty()) result.timestamp = static_cast<std::int64_t>(chain::median_of(timestamps));
    if (!base_fees.empty()) result.base_fee = chain::median_of(base_fees);
    then(result);
  });
}

}  // namespace rpcroute::transaction
