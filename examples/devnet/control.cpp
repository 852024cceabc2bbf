#include "control.hpp"

#include <boost/asio/post.hpp>
#include <cmath>
#include <stdexcept>

namespace rpcroute::devnet {
namespace {

namespace http = boost::beast::http;

/// The path means nothing.
struct NotFound {};

double number(const Json& value, const char* name) {
  if (!value.IsNumber()) throw std::invalid_argument(std::string(name) + " must be a number");
  return value.GetDouble();
}

std::uint64_t count(const Json& body, const char* name, std::uint64_t otherwise) {
  const Json* value = member(body, name);
  if (!value) return otherwise;
  if (!value->IsUint64()) throw std::invalid_argument(std::string(name) + " must be a whole number");
  return value->GetUint64();
}

std::vector<Fault> faults_of(const Json& json) {
  std::vector<Fault> faults;
  if (json.IsObject()) faults.push_back(parse_fault(json));
  if (json.IsArray()) {
    for (const auto& fault : json.GetArray()) faults.push_back(parse_fault(fault));
  }
  return faults;
}

double since_of(std::string_view query) {
  constexpr std::string_view key = "since=";
  return query.starts_with(key) ? std::strtod(std::string(query.substr(key.size())).c_str(), nullptr) : 0;
}

constexpr const char* done = R"({"ok":true})";

Reply json_reply(int status, std::string_view body) {
  return {.bytes = http_response(status, "application/json", body)};
}

Reply failure(int status, std::string_view message) {
  return json_reply(status, JsonText().begin_object().field("error", message).end_object().take());
}

}  // namespace

Control::Control(Fleet& fleet, unsigned short port, std::function<void()> shut_down)
    : fleet_(fleet), shut_down_(std::move(shut_down)), listener_(fleet.world().io, port, *this) {}

Reply Control::answer(const HttpRequest& request) try {
  const std::string_view target(request.target().data(), request.target().size());
  const auto question = std::min(target.find('?'), target.size());
  const auto path = target.substr(0, question);
  if (request.method() == http::verb::get) {
    return json_reply(200, get(path, target.substr(std::min(question + 1, target.size()))));
  }
  if (request.method() != http::verb::post) return failure(405, "GET or POST");
  rapidjson::Document body(rapidjson::kObjectType);
  if (!request.body().empty()) body.Parse(request.body().data(), request.body().size());
  if (body.HasParseError()) return failure(400, "the body is not JSON");
  return json_reply(200, post(path, body));
} catch (const NotFound&) {
  return failure(404, "no such path");
} catch (const std::exception& error) {
  return failure(400, error.what());
}

std::string Control::get(std::string_view path, std::string_view query) const {
  const auto& truth = fleet_.world().truth;
  if (path == "/head") return head();
  if (path == "/accounts") return accounts();
  if (path == "/providers") return providers();
  if (path == "/counts") return counts();
  if (path == "/truth/transactions") return truth.transactions();
  if (path == "/truth/heights") return truth.heights(since_of(query));
  throw NotFound();
}

std::string Control::post(std::string_view path, const Json& body) {
  constexpr std::string_view providers_path = "/providers/";
  if (path.starts_with(providers_path)) {
    Endpoint* endpoint = fleet_.find(path.substr(providers_path.size()));
    if (!endpoint) throw NotFound();
    change(*endpoint, body);
  } else if (path == "/counts/reset") {
    for (auto& endpoint : fleet_.endpoints()) endpoint.reset_counts();
  } else if (path == "/chain") {
    const Json* fee = member(body, "base_fee_gwei");
    if (!fee) throw std::invalid_argument("base_fee_gwei must be given");
    fleet_.world().chain.set_base_fee(static_cast<std::uint64_t>(std::llround(number(*fee, "base_fee_gwei") * 1e9)));
  } else if (path == "/mine") {
    mine(body);
  } else if (path == "/reorg") {
    fleet_.reorganise(count(body, "depth", 1));
  } else if (path == "/drop") {
    const Json* hash_text = member(body, "hash");
    const auto hash = hash_text ? parse_fixed<32>(text_of(*hash_text)) : std::nullopt;
    if (!hash || !fleet_.drop(*hash)) throw std::invalid_argument("hash must be of a transaction that waits");
  } else if (path == "/shutdown") {
    shut_down_();
  } else {
    throw NotFound();
  }
  return done;
}

void Control::mine(const Json& body) {
  for (auto left = count(body, "slots", 1); left > 0; --left) fleet_.advance();
}

void Control::change(Endpoint& endpoint, const Json& settings) {
  if (!settings.IsObject()) throw std::invalid_argument("the settings must be an object");
  for (const auto& setting : settings.GetObject()) {
    const auto name = text_of(setting.name);
    const Json& value = setting.value;
    if (name == "latency_ms") {
      endpoint.set_latency({.base = {.median_ms = number(value, "latency_ms"), .sigma = 0}});
    } else if (name == "latency") {
      endpoint.set_latency(parse_latency(value));
    } else if (name == "lag" && (value.IsNull() || value.IsUint64())) {
      endpoint.node().fix_lag(value.IsNull() ? std::nullopt : std::optional(value.GetUint64()));
    } else if (name == "error_rate") {
      endpoint.set_error_rate(number(value, "error_rate"));
    } else if (name == "propagation_ms") {
      endpoint.node().set_propagation({number(value, "propagation_ms"), 0});
    } else if (name == "fault" || name == "faults") {
      endpoint.set_faults(faults_of(value));
    } else {
      throw std::invalid_argument("cannot change " + std::string(name));
    }
  }
}

std::string Control::head() const {
  const auto& chain = fleet_.world().chain;
  const auto& block = chain.head();
  JsonText json;
  json.begin_object().field("number", block.number).field("hash", block.hash).field("slot", chain.slot());
  json.field("time", block.time).field("base_fee_gwei", chain.base_fee().convert_to<double>() / 1e9);
  return json.end_object().take();
}

std::string Control::accounts() const {
  JsonText json;
  json.begin_array();
  for (const auto& [address, key] : fleet_.world().unlocked) {
    json.begin_object().field("address", address).field("private_key", hex(key)).end_object();
  }
  return json.end_array().take();
}

std::string Control::providers() const {
  JsonText json;
  json.begin_array();
  for (auto& endpoint : fleet_.endpoints()) {
    json.begin_object().field("provider_id", endpoint.provider_id());
    json.field("kind", endpoint.kind() == Kind::solana ? "solana" : "evm");
    json.field("url", endpoint.url()).field("ws_url", endpoint.ws_url());
    json.field("lag", endpoint.node().lag()).field("view", endpoint.node().view()).end_object();
  }
  return json.end_array().take();
}

std::string Control::counts() const {
  JsonText json;
  json.begin_object();
  for (const auto& endpoint : fleet_.endpoints()) {
    json.key(endpoint.provider_id()).begin_object();
    for (const auto& [method, calls] : endpoint.counts()) json.field(method, calls);
    json.end_object();
  }
  return json.end_object().take();
}

}  // namespace rpcroute::devnet
