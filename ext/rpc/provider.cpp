#include "rpc/provider.hpp"

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <charconv>
#include <set>
#include <stdexcept>

#include "rpc/text.hpp"

namespace rpcroute::rpc {
namespace {

using rapidjson::Value;

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
    provider.kind = ChainKind::solana;
  } else if (kind != "evm") {
    complain(provider, "kind must be 'evm' or 'solana', got '" + printable(kind, 40) + "'");
  }
}

/// An integer, or a text holding one in decimal or as a 0x quantity.
std::optional<std::uint64_t> unsigned_integer(const Value& value) {
  if (value.IsUint64()) return value.GetUint64();
  if (!value.IsString()) return std::nullopt;
  std::string_view text = view(value);
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, hex ? 16 : 10);
  if (error != std::errc() || text.empty() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

void read_chain_id(const Value& entry, Provider& provider) {
  const Value* value = find(entry, "chain_id");
  if (value == nullptr) return;
  provider.chain_id = unsigned_integer(*value);
  if (!provider.chain_id) complain(provider, "chain_id must be an unsigned integer");
}

void read_is_mainnet(const Value& entry, Provider& provider) {
  const Value* value = find(entry, "is_mainnet");
  if (value == nullptr) return;
  if (value->IsBool()) {
    provider.is_mainnet = value->GetBool();
  } else if (value->IsInt() && (value->GetInt() == 0 || value->GetInt() == 1)) {
    provider.is_mainnet = value->GetInt() == 1;
  } else {
    complain(provider, "is_mainnet must be 0 or 1");
  }
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

Provider read_provider(const Value& entry, std::size_t position) {
  Provider provider;
  provider.provider_id = read_id(entry, position);
  read_text(entry, "chain", provider, provider.chain);
  read_kind(entry, provider);
  read_chain_id(entry, provider);
  read_is_mainnet(entry, provider);
  if (provider.kind == ChainKind::evm && provider.chain_id == std::uint64_t{1}) provider.is_mainnet = true;
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
  constexpr unsigned flags = rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;
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
  for (const Value& entry : document.GetArray()) {
    providers.push_back(read_provider(entry, providers.size() + 1));
    if (!seen.insert(providers.back().provider_id).second) {
      complain(providers.back(), "provider_id appears more than once in providers");
    }
  }
  return providers;
}

}  // namespace rpcroute::rpc
