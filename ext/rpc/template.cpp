#include "rpc/template.hpp"

#include <algorithm>

#include "text/utf8.hpp"

namespace rpcroute::rpc {
namespace {

constexpr std::string_view allowed_prefix = "RPCROUTE_";
constexpr std::string_view signer_prefix = "RPCROUTE_KEY";  // a URL must not carry a signing key away

bool is_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string value_of(std::string_view name, const Environment& environment) {
  if (!is_name(name)) throw ConfigError{"'${' must be followed by the name of a variable and '}'"};
  const std::string shown = text::printable(name, 60);
  if (!name.starts_with(allowed_prefix)) throw ConfigError{"variable " + shown + " is not read: only RPCROUTE_… are"};
  if (name.starts_with(signer_prefix)) throw ConfigError{"variable " + shown + " is a signing key and never expanded"};
  const auto value = environment(std::string(name));
  if (!value || value->empty()) throw ConfigError{"environment variable " + shown + " is not set"};
  return *value;
}

}  // namespace

bool Expansion::filled_within(std::size_t begin, std::size_t end) const {
  return std::any_of(filled.begin(), filled.end(),
                     [&](const Span& span) { return span.begin < end && begin < span.end; });
}

Expansion expand(std::string_view text, const Environment& environment) {
  Expansion result;
  for (std::size_t at = text.find("${"); at != std::string_view::npos; at = text.find("${")) {
    const std::size_t end = text.find('}', at);
    if (end == std::string_view::npos) throw ConfigError{"'${' without '}'"};
    result.text += text.substr(0, at);
    const std::size_t begin = result.text.size();
    result.text += value_of(text.substr(at + 2, end - at - 2), environment);
    result.filled.push_back({begin, result.text.size()});
    text.remove_prefix(end + 1);
  }
  result.text += text;
  return result;
}

}  // namespace rpcroute::rpc
