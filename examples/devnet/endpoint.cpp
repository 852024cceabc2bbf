#include "endpoint.hpp"

#include <algorithm>

#include "evm_json.hpp"
#include "fault_effects.hpp"
#include "ws.hpp"

namespace rpcroute::devnet {
namespace {

namespace http = boost::beast::http;

bool speaks_json(const HttpRequest& request) {
  const auto type = request[http::field::content_type];
  return std::string_view(type.data(), type.size()).starts_with("application/json");
}

bool matches(const Fault& fault, const std::string& method) {
  return fault.methods.empty() || fault.methods.contains(method);
}

constexpr const char* json_type = "application/json";

}  // namespace

Endpoint::Endpoint(World& world, const ProviderConfig& config, unsigned short port, boost::asio::ssl::context& tls)
    : node_(world, config),
      latency_(config.latency, world.config.seed, config.provider_id),
      errors_(world.config.seed, config.provider_id, "errors"),
      error_rate_(config.error_rate),
      listener_(world.io, port, *this, config.tls ? &tls : nullptr) {
  node_.on_head = [this](std::uint64_t height) {
    for (const auto& weak : sockets_) {
      if (const auto socket = weak.lock()) socket->send_head(height);
    }
  };
  set_faults(config.faults);
}

std::string Endpoint::url() const {
  return (node_.config().tls ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(listener_.port());
}

std::string Endpoint::ws_url() const {
  return (node_.config().tls ? "wss://127.0.0.1:" : "ws://127.0.0.1:") + std::to_string(listener_.port());
}

void Endpoint::set_faults(std::vector<Fault> faults) {
  faults_ = std::move(faults);
  for (const auto& fault : faults_) prepare(fault);
  const bool refuses =
      std::any_of(faults_.begin(), faults_.end(), [](const Fault& f) { return f.kind == FaultKind::refuse; });
  if (!refuses) return listener_.open();
  listener_.refuse();
  for (const auto& weak : sockets_) {
    if (const auto socket = weak.lock()) socket->cut();
  }
  sockets_.clear();
}

Endpoint::Request Endpoint::read(std::string_view body) {
  Request request;
  request.document.Parse(body.data(), body.size());
  const Json& json = request.document;
  request.is_valid = !request.document.HasParseError();
  request.is_batch = request.is_valid && json.IsArray();
  const auto add = [&](const Json& call) {
    static const Json no_params(rapidjson::kArrayType);
    const Json* id = member(call, "id");
    const Json* method = member(call, "method");
    const Json* params = member(call, "params");
    request.calls.push_back({id ? dump(*id) : "null", std::string(method ? text_of(*method) : ""),
                             params && params->IsArray() ? params : &no_params});
    ++counts_[request.calls.back().method];
  };
  if (request.is_batch) {
    for (const auto& call : json.GetArray()) add(call);
  } else if (request.is_valid) {
    add(json);
  }
  return request;
}

/// The first fault of these stages that strikes one of the calls, its count used up by one.
Fault* Endpoint::strike(const std::vector<Call>& calls, std::initializer_list<FaultStage> stages) {
  for (auto& fault : faults_) {
    if (std::find(stages.begin(), stages.end(), stage(fault.kind)) == stages.end()) continue;
    if (fault.count && *fault.count == 0) continue;
    if (std::none_of(calls.begin(), calls.end(), [&](const Call& call) { return matches(fault, call.method); }))
      continue;
    if (fault.probability < 1 && !errors_.chance(fault.probability)) continue;
    if (fault.count) --*fault.count;
    return &fault;
  }
  return nullptr;
}

MethodResult Endpoint::run(const Call& call, const Fault* fault, Subscriber* subscriber) {
  if (call.method.empty()) return error(-32600, "invalid request");
  if (subscriber && (call.method == "eth_subscribe" || call.method == "slotSubscribe")) return subscriber->subscribe();
  if (subscriber && (call.method == "eth_unsubscribe" || call.method == "slotUnsubscribe")) {
    return subscriber->unsubscribe();
  }
  const MethodCall method_call{node_, node_.look(), call.method, *call.params};
  auto result = kind() == Kind::solana ? call_solana(method_call) : call_evm(method_call);
  if (fault && stage(fault->kind) == FaultStage::result && matches(*fault, call.method)) {
    distort(result, *fault, call.method, kind());
  }
  return result;
}

/// Runs all calls; the heights that the answers carry go into the truth log.
std::string Endpoint::run(const Request& request, const Fault* fault, std::optional<double> latency_ms,
                          Subscriber* subscriber) {
  if (!request.is_valid) return envelope("null", error(-32700, "parse error"));
  if (request.is_batch && request.calls.empty()) return envelope("null", error(-32600, "empty batch"));
  std::string body;
  for (const auto& call : request.calls) {
    const auto result = run(call, fault, subscriber);
    if (result.height) {
      node_.world().truth.height({unix_now(), provider_id(), call.method,
                                  result.is_error ? std::nullopt : result.height->reported, result.height->view,
                                  result.height->head, latency_ms});
    }
    if (!body.empty()) body += ',';
    body += envelope(fault ? spoilt_id(*fault, call.id) : call.id, result);
  }
  return request.is_batch ? "[" + body + "]" : body;
}

/// What the error rate brings: a failing server or a lost connection.
Reply Endpoint::random_error() {
  if (errors_.chance(0.5)) return {.bytes = {}, .delivery = Reply::Delivery::reset};
  return {.bytes = http_response(500, "text/plain", "Internal Server Error")};
}

Reply Endpoint::reply(const Request& request, Fault* fault, std::chrono::nanoseconds latency, Subscriber* subscriber) {
  const std::string id = request.calls.empty() ? "null" : request.calls.front().id;
  const auto stage_of_fault = fault ? std::optional(stage(fault->kind)) : std::nullopt;
  if (stage_of_fault == FaultStage::before) return reply_instead(*fault, id);
  const bool is_lost = stage_of_fault == FaultStage::after && fault->kind != FaultKind::duplicate_answer;
  const auto latency_ms = is_lost ? std::nullopt : std::optional(static_cast<double>(latency.count()) / 1e6);
  auto body = run(request, fault, latency_ms, subscriber);
  if (is_lost) return reply_lost(*fault);
  if (stage_of_fault == FaultStage::after) body = run(request, fault, latency_ms, subscriber);
  if (stage_of_fault == FaultStage::bytes) return reply_spoilt(*fault, body);
  return {.bytes = http_response(200, json_type, body)};
}

Reply Endpoint::answer(const HttpRequest& http_request) {
  if (http_request.method() != http::verb::post) {
    return {.bytes = http_response(405, "text/plain", "method not allowed", "Allow: POST\r\n")};
  }
  if (!speaks_json(http_request)) {
    return {.bytes = http_response(415, "text/plain", "invalid content type, only application/json is supported")};
  }
  const auto request = read(http_request.body());
  const auto latency = latency_.draw();
  Fault* fault = strike(request.calls, {FaultStage::before, FaultStage::after, FaultStage::bytes, FaultStage::result});
  Reply reply = !fault && errors_.chance(error_rate_) ? random_error() : this->reply(request, fault, latency, nullptr);
  reply.latency = latency;
  return reply;
}

Reply Endpoint::answer_message(std::string_view text, Subscriber& subscriber) {
  const auto request = read(text);
  const auto latency = latency_.draw();
  Fault* fault = strike(request.calls, {FaultStage::before, FaultStage::result});
  if (fault && stage(fault->kind) == FaultStage::before) {
    const bool resets = fault->kind == FaultKind::reset;
    return {.bytes = {}, .delivery = resets ? Reply::Delivery::reset : Reply::Delivery::stall, .latency = latency};
  }
  const auto latency_ms = static_cast<double>(latency.count()) / 1e6;
  return {.bytes = run(request, fault, latency_ms, &subscriber), .latency = latency};
}

std::string Endpoint::notification(std::uint64_t height, std::uint64_t subscription) const {
  const auto& chain = node_.world().chain;
  const Block* block = chain.by_number(height);
  JsonText json;
  json.begin_object().field("jsonrpc", "2.0");
  if (kind() == Kind::solana) {
    json.field("method", "slotNotification").key("params").begin_object().key("result").begin_object();
    json.field("slot", height).field("parent", height - 1).field("root", height - std::min<std::uint64_t>(height, 32));
    json.end_object().field("subscription", subscription);
  } else {
    json.field("method", "eth_subscription").key("params").begin_object();
    json.field("subscription", quantity(subscription)).key("result").raw(block ? header_json(*block) : "null");
  }
  return json.end_object().end_object().take();
}

void Endpoint::upgrade(tcp::socket socket, HttpRequest request, Clock::time_point arrival) {
  ++counts_["ws"];
  Fault* fault = strike({Call{"null", "ws", nullptr}}, {FaultStage::websocket});
  std::erase_if(sockets_, [](const auto& weak) { return weak.expired(); });
  sockets_.push_back(open_websocket(*this, std::move(socket), std::move(request), arrival + latency_.draw(),
                                    fault ? std::optional(*fault) : std::nullopt));
}

}  // namespace rpcroute::devnet
