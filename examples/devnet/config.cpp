#include "config.hpp"

#include <cmath>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <stdexcept>

namespace rpcroute::devnet {
namespace {

constexpr double unbounded = std::numeric_limits<double>::max();

/// Reads the members of one object by name, and knows in the end which nobody asked for.
class Fields {
 public:
  Fields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.IsObject()) throw std::invalid_argument(where_ + " must be a JSON object");
  }

  /// From here on the object has a better name than its place.
  void known_as(const std::string& name) { where_ = name; }

  double number(const char* key, double otherwise, double least = 0, double most = unbounded) {
    const Json* value = take(key);
    if (!value) return otherwise;
    if (!value->IsNumber() || value->GetDouble() < least || value->GetDouble() > most) {
      fail(key, most < unbounded ? "must be a number from " + text(least) + " to " + text(most)
                                 : "must be a number of at least " + text(least));
    }
    return value->GetDouble();
  }

  double probability(const char* key, double otherwise) { return number(key, otherwise, 0, 1); }

  std::uint64_t integer(const char* key, std::uint64_t otherwise) {
    const Json* value = take(key);
    if (!value) return otherwise;
    if (!value->IsUint64()) fail(key, "must be a whole number of at least 0");
    return value->GetUint64();
  }

  bool flag(const char* key) {
    const Json* value = take(key);
    if (value && !value->IsBool()) fail(key, "must be true or false");
    return value && value->GetBool();
  }

  std::string string(const char* key) {
    const Json* value = take(key);
    if (value && !value->IsString()) fail(key, "must be a string");
    return value ? std::string(text_of(*value)) : "";
  }

  const Json* array(const char* key) {
    const Json* value = take(key);
    if (value && !value->IsArray()) fail(key, "must be an array");
    return value;
  }

  const Json* object(const char* key) { return take(key); }

  void finish() const {
    for (const auto& member : object_.GetObject()) {
      const std::string key(text_of(member.name));
      if (!used_.contains(key)) throw std::invalid_argument(where_ + ": unknown key " + key);
    }
  }

  [[noreturn]] void fail(const std::string& key, const std::string& what) const {
    throw std::invalid_argument(where_ + ": " + key + " " + what);
  }

 private:
  static std::string text(double number) { return (std::ostringstream() << number).str(); }

  const Json* take(const char* key) {
    used_.insert(key);
    return member(object_, key);
  }

  const Json& object_;
  std::string where_;
  std::set<std::string> used_;
};

Lognormal read_lognormal(Fields& fields) {
  return {fields.number("median_ms", 0), fields.number("sigma", 0, 0, 5)};
}

LatencyConfig read_latency(const Json& json, const std::string& where) {
  Fields fields(json, where);
  LatencyConfig latency;
  latency.base = read_lognormal(fields);
  latency.spike_probability = fields.probability("spike_probability", 0);
  if (const Json* factor = fields.array("spike_factor")) {
    if (factor->Size() != 2 || !(*factor)[0].IsNumber() || !(*factor)[1].IsNumber()) {
      fields.fail("spike_factor", "must be [from, to]");
    }
    latency.spike_from = (*factor)[0].GetDouble();
    latency.spike_to = (*factor)[1].GetDouble();
    if (!(latency.spike_from >= 0 && latency.spike_to >= latency.spike_from)) {
      fields.fail("spike_factor", "must be [from, to]");
    }
  }
  fields.finish();
  return latency;
}

LagConfig read_lag(const Json& json, const std::string& where) {
  Fields fields(json, where);
  LagConfig lag;
  lag.share = fields.number("share", 0, 0, 0.95);
  lag.burst_slots = fields.number("burst_slots", lag.burst_slots, 1);
  lag.max = fields.integer("max", lag.max);
  lag.hit_probability = fields.probability("hit_probability", 1);
  fields.finish();
  return lag;
}

Lognormal read_propagation(const Json& json, const std::string& where) {
  Fields fields(json, where);
  const auto propagation = read_lognormal(fields);
  fields.finish();
  return propagation;
}

