#include "rpc/canonical.hpp"

#include <numeric>
#include <stdexcept>
#include <vector>

#include "rpc/canonical_writer.hpp"
#include "rpc/classify.hpp"
#include "rpc/json_rpc.hpp"
#include "text/ascii.hpp"
#include "text/json.hpp"
#include "text/json_diff.hpp"
#include "text/sha256.hpp"

namespace rpcroute::rpc {
namespace {

using text::Json;
using text::JsonType;

bool is_solana(std::string_view method) {
  return !method.empty() && method.find('_') == std::string_view::npos;
}

/// Nethermind puts a revert's data as "Reverted 0x…".
void write_error_data(const Json& data, Place place, CanonicalWriter& writer) {
  constexpr std::string_view prefix = "reverted 0x";
  const std::string_view text = data.text();
  if (text::lower(text.substr(0, prefix.size())) == prefix) {
    writer.write_text(text.substr(prefix.size() - 2), {}, place);
  } else {
    writer.write(data, place);
  }
}

void write_error(const Json& json, std::string_view method, CanonicalWriter& writer) {
  const bool solana = is_solana(method);
  const RpcError error = read_error(json);
  const Verdict verdict = classify_error(
      {solana ? chain::ChainKind::solana : chain::ChainKind::evm, method, std::nullopt, error.code, error.text});
  writer.write_raw("{");
  if (const Json data = json["data"]; data.is_given()) {
    writer.write_raw("\"data\":");
    write_error_data(data, solana ? Place::solana : Place::data, writer);
    writer.write_raw(",");
  }
  for (const std::string_view part :
       {std::string_view("\"error_class\":\""), name(verdict.error_class), std::string_view("\",\"error_kind\":\""),
        verdict.kind, std::string_view("\"}")}) {
    writer.write_raw(part);
  }
}

bool is_error_object(const Json& json) {
  const auto members = json.members();
  std::size_t count = 0;
  for (auto member = members.begin(); member != members.end(); ++member) ++count;
  return count <= 3 && !json["code"].is(JsonType::absent) && !json["message"].is(JsonType::absent);
}

void write_result(const Json& result, std::string_view method, CanonicalWriter& writer) {
  const Place place = is_solana(method) ? Place::solana : returns_quantity(method) ? Place::quantity : Place::data;
  const Json value = result["value"];
  const bool is_enveloped = !value.is(JsonType::absent) && !result["context"]["slot"].is(JsonType::absent);
  if (is_enveloped) {
    writer.write_raw("{\"value\":");
    writer.write(value, place);
    writer.write_raw("}");
  } else if (method == "eth_getLogs" && result.is_null()) {
    writer.write_raw("[]");
  } else {
    writer.write(result, place);
  }
}

/// Calls `use` with the whole text or, of an error or a response, what it says.
void write_canonical(std::string_view text, std::string_view method, text::Budget& budget, CanonicalWriter& writer) {
  const text::JsonTree tree(text, budget);
  if (!tree.problem().empty()) throw std::invalid_argument("not JSON: " + tree.problem());
  const Json json = tree.root();
  if (!json["jsonrpc"].is(JsonType::absent)) {
    if (json["error"].is_object()) return write_error(json["error"], method, writer);
    if (!json["result"].is(JsonType::absent)) return write_result(json["result"], method, writer);
  }
  if (is_error_object(json)) return write_error(json, method, writer);
  write_result(json, method, writer);
}

std::string canonical_within(std::string_view json, std::string_view method, text::Budget& budget) {
  std::vector<std::string> parts;  // a single string would hold three times its size when it grows
  CanonicalWriter writer(budget, [&](std::string& part) { parts.push_back(std::move(part)); });
  write_canonical(json, method, budget, writer);
  writer.finish();
  std::string text;
  text.reserve(std::accumulate(parts.begin(), parts.end(), std::size_t{0},
                               [](std::size_t size, const std::string& part) { return size + part.size(); }));
  for (std::string& part : parts) {
    text += part;
    std::string().swap(part);
  }
  return text;
}

}  // namespace

std::string canonical(std::string_view json, std::string_view method, const text::Pulse& pulse) {
  text::Budget budget(pulse);
  return canonical_within(json, method, budget);
}

std::string canonical_digest(std::string_view json, std::string_view method, const text::Pulse& pulse) {
  text::Budget budget(pulse);
  text::Sha256 sha256;
  CanonicalWriter writer(budget, [&](const std::string& part) { sha256.add(part); });
  write_canonical(json, method, budget, writer);
  writer.finish();
  return sha256.hex();
}

std::string canonical_diff(std::string_view a, std::string_view b, std::string_view method, const text::Pulse& pulse) {
  constexpr std::size_t max_bytes = std::size_t{64} << 20;
  text::Budget budget(pulse);
  const std::string left = canonical_within(a, method, budget);
  const std::string right = canonical_within(b, method, budget);
  const text::JsonTree left_tree(left, budget);
  const text::JsonTree right_tree(right, budget);
  return text::json_differences(left_tree.root(), right_tree.root(), max_bytes, budget);
}

}  // namespace rpcroute::rpc
