#include "transaction/conversation/search.hpp"

#include <algorithm>

#include "chain/receipt.hpp"

namespace rpcroute::transaction {
namespace {

/// Of the last answers, which are one from each of `whom` to eth_blockNumber.
std::optional<std::uint64_t> head_of(const std::vector<std::size_t>& whom, const std::vector<rpc::Answer>& answers,
                                     std::size_t own) {
  Heads heads;
  for (std::size_t k = 0; k < whom.size(); ++k) {
    heads.add(quantity_of(answers[answers.size() - whom.size() + k]), whom[k] == own);
  }
  return heads.of_others();
}

/// nullopt: the answer tells nothing; empty: the block does not hold it.
std::optional<std::string> hash_in_block(const rpc::Answer& answer, const NodeTransaction& transaction) {
  if (answer.failure) return std::nullopt;
  try {
    const auto block = chain::read_block(answer.result);
    if (!block) return std::nullopt;
    for (const chain::BlockTransaction& other : block->transactions) {
      const bool same = other.from == transaction.account && other.to == transaction.account &&
                        other.nonce == transaction.nonce && other.value == chain::Uint256();
      if (same) return other.hash;
    }
    return std::string();
  } catch (const chain::Misread&) {
    return std::nullopt;
  }
}

void append(std::vector<rpc::Call>& calls, std::vector<rpc::Call> more) {
  calls.insert(calls.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

std::optional<bool> knows(const rpc::Answer& answer, const std::string& tx_hash) {
  if (answer.failure) return std::nullopt;
  try {
    return chain::knows_transaction(answer.result, tx_hash);
  } catch (const chain::Misread&) {
    return std::nullopt;
  }
}

void search_by_hash(Conversation& conversation, const Fleet& fleet, const std::string& tx_hash, std::size_t own,
                    rpc::Milliseconds call_timeout, SearchThen then) {
  const std::vector<std::size_t> whom = fleet.all_asked();
  auto calls = calls_to(fleet, whom, "eth_getTransactionByHash", json_strings({tx_hash}), call_timeout);
  append(calls, calls_to(fleet, whom, "eth_blockNumber", "[]", call_timeout));
  conversation.ask_all(std::move(calls), [=, then = std::move(then)](const std::vector<rpc::Answer>& answers) {
    SearchResult result;
    for (std::size_t k = 0; k < whom.size(); ++k) {
      const auto known = knows(answers[k], tx_hash);
      if (known == true) result.tx_hash = tx_hash;
      if (known == false) {
        ++result.denials;
        result.own_denies = result.own_denies || whom[k] == own;
      }
    }
    result.head = head_of(whom, answers, own);
    then(result);
  });
}

void search_by_nonce(Conversation& conversation, const Fleet& fleet, const NodeTransaction& transaction,
                     std::size_t own, rpc::Milliseconds call_timeout, SearchThen then) {
  const std::vector<std::size_t> whom = fleet.all_asked();
  auto calls = calls_to(fleet, whom, "eth_getBlockByNumber", R"(["pending",true])", call_timeout);
  append(calls, calls_to(fleet, whom, "eth_getBlockByNumber", R"(["latest",true])", call_timeout));
  append(calls, calls_to(fleet, whom, "eth_blockNumber", "[]", call_timeout));
  conversation.ask_all(std::move(calls), [=, then = std::move(then)](const std::vector<rpc::Answer>& answers) {
    SearchResult result;
    for (std::size_t k = 0; k < 2 * whom.size(); ++k) {
      const auto hash = hash_in_block(answers[k], transaction);
      if (hash && !hash->empty()) result.tx_hash = *hash;
      const bool of_pool = k < whom.size();
      if (of_pool && hash && hash->empty()) {
        ++result.denials;
        result.own_denies = result.own_denies || whom[k] == own;
      }
    }
    result.head = head_of(whom, answers, own);
    then(result);
  });
}

}  // namespace rpcroute::transaction