Kind read_kind(Fields& fields) {
  const auto kind = fields.string("kind");
  if (kind == "solana") return Kind::solana;
  if (!kind.empty() && kind != "evm") fields.fail("kind", "must be \"evm\" or \"solana\"");
  return Kind::evm;
}

bool is_url_safe(const std::string& text) {
  return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
                              std::string::npos;
}

ProviderConfig read_provider(const Json& json, const std::string& position) {
  Fields fields(json, position);
  ProviderConfig provider;
  provider.provider_id = fields.string("provider_id");
  if (!is_url_safe(provider.provider_id)) fields.fail("provider_id", "must be made of letters, digits, - _ and .");
  const auto& id = provider.provider_id;
  fields.known_as(id);
  provider.kind = read_kind(fields);
  provider.tls = fields.flag("tls");
  if (const Json* latency = fields.object("latency")) provider.latency = read_latency(*latency, id + ": latency");
  provider.error_rate = fields.probability("error_rate", 0);
  provider.head_delay_ms = fields.number("head_delay_ms", 0);
  if (const Json* lag = fields.object("lag")) provider.lag = read_lag(*lag, id + ": lag");
  if (const Json* p = fields.object("propagation")) provider.propagation = read_propagation(*p, id + ": propagation");
  provider.miss_probability = fields.number("miss_probability", 0, 0, 0.95);
  provider.tail_probability = fields.probability("tail_probability", 0);
  if (const Json* faults = fields.array("faults")) {
    for (const auto& fault : faults->GetArray()) provider.faults.push_back(parse_fault(fault));
  }
  fields.finish();
  return provider;
}

std::vector<ProviderConfig> read_providers(Fields& fields) {
  const Json* list = fields.array("providers");
  if (!list || list->Empty()) fields.fail("providers", "must be an array of at least one provider");
  std::vector<ProviderConfig> providers;
  std::set<std::string> ids;
  for (const auto& json : list->GetArray()) {
    providers.push_back(read_provider(json, "provider " + std::to_string(providers.size() + 1)));
    if (!ids.insert(providers.back().provider_id).second) {
      fields.fail("providers", "has " + providers.back().provider_id + " twice");
    }
  }
  return providers;
}

std::vector<Address> read_addresses(Fields& fields, const char* key) {
  std::vector<Address> addresses;
  const Json* list = fields.array(key);
  if (!list) return addresses;
  for (const auto& text : list->GetArray()) {
    const auto address = parse_fixed<20>(text_of(text));
    if (!address) fields.fail(key, "must hold addresses");
    addresses.push_back(*address);
  }
  return addresses;
}

}  // namespace

FleetConfig parse_fleet(const std::string& json) {
  rapidjson::Document document;
  document.Parse(json.data(), json.size());
  if (document.HasParseError()) {
    throw std::invalid_argument("the fleet is not JSON, at byte " + std::to_string(document.GetErrorOffset()));
  }
  Fields fields(document, "the fleet");
  FleetConfig fleet;
  fleet.seed = fields.integer("seed", fleet.seed);
  fleet.slot_ms = fields.number("slot_ms", fleet.slot_ms);
  fleet.chain_id = fields.integer("chain_id", fleet.chain_id);
  fleet.first_block = fields.integer("first_block", fleet.first_block);
  fleet.missed_slot_probability = fields.number("missed_slot_probability", 0, 0, 0.95);
  fleet.cutoff_ms = fields.number("cutoff_ms", 0);
  fleet.base_fee = static_cast<std::uint64_t>(std::llround(fields.number("base_fee_gwei", 1, 0, 1e9) * 1e9));
  fleet.min_tip = fields.integer("min_tip_wei", 1);
  fleet.accounts = fields.integer("accounts", fleet.accounts);
  fleet.funded = read_addresses(fields, "funded");
  fleet.fund_all = fields.flag("fund_all");
  fleet.providers = read_providers(fields);
  fields.finish();
  return fleet;
}

LatencyConfig parse_latency(const Json& json) {
  return read_latency(json, "latency");
}

FleetConfig load_fleet(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::invalid_argument("cannot read " + path);
  return parse_fleet((std::ostringstream() << file.rdbuf()).str());
}

}  // namespace rpcroute::devnet
