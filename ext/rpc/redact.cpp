#include "rpc/redact.hpp"

#include <algorithm>

#include "text/ascii.hpp"
#include "text/percent.hpp"

namespace rpcroute::rpc {
namespace {

constexpr std::size_t shortest = 3;
constexpr std::size_t shortest_part = 6;
constexpr std::size_t shortest_in_data = 8;
constexpr std::string_view mask = "***";

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

}  // namespace

void Secrets::add(std::string_view secret) {
  for (std::string form : {std::string(secret), text::percent_decoded(secret), text::percent_encoded(secret)}) {
    if (form.size() < shortest || std::find(secrets_.begin(), secrets_.end(), form) != secrets_.end()) continue;
    const auto shorter = [&](const std::string& other) { return other.size() < form.size(); };
    secrets_.insert(std::find_if(secrets_.begin(), secrets_.end(), shorter), std::move(form));
  }
}

void Secrets::add_parts(std::string_view text, std::string_view separators) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    if (end >= shortest_part) add(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string Secrets::scrubbed(std::string_view text) const {
  std::string result(text);
  std::string folded = text::lower(text);
  for (const std::string& secret : secrets_) {
    const std::string wanted = text::lower(secret);
    for (std::size_t at = folded.find(wanted); at != std::string::npos; at = folded.find(wanted, at + mask.size())) {
      result.replace(at, wanted.size(), mask);
      folded.replace(at, wanted.size(), mask);
    }
  }
  return result;
}

std::string Secrets::scrubbed_json(std::string json) const {
  for (const std::string& secret : secrets_) {
    const bool number = secret.find_first_not_of("0123456789.-+eE") == std::string::npos;
    const bool breaks_strings = secret.find_first_of("\"\\") != std::string::npos;
    if (secret.size() >= shortest_in_data && !number && !breaks_strings) replace_all(json, secret, mask);
  }
  return json;
}

}  // namespace rpcroute::rpc
