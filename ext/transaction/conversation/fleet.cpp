#include "transaction/conversation/fleet.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>

#include "chain/receipt.hpp"

namespace rpcroute::transaction {
namespace {

constexpr std::uint64_t ethereum_mainnet = 1;

bool is_mainnet(const rpc::Provider& provider) {
  return provider.is_mainnet || provider.chain_id == ethereum_mainnet;
}

rpc::Failure mainnet_failure() {
  return {rpc::ErrorClass::mainnet, "", "nothing is sent on a mainnet without allow_mainnet = 1", {}};
}

rpc::Failure wrong_chain_failure(std::uint64_t answered, std::uint64_t expected) {
  return {rpc::ErrorClass::wrong_chain,
          "",
          "the node answers chain id " + std::to_string(answered) + ", not " + std::to_string(expected),
          {}};
}

}  // namespace

std::string chain_of(const rpc::Provider& provider) {
  if (!provider.chain.empty()) return provider.chain;
  return provider.chain_id ? "chain id " + std::to_string(*provider.chain_id) : "an unnamed chain";
}

std::vector<rpc::Provider> providers_of_one_chain(std::vector<rpc::Provider> candidates,
                                                  const std::vector<std::string>& forced, bool allow_mainnet) {
  const bool any = !candidates.empty();
  std::erase_if(candidates, [](const rpc::Provider& provider) { return provider.kind != chain::ChainKind::evm; });
  if (any && candidates.empty()) throw std::invalid_argument("probe transactions are sent on EVM chains only");
  if (!forced.empty()) {
    std::set<std::string> wanted;
    for (const rpc::Provider& provider : candidates) {
      const bool named = std::find(forced.begin(), forced.end(), provider.provider_id) != forced.end();
      if (named) wanted.insert(chain_of(provider));
    }
    std::erase_if(candidates, [&](const auto& provider) { return !wanted.contains(chain_of(provider)); });
  }
  const bool any_testnet = std::any_of(candidates.begin(), candidates.end(),
                                       [](const rpc::Provider& provider) { return !is_mainnet(provider); });
  if (any_testnet && !allow_mainnet && forced.empty()) std::erase_if(candidates, is_mainnet);
  std::set<std::string> chains;
  for (const rpc::Provider& provider : candidates) chains.insert(chain_of(provider));
  if (chains.size() > 1) {
    std::string message = "the providers belong to several chains; name one (chain = '...'):";
    for (const std::string& chain : chains) message += (chain == *chains.begin() ? " " : ", ") + chain;
    throw std::invalid_argument(message);
  }
  return candidates;
}

Fleet::Fleet(std::vector<rpc::Provider> providers, bool allow_mainnet) : allow_mainnet_(allow_mainnet) {
  std::stable_sort(providers.begin(), providers.end(),
                   [](const auto& a, const auto& b) { return a.provider_id < b.provider_id; });
  for (rpc::Provider& provider : providers) {
    if (!chain_id_) chain_id_ = provider.chain_id;
    Member member{std::move(provider), false, {}, {}};
    if (!member.provider.config_error.empty()) {
      member.excluded = rpc::Failure{rpc::ErrorClass::config, "", member.provider.config_error, {}};
    } else if (is_mainnet(member.provider) && !allow_mainnet_) {
      member.excluded = mainnet_failure();
    }
    members_.push_back(std::move(member));
  }
}

void Fleet::adopt_chain_id(const std::vector<std::size_t>& asked, std::span<const rpc::Answer> answers) {
  std::set<std::uint64_t> answered;
  for (std::size_t k = 0; k < asked.size(); ++k) {
    if (const auto id = quantity_of(answers[k])) answered.insert(*id);
  }
  if (answered.size() > 1) {
    throw std::invalid_argument("the providers answer different chain ids; give each its chain_id");
  }
  if (!answered.empty()) chain_id_ = *answered.begin();
}

void Fleet::hear_chain_ids(const std::vector<std::size_t>& asked, std::span<const rpc::Answer> answers) {
  if (!chain_id_) adopt_chain_id(asked, answers);
  for (std::size_t k = 0; k < asked.size(); ++k) hear_chain_id(asked[k], answers[k]);
}

void Fleet::hear_chain_id(std::size_t i, const rpc::Answer& answer) {
  Member& member = members_[i];
  const auto answered = quantity_of(answer);
  if (!answered) {
    member.silence = answer.failure.value_or(
        rpc::Failure{rpc::ErrorClass::malformed, "", "the answer to eth_chainId is not a quantity", {}});
    if (member.silence->error_class == rpc::ErrorClass::config && !answer.is_ours()) member.excluded = member.silence;
    return;
  }
  const std::uint64_t expected = member.provider.chain_id.value_or(*chain_id_);
  if (*answered != expected || *answered != *chain_id_) {
    member.excluded = wrong_chain_failure(*answered, *answered != expected ? expected : *chain_id_);
  } else if (*answered == ethereum_mainnet && !allow_mainnet_) {
    member.excluded = mainnet_failure();
  } else {
    member.verified = true;
  }
}

std::optional<BlockId> Fleet::agreed_block(const std::vector<std::size_t>& asked,
                                           std::span<const rpc::Answer> answers) const {
  std::map<BlockId, std::size_t> votes;
  std::size_t voters = 0;
  for (std::size_t k = 0; k < asked.size(); ++k) {
    const auto block = members_[asked[k]].verified ? block_of(answers[k]) : std::nullopt;
    if (!block || !block->number || block->hash.empty()) continue;
    ++votes[{*block->number, block->hash}];
    ++voters;
  }
  const auto most =
      std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == votes.end() || (voters > 1 && most->second < 2)) return std::nullopt;
  return most->first;
}

