#include "transaction/conversation/fleet.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "chain/receipt.hpp"

namespace rpcroute::transaction {
namespace {

constexpr std::uint64_t ethereum_mainnet = 1;
constexpr std::uint64_t head_tolerance = 512;

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

/// The highest of `heads` near which another one of `all` lies, themselves among them.
std::optional<std::uint64_t> corroborated(std::vector<std::uint64_t> heads, const std::vector<std::uint64_t>& all) {
  std::sort(heads.rbegin(), heads.rend());
  for (const std::uint64_t head : heads) {
    const auto near = std::count_if(all.begin(), all.end(), [head](std::uint64_t other) {
      return std::max(head, other) - std::min(head, other) <= head_tolerance;
    });
    if (near > 1 || all.size() == 1) return head;
  }
  return std::nullopt;
}

}  // namespace

std::string chain_of(const rpc::Provider& provider) {
  if (!provider.chain.empty()) return provider.chain;
  return provider.chain_id ? "chain id " + std::to_string(*provider.chain_id) : "an unnamed chain";
}

std::vector<rpc::Provider> providers_of_one_chain(std::vector<rpc::Provider> candidates,
                                                  const std::vector<std::string>& forced, bool allow_mainnet) {
  const bool any = !candidates.empty();
  std::erase_if(candidates, [](const rpc::Provider& provider) { return provider.kind != rpc::ChainKind::evm; });
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
    Endpoint endpoint{std::move(provider), false, {}, {}};
    if (!endpoint.provider.config_error.empty()) {
      endpoint.excluded = rpc::Failure{rpc::ErrorClass::config, "", endpoint.provider.config_error, {}};
    } else if (is_mainnet(endpoint.provider) && !allow_mainnet_) {
      endpoint.excluded = mainnet_failure();
    }
    endpoints_.push_back(std::move(endpoint));
  }
}

void Fleet::adopt_chain_id(const std::vector<std::size_t>& asked, const std::vector<rpc::Answer>& answers) {
  std::set<std::uint64_t> answered;
  for (std::size_t k = 0; k < asked.size(); ++k) {
    if (const auto id = quantity_of(answers[k])) answered.insert(*id);
  }
  if (answered.size() > 1) {
    throw std::invalid_argument("the providers answer different chain ids; give each its chain_id");
  }
  if (!answered.empty()) chain_id_ = *answered.begin();
}

void Fleet::hear_chain_ids(const std::vector<std::size_t>& asked, const std::vector<rpc::Answer>& answers) {
  if (!chain_id_) adopt_chain_id(asked, answers);
  for (std::size_t k = 0; k < asked.size(); ++k) hear_chain_id(asked[k], answers[k]);
}

void Fleet::hear_chain_id(std::size_t i, const rpc::Answer& answer) {
  Endpoint& endpoint = endpoints_[i];
  const auto answered = quantity_of(answer);
  if (!answered) {
    endpoint.silence = answer.failure.value_or(
        rpc::Failure{rpc::ErrorClass::malformed, "", "the answer to eth_chainId is not a quantity", {}});
    if (endpoint.silence->error_class == rpc::ErrorClass::config) endpoint.excluded = endpoint.silence;
    return;
  }
  const std::uint64_t expected = endpoint.provider.chain_id.value_or(*chain_id_);
  if (*answered != expected || *answered != *chain_id_) {
    endpoint.excluded = wrong_chain_failure(*answered, *answered != expected ? expected : *chain_id_);
  } else if (*answered == ethereum_mainnet && !allow_mainnet_) {
    endpoint.excluded = mainnet_failure();
  } else {
    endpoint.verified = true;
  }
}

void Fleet::hear_genesis(const std::vector<std::size_t>& asked, const std::vector<rpc::Answer>& answers) {
  for (std::size_t k = 0; k < asked.size() && genesis_.empty(); ++k) {
    const auto block = endpoints_[asked[k]].verified ? block_of(answers[k]) : std::nullopt;
    if (block && block->number == 0) genesis_ = block->hash;
  }
}

void Fleet::exclude(std::size_t i, rpc::Failure failure) {
  endpoints_[i].excluded = std::move(failure);
}

std::vector<std::size_t> Fleet::all_asked() const {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < size(); ++i) {
    if (!endpoints_[i].excluded) indices.push_back(i);
  }
  return indices;
}

std::vector<std::size_t> Fleet::verified() const {
  std::vector<std::size_t> indices = all_asked();
  std::erase_if(indices, [&](std::size_t i) { return !endpoints_[i].verified; });
  return indices;
}

std::vector<std::size_t> Fleet::unverified() const {
  std::vector<std::size_t> indices = all_asked();
  std::erase_if(indices, [&](std::size_t i) { return endpoints_[i].verified; });
  return indices;
}

std::optional<std::size_t> Fleet::find(const std::string& provider_id) const {
  for (std::size_t i = 0; i < size(); ++i) {
    if (endpoints_[i].provider.provider_id == provider_id) return i;
  }
  return std::nullopt;
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

std::optional<chain::Block> block_of(const rpc::Answer& answer) {
  if (answer.failure) return std::nullopt;
  try {
    return chain::read_block(answer.result);
  } catch (const chain::Misread&) {
    return std::nullopt;
  }
}

std::optional<std::uint64_t> quantity_of(const rpc::Answer& answer) {
  if (answer.failure) return std::nullopt;
  try {
    return chain::read_quantity_result(answer.result);
  } catch (const chain::Misread&) {
    return std::nullopt;
  }
}

std::string json_strings(std::initializer_list<std::string> texts) {
  std::string json = "[";
  for (const std::string& text : texts) {
    if (json.size() > 1) json += ',';
    json += '"' + text + '"';
  }
  return json + ']';
}

void Heads::add(std::optional<std::uint64_t> head, bool is_own) {
  if (!head) return;
  all_.push_back(*head);
  if (!is_own) others_.push_back(*head);
}

std::optional<std::uint64_t> Heads::of_all() const {
  return corroborated(all_, all_);
}

std::optional<std::uint64_t> Heads::of_others() const {
  return corroborated(others_.empty() ? all_ : others_, all_);
}

}  // namespace rpcroute::transaction
