#include "rpc/provider.hpp"

#include <array>
#include <charconv>
#include <set>
#include <stdexcept>

#include "rpc/keys.hpp"
#include "text/json.hpp"
#include "text/number.hpp"
#include "text/utf8.hpp"

namespace rpcroute::rpc {
namespace {

using text::Json;

/// The columns of rpc_providers, and what rpc_chains would say of the chain.
constexpr std::array<std::string_view, 14> keys{"provider_id", "url",          "ws_url",   "chain",           "kind",
                                                "chain_id",    "genesis_hash", "operator", "headers",         "enabled",
                                                "is_mainnet",  "archive",      "notes",    "cost_per_million"};

void complain(Provider& provider, const std::string& message) {
  if (provider.config_error.empty()) provider.config_error = message;
}

/// Here and below an SQL NULL in a row is as good as no column.
void read_text(const Json& entry, const char* field, Provider& provider, std::string& target) {
  const Json value = entry[field];
  if (!value.is_given()) return;
  if (!value.is_text()) return complain(provider, std::string(field) + " must be a text");
  target = value.text();
}

void read_kind(const Json& entry, Provider& provider) {
  std::string kind = "evm";
  read_text(entry, "kind", provider, kind);
  if (kind == "solana") {
    provider.kind = chain::ChainKind::solana;
  } else if (kind != "evm") {
    complain(provider, "kind must be 'evm' or 'solana', got '" + text::printable(kind, 40) + "'");
  }
}

/// An integer, also as a float, or a text holding one in decimal or as a 0x quantity.
std::optional<std::uint64_t> unsigned_integer(const Json& value) {
  if (!value.is_text() && !value.is(text::JsonType::number)) return std::nullopt;
  std::string_view digits = value.is_text() ? value.text() : value.source();
  const bool hex = digits.starts_with("0x");
  if (hex) digits.remove_prefix(2);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, hex ? 16 : 10);
  if (error == std::errc() && end == digits.data() + digits.size()) return number;
  const auto integer = hex ? std::nullopt : text::integer(digits);
  if (!integer || *integer < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*integer);
}

void read_chain_id(const Json& entry, Provider& provider) {
  const Json value = entry["chain_id"];
  if (!value.is_given()) return;
  provider.chain_id = unsigned_integer(value);
  if (!provider.chain_id) complain(provider, "chain_id must be an unsigned integer");
}

void read_flag(const Json& entry, const char* field, Provider& provider, bool& target) {
  const Json value = entry[field];
  if (!value.is_given()) return;
  const auto flag = value.boolean();
  const auto number = flag ? std::uint64_t{*flag} : unsigned_integer(value);
  if (!number || *number > 1) return complain(provider, std::string(field) + " must be 0 or 1");
  target = *number == 1;
}

/// An object, or a text holding one, which is what json_object() makes of the column.
void read_headers(const Json& entry, Provider& provider) {
  const Json value = entry["headers"];
  if (!value.is_given()) return;
  if (!value.is_text() && !value.is_object()) return complain(provider, "headers must be a JSON object");
  for (const text::JsonMember& member : value.members()) {
    if (!member.value.is_text()) return complain(provider, "every value in headers must be a text");
  }
  provider.headers = value.is_text() ? value.text() : value.source();
}

std::string read_id(const Json& entry, std::size_t position) {
  const std::string where = "entry " + std::to_string(position) + " of providers ";
  if (!entry.is_object()) throw std::invalid_argument(where + "must be a JSON object");
  const Json id = entry["provider_id"];
  if (!id.is_given()) throw std::invalid_argument(where + "has no provider_id");
  if (id.text().empty() || id.text().find('\0') != std::string_view::npos) {
    throw std::invalid_argument(where + "must have a provider_id that is a text, not empty, without NUL");
  }
  return std::string(id.text());
}

void check_keys(const Json& entry, std::size_t position) {
  std::vector<std::string_view> given;
  for (const text::JsonMember& member : entry.members()) given.push_back(member.name);
  const std::string complaint = complaint_about(given, keys);
  if (!complaint.empty()) {
    throw std::invalid_argument("entry " + std::to_string(position) + " of providers has " + complaint);
  }
}

Provider read_provider(const Json& entry, std::size_t position) {
  Provider provider;
  provider.provider_id = read_id(entry, position);
  check_keys(entry, position);
  read_text(entry, "chain", provider, provider.chain);
  read_kind(entry, provider);
  read_chain_id(entry, provider);
  read_text(entry, "genesis_hash", provider, provider.genesis_hash);
  read_flag(entry, "is_mainnet", provider, provider.is_mainnet);
  if (provider.kind == chain::ChainKind::evm && provider.chain_id == std::uint64_t{1}) provider.is_mainnet = true;
  read_text(entry, "url", provider, provider.url);
  read_text(entry, "ws_url", provider, provider.ws_url);
  read_text(entry, "operator", provider, provider.operator_name);
  if (provider.operator_name.empty()) provider.operator_name = provider.provider_id;
  read_headers(entry, provider);
  return provider;
}

}  // namespace

std::vector<Provider> parse_providers(std::string_view json) {
  const text::JsonTree tree(json);
  if (!tree.root().is_array()) {
    const std::string where = tree.problem_position() ? " at character " + std::to_string(tree.problem_position()) : "";
    throw std::invalid_argument("providers must be a JSON array of objects" +
                                (tree.problem().empty() ? "" : "; it is not JSON" + where + ": " + tree.problem()));
  }
  std::vector<Provider> providers;
  std::set<std::string> seen;
  std::size_t position = 0;
  for (const Json entry : tree.root().elements()) {
    providers.push_back(read_provider(entry, ++position));
    bool enabled = true;
    read_flag(entry, "enabled", providers.back(), enabled);
    if (!enabled) {
      providers.pop_back();
      continue;
    }
    if (!seen.insert(providers.back().provider_id).second) {
      complain(providers.back(), "provider_id appears more than once in providers");
    }
  }
  return providers;
}

}  // namespace rpcroute::rpc