void Fleet::hear_genesis(const std::vector<std::size_t>& asked, std::span<const rpc::Answer> answers) {
  const auto first = agreed_block(asked, answers);
  if (first && first->number == 0) genesis_ = first->hash;
}

void Fleet::hear_latest(const std::vector<std::size_t>& asked, std::span<const rpc::Answer> answers) {
  latest_ = agreed_block(asked, answers);
}

std::vector<std::size_t> Fleet::all_asked() const {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < size(); ++i) {
    if (!members_[i].excluded) indices.push_back(i);
  }
  return indices;
}

std::vector<std::size_t> Fleet::verified() const {
  std::vector<std::size_t> indices = all_asked();
  std::erase_if(indices, [&](std::size_t i) { return !members_[i].verified; });
  return indices;
}

std::vector<std::size_t> Fleet::unverified() const {
  std::vector<std::size_t> indices = all_asked();
  std::erase_if(indices, [&](std::size_t i) { return members_[i].verified; });
  return indices;
}

std::optional<std::size_t> Fleet::find(const std::string& provider_id) const {
  for (std::size_t i = 0; i < size(); ++i) {
    if (members_[i].provider.provider_id == provider_id) return i;
  }
  return std::nullopt;
}

rpc::Clock::duration Fleet::block_time() const {
  return rpc::Milliseconds(members_.empty() ? 0 : members_.front().provider.block_time_ms);
}

std::int64_t Fleet::head_max_ahead() const {
  return members_.empty() ? 0 : members_.front().provider.head_max_ahead;
}

Fleets::Fleets(const std::vector<rpc::Provider>& providers) {
  std::map<std::string, std::vector<rpc::Provider>> by_chain;
  for (const rpc::Provider& provider : providers) {
    if (provider.kind == chain::ChainKind::evm) by_chain[chain_of(provider)].push_back(provider);
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
  std::vector<Fleet*> all;
  for (const auto& fleet : fleets_) all.push_back(fleet.get());
  return all;
}

rpc::Call call_to(const Fleet& fleet, std::size_t i, std::string method, std::string params,
                  rpc::Milliseconds timeout) {
  rpc::Call call;
  call.provider = fleet[i].provider;
  call.method = std::move(method);
  call.params = std::move(params);
  call.timeout = timeout;
  return call;
}

std::vector<rpc::Call> calls_to(const Fleet& fleet, const std::vector<std::size_t>& whom, const std::string& method,
                                const std::string& params, rpc::Milliseconds timeout) {
  std::vector<rpc::Call> calls;
  for (const std::size_t i : whom) calls.push_back(call_to(fleet, i, method, params, timeout));
  return calls;
}

void append(std::vector<rpc::Call>& calls, std::vector<rpc::Call> more) {
  calls.insert(calls.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::optional<chain::Block> block_of(const rpc::Answer& answer) {
  return read_of(answer, chain::read_block).value_or(std::nullopt);
}

std::optional<std::uint64_t> quantity_of(const rpc::Answer& answer) {
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const auto value = read_of(answer, chain::read_quantity_result);
  return value && *value <= largest ? value : std::nullopt;
}

std::string json_strings(std::initializer_list<std::string> texts) {
  std::string json = "[";
  for (const std::string& text : texts) {
    if (json.size() > 1) json += ',';
    json += '"' + text + '"';
  }
  return json + ']';
}

}  // namespace rpcroute::transaction
