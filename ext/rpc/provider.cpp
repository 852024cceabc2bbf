#include "rpc/provider.hpp"

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <array>
#include <charconv>
#include <set>
#include <stdexcept>

#include "rpc/keys.hpp"
#include "text/number.hpp"
#include "text/utf8.hpp"

namespace rpcroute::rpc {
namespace {

using rapidjson::Value;

/// The columns of rpc_providers, and what rpc_chains would say of the chain.
constexpr std::array<std::string_view, 14> keys{"provider_id", "url",          "ws_url",   "chain",           "kind",
                                                "chain_id",    "genesis_hash", "operator", "headers",         "enabled",
                                                "is_mainnet",  "archive",      "notes",    "cost_per_million"};

/// The member, or nullptr when it is absent or null: an SQL NULL in a row is as good as no column.
const Value* find(const Value& entry, const char* field) {
  return entry.HasMember(field) && !entry[field].IsNull() ? &entry[field] : nullptr;
}

std::string_view view(const Value& text) {
  return {text.GetString(), text.GetStringLength()};
}

void complain(Provider& provider, const std::string& message) {
  if (provider.config_error.empty()) provider.config_error = message;
}

void read_text(const Value& entry, const char* field, Provider& provider, std::string& target) {
  const Value* value = find(entry, field);
  if (value == nullptr) return;
  if (!value->IsString()) return complain(provider, std::string(field) + " must be a text");
  target = view(*value);
}

void read_kind(const Value& entry, Provider& provider) {
  std::string kind = "evm";
  read_text(entry, "kind", provider, kind);
  if (kind == "solana") {
    provider.kind = chain::ChainKind::solana;
  } else if (kind != "evm") {
    complain(provider, "kind must be 'evm' or 'solana', got '" + text::printable(kind, 40) + "'");
  }
}

/// An integer, also as a float, or a text holding one in decimal or as a 0x quantity.
std::optional<std::uint64_t> unsigned_integer(const Value& value) {
  if (value.IsUint64()) return value.GetUint64();
  if (!value.IsString() && !value.IsDouble()) return std::nullopt;
  if (value.IsString()) {
    std::string_view digits = view(value);
    const bool hex = digits.starts_with("0x");
    if (hex) digits.remove_prefix(2);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, hex ? 16 : 10);
    if (error == std::errc() && end == digits.data() + digits.size()) return number;
    if (hex) return std::nullopt;
  }
  const auto integer = value.IsString() ? text::integer(view(value)) : text::whole(value.GetDouble());
  if (!integer || *integer < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*integer);
}

void read_chain_id(const Value& entry, Provider& provider) {
  const Value* value = find(entry, "chain_id");
  if (value == nullptr) return;
  provider.chain_id = unsigned_integer(*value);
  if (!provider.chain_id) complain(provider, "chain_id must be an unsigned integer");
}

void read_flag(const Value& entry, const char* field, Provider& provider, bool& target) {
  const Value* value = find(entry, field);
  if (value == nullptr) return;
  const auto number = value->IsBool() ? std::uint64_t{value->GetBool()} : unsigned_integer(*value);
  if (!number || *number > 1) return complain(provider, std::string(field) + " must be 0 or 1");
  target = *number == 1;
}

/// An object, or a text holding one, which is what json_object() makes of the column.
void read_headers(const Value& entry, Provider& provider) {
  const Value* value = find(entry, "headers");
  if (value == nullptr) return;
  if (value->IsString()) {
    provider.headers = view(*value);
    return;
  }
  if (!value->IsObject()) return complain(provider, "headers must be a JSON object");
  for (auto member = value->MemberBegin(); member < value->MemberEnd();
       ++member) {  // Accept() below recurses: nothing nested may get there
    if (!member->value.IsString()) return complain(provider, "every value in headers must be a text");
  }
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  value->Accept(writer);
  provider.headers.assign(buffer.GetString(), buffer.GetSize());
}

std::string read_id(const Value& entry, std::size_t position) {
  const std::string where = "entry " + std::to_string(position) + " of providers ";
  if (!entry.IsObject()) throw std::invalid_argument(where + "must be a JSON object");
  const Value* id = find(entry, "provider_id");
  if (id == nullptr) throw std::invalid_argument(where + "has no provider_id");
  if (!id->IsString() || id->GetStringLength() == 0 || view(*id).find('\0') != std::string_view::npos) {
    throw std::invalid_argument(where + "must have a provider_id that is a text, not empty, without NUL");
  }
  return std::string(view(*id));
}

void check_keys(const Value& entry, std::size_t position) {
  std::vector<std::string_view> given;
  for (auto member = entry.MemberBegin(); member < entry.MemberEnd(); ++member) given.push_back(view(member->name));
  const std::string complaint = complaint_about(given, keys);
  if (!complaint.empty()) {
    throw std::invalid_argument("entry " + std::to_string(position) + " of providers has " + complaint);
  }
}

Provider read_provider(const Value& entry, std::size_t position) {
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
  // Iterative: a text of a million brackets must not exhaust the stack.
  constexpr unsigned flags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag | rapidjson::kParseFullPrecisionFlag;
  rapidjson::Document document;
  document.Parse<flags>(json.data(), json.size());
  if (json.find('\0') != std::string_view::npos) {  // where RapidJSON would stop reading
    throw std::invalid_argument("providers must be a JSON array of objects; it holds a NUL character");
  }
  if (document.HasParseError()) {
    throw std::invalid_argument("providers must be a JSON array of objects; it is not JSON at character " +
                                std::to_string(document.GetErrorOffset() + 1) + ": " +
                                rapidjson::GetParseError_En(document.GetParseError()));
  }
  if (!document.IsArray()) throw std::invalid_argument("providers must be a JSON array of objects");
  std::vector<Provider> providers;
  std::set<std::string> seen;
  std::size_t position = 0;
  for (const Value& entry : document.GetArray()) {
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
