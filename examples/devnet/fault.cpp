#include "fault.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace rpcroute::devnet {
namespace {

struct Entry {
  std::string_view name;
  FaultKind kind;
  FaultStage stage;
};

using enum FaultKind;

constexpr std::array table = {
    Entry{"refuse", refuse, FaultStage::listen},
    Entry{"reset", reset, FaultStage::before},
    Entry{"stall", stall, FaultStage::before},
    Entry{"429", status_429, FaultStage::before},
    Entry{"429_retry_after", status_429_retry_after, FaultStage::before},
    Entry{"rate_limit_200", rate_limit_200, FaultStage::before},
    Entry{"unauthorized", unauthorized, FaultStage::before},
    Entry{"html_502", html_502, FaultStage::before},
    Entry{"rpc_error_on_500", rpc_error_on_500, FaultStage::before},
    Entry{"redirect_file", redirect_file, FaultStage::before},
    Entry{"redirect_host", redirect_host, FaultStage::before},
    Entry{"respond", respond, FaultStage::before},
    Entry{"rpc_error", rpc_error, FaultStage::before},
    Entry{"reset_after_accept", reset_after_accept, FaultStage::after},
    Entry{"error_after_accept", error_after_accept, FaultStage::after},
    Entry{"stall_after_accept", stall_after_accept, FaultStage::after},
    Entry{"duplicate_answer", duplicate_answer, FaultStage::after},
    Entry{"double_response", double_response, FaultStage::bytes},
    Entry{"drip", drip, FaultStage::bytes},
    Entry{"truncate", truncate, FaultStage::bytes},
    Entry{"wrong_id", wrong_id, FaultStage::bytes},
    Entry{"string_id", string_id, FaultStage::bytes},
    Entry{"empty_200", empty_200, FaultStage::bytes},
    Entry{"invalid_json", invalid_json, FaultStage::bytes},
    Entry{"invalid_utf8", invalid_utf8, FaultStage::bytes},
    Entry{"gzip_bomb", gzip_bomb, FaultStage::bytes},
    Entry{"endless_body", endless_body, FaultStage::bytes},
    Entry{"huge_header", huge_header, FaultStage::bytes},
    Entry{"null_result", null_result, FaultStage::result},
    Entry{"stale_nonce", stale_nonce, FaultStage::result},
    Entry{"indexing_in_progress", indexing_in_progress, FaultStage::result},
    Entry{"wrong_chain_id", wrong_chain_id, FaultStage::result},
    Entry{"height_zero", height_zero, FaultStage::result},
    Entry{"height_regress", height_regress, FaultStage::result},
    Entry{"height_other_chain", height_other_chain, FaultStage::result},
    Entry{"empty_quantity", empty_quantity, FaultStage::result},
    Entry{"zero_padded", zero_padded, FaultStage::result},
    Entry{"decimal_height", decimal_height, FaultStage::result},
    Entry{"number_height", number_height, FaultStage::result},
    Entry{"max_uint64", max_uint64, FaultStage::result},
    Entry{"ws_silent", ws_silent, FaultStage::websocket},
    Entry{"ws_mute", ws_mute, FaultStage::websocket},
    Entry{"ws_close", ws_close, FaultStage::websocket},
    Entry{"ws_heads", ws_heads, FaultStage::websocket},
};

const Entry& entry(FaultKind kind) {
  return *std::find_if(table.begin(), table.end(), [&](const Entry& e) { return e.kind == kind; });
}

/// The methods whose answers a fault of the result can change; empty: all.
std::set<std::string, std::less<>> methods_of(FaultKind kind) {
  if (kind == stale_nonce) return {"eth_getTransactionCount"};
  if (kind == indexing_in_progress) return {"eth_getTransactionReceipt"};
  if (kind == wrong_chain_id) return {"eth_chainId", "net_version", "getGenesisHash"};
  if (kind == null_result || stage(kind) != FaultStage::result) return {};
  return {"eth_blockNumber", "getSlot"};
}

/// What a fault does when its object does not say.
Fault defaults(FaultKind kind) {
  Fault fault{};
  fault.kind = kind;
  fault.methods = methods_of(kind);
  switch (kind) {
    case status_429_retry_after:
      fault.amount = 7;
      break;
    case redirect_host:
      fault.text = "http://localhost:9/";
      break;
    case drip:
      fault.interval_ms = 1000;
      break;
    case stale_nonce:
      fault.amount = 1;
      break;
    case height_regress:
      fault.amount = 5;
      break;
    case height_other_chain:
      fault.amount = 30'000'000;
      break;
    case ws_heads:
      fault.interval_ms = 100;
      break;
    default:
      break;
  }
  return fault;
}

std::map<std::string, std::string> header_map(const Json& json) {
  std::map<std::string, std::string> headers;
  for (const auto& member : json.GetObject()) headers.emplace(text_of(member.name), text_of(member.value));
  return headers;
}

void read_field(Fault& fault, std::string_view key, const Json& value) {
  if (key == "methods" && value.IsArray()) {
    fault.methods.clear();
    for (const auto& method : value.GetArray()) fault.methods.emplace(text_of(method));
  } else if (key == "probability" && value.IsNumber()) {
    fault.probability = value.GetDouble();
  } else if (key == "count" && value.IsUint64()) {
    fault.count = value.GetUint64();
  } else if (key == "interval_ms" && value.IsNumber()) {
    fault.interval_ms = value.GetDouble();
  } else if ((key == "by" || key == "behind" || key == "seconds") && value.IsUint64()) {
    fault.amount = value.GetUint64();
  } else if (key == "status" && value.IsInt()) {
    fault.status = value.GetInt();
  } else if (key == "code" && value.IsInt64()) {
    fault.code = value.GetInt64();
  } else if ((key == "location" || key == "message" || key == "body") && value.IsString()) {
    fault.text = text_of(value);
  } else if (key == "content_type" && value.IsString()) {
    fault.content_type = text_of(value);
  } else if (key == "headers" && value.IsObject()) {
    fault.headers = header_map(value);
  } else if (key == "data") {
    fault.data = dump(value);
  } else {
    throw std::invalid_argument("fault " + std::string(name(fault.kind)) + ": cannot use its " + std::string(key));
  }
}

}  // namespace

FaultStage stage(FaultKind kind) {
  return entry(kind).stage;
}

std::string_view name(FaultKind kind) {
  return entry(kind).name;
}

std::string fault_names() {
  std::string names;
  for (const auto& fault : table) names.append(names.empty() ? "" : ", ").append(fault.name);
  return names;
}

Fault parse_fault(const Json& json) {
  if (!json.IsObject() || !json.HasMember("name") || !json["name"].IsString()) {
    throw std::invalid_argument("a fault is an object with a name");
  }
  const auto wanted = text_of(json["name"]);
  const auto found = std::find_if(table.begin(), table.end(), [&](const Entry& e) { return e.name == wanted; });
  if (found == table.end()) throw std::invalid_argument("there is no fault " + std::string(wanted));
  Fault fault = defaults(found->kind);
  for (const auto& member : json.GetObject()) {
    if (text_of(member.name) != "name") read_field(fault, text_of(member.name), member.value);
  }
  return fault;
}

}  // namespace rpcroute::devnet
