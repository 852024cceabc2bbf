#include "tables/network.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <set>

#include "sqlite/query.hpp"

namespace rpcroute::tables {
namespace {

using sqlite::Query;

struct KnownChain {
  chain::ChainKind kind;
  std::optional<std::uint64_t> chain_id;
  bool is_mainnet;
  std::int64_t block_time_ms;
  std::int64_t head_max_ahead;
  std::string genesis_hash;
};

std::map<std::string, KnownChain> known_chains(sqlite::Connection& connection) {
  std::map<std::string, KnownChain> chains;
  const auto relation = sqlite::find_own(connection, "rpc_chains");
  if (!relation) return chains;
  Query rows(connection, "SELECT chain, kind, chain_id, is_mainnet, block_time_ms, head_max_ahead, genesis_hash FROM " +
                             relation->sql());
  while (rows.step()) {
    KnownChain chain{rows.text(1) == "solana" ? chain::ChainKind::solana : chain::ChainKind::evm,
                     std::nullopt,
                     rows.is_null(3) || rows.integer(3) != 0,
                     rows.integer(4),
                     rows.integer(5),
                     rows.text(6)};
    if (!rows.is_null(2)) chain.chain_id = static_cast<std::uint64_t>(rows.integer(2));
    chains.emplace(rows.text(0), chain);
  }
  return chains;
}

void adopt(rpc::Provider& provider, const KnownChain& chain) {
  provider.kind = chain.kind;
  if (chain.chain_id) provider.chain_id = chain.chain_id;
  if (!chain.genesis_hash.empty()) provider.genesis_hash = chain.genesis_hash;
  provider.is_mainnet = chain.is_mainnet;
  if (chain.block_time_ms > 0) provider.block_time_ms = chain.block_time_ms;
  if (chain.head_max_ahead > 0) provider.head_max_ahead = chain.head_max_ahead;
}

std::vector<rpc::Provider> enabled_rows(sqlite::Connection& connection) {
  const sqlite::Relation relation = sqlite::required_own(connection, "rpc_providers");
  sqlite::required_own(connection, "rpc_chains");
  const auto chains = known_chains(connection);
  Query rows(connection,
             "SELECT provider_id, chain, url, ws_url, coalesce(operator, provider_id), headers "
             "FROM " +
                 relation.sql() + " WHERE enabled ORDER BY provider_id");
  std::vector<rpc::Provider> providers;
  while (rows.step()) {
    rpc::Provider provider;
    provider.provider_id = rows.text(0);
    provider.chain = rows.text(1);
    provider.url = rows.text(2);
    provider.ws_url = rows.text(3);
    provider.operator_name = rows.text(4);
    provider.headers = rows.text(5);
    if (const auto chain = chains.find(provider.chain); chain != chains.end()) {
      adopt(provider, chain->second);
    } else {
      provider.config_error = "unknown chain '" + provider.chain + "': add it to rpc_chains";
    }
    providers.push_back(std::move(provider));
  }
  return providers;
}

}  // namespace

Settings::Settings(sqlite::Connection& connection) {
  const auto relation = sqlite::find_own(connection, "rpc_settings");
  if (!relation) return;
  Query rows(connection, "SELECT key, value FROM " + relation->sql() + " WHERE value IS NOT NULL");
  while (rows.step()) values_.emplace(rows.text(0), rows.text(1));
}

std::optional<std::string> Settings::text(const std::string& key) const {
  const auto entry = values_.find(key);
  if (entry == values_.end()) return std::nullopt;
  return entry->second;
}

std::int64_t Settings::integer(const std::string& key, std::int64_t low, std::int64_t high,
                               std::int64_t fallback) const {
  const auto value = text(key);
  if (!value) return fallback;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), number);
  if (error != std::errc() || end != value->data() + value->size() || number < low || number > high) {
    throw sqlite::Error("rpc_settings." + key + " must be " + std::to_string(low) + ".." + std::to_string(high) +
                        ", got '" + *value + "'");
  }
  return number;
}

std::string region(const Settings& settings) {
  if (const char* name = std::getenv("RPCROUTE_REGION"); name != nullptr && *name != '\0') return name;
  return settings.text("region").value_or("local");
}

const sqlite::Argument providers_argument{
    "providers", sqlite::Accepts::text(),
    "JSON array of objects with the columns of rpc_providers, and kind, chain_id"};
const sqlite::Argument mode_argument{"mode", sqlite::Accepts::one_of({"parallel", "sequential"}),
                                     "whom to ask at once: all, or one after another"};
const sqlite::Argument timeout_argument{"timeout_ms", sqlite::Accepts::whole(1, 600000), "for each request"};

std::optional<rpc::Milliseconds> timeout(const sqlite::Constraints& constraints) {
  const auto milliseconds = constraints.integer("timeout_ms");
  return milliseconds ? std::optional(rpc::Milliseconds(*milliseconds)) : std::nullopt;
}

rpc::Milliseconds call_timeout(const Settings& settings) {
  return rpc::Milliseconds(settings.integer("timeout_ms", 1, 600000, 3500));
}

std::size_t max_response_bytes(const Settings& settings) {
  return static_cast<std::size_t>(settings.integer("max_response_bytes", 1, std::int64_t{1} << 31, 8 << 20));
}

observe::Mode mode(const sqlite::Constraints& constraints) {
  return constraints.text("mode") == "sequential" ? observe::Mode::sequential : observe::Mode::parallel;
}

std::vector<rpc::Provider> providers(sqlite::Connection& connection, const sqlite::Constraints& constraints) {
  const auto inline_providers = constraints.text("providers");
  if (!inline_providers) return enabled_rows(connection);
  std::vector<rpc::Provider> providers = rpc::parse_providers(*inline_providers);
  const auto chains = known_chains(connection);
  std::set<std::string> ids;
  for (rpc::Provider& provider : providers) {
    if (!ids.insert(provider.provider_id).second) {
      throw sqlite::Error("providers names '" + provider.provider_id + "' twice");
    }
    if (const auto chain = chains.find(provider.chain); chain != chains.end()) adopt(provider, chain->second);
  }
  return providers;
}

std::vector<rpc::Provider> restricted(std::vector<rpc::Provider> providers, const sqlite::Constraints& constraints) {
  std::erase_if(providers, [&](const rpc::Provider& provider) {
    return !constraints.admits("provider_id", provider.provider_id);
  });
  return providers;
}

rpc::RpcClient& client(sqlite::Connection& connection) {
  return connection.service<rpc::RpcClient>();
}

rpc::Interrupt interrupt(sqlite::Connection& connection) {
  return [&connection] { return connection.interrupted(); };
}

}  // namespace rpcroute::tables
