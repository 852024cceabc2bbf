#include "generate.hpp"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "fleet_model.hpp"
#include "generate_database.hpp"

namespace rpcroute::history {
namespace {

constexpr std::int64_t history_start = 1767225600;  // 2026-01-01T00:00:00Z, whatever the clock says
constexpr std::int64_t first_block = 8'000'000;
constexpr double timeout_ms = 3500;
constexpr double jitter_share = 0.4;  // of the period, so that polls and probes fall everywhere within a slot

struct Options {
  std::string scenario;
  double days = 30;
  std::uint64_t seed = 7;
  std::filesystem::path out;
  double poll_sec = 30;
  double probe_sec = 28;
  std::filesystem::path schema;

  double duration_sec() const { return days * 86400; }
};

struct Counts {
  std::int64_t metrics = 0;
  std::int64_t transactions = 0;
};

double thousandths(double value) {
  return std::floor(value * 1000 + 0.5) / 1000;
}
double timestamp_of(double at) {
  return history_start + thousandths(at);
}
std::int64_t block_of(std::int64_t slot) {
  return first_block + slot;
}

const Scenario& scenario_named(const std::string& name) {
  for (const Scenario& scenario : scenarios()) {
    if (scenario.name == name) {
      return scenario;
    }
  }
  throw std::invalid_argument("unknown scenario " + name);
}

void write_fleet(Database& database, const Scenario& scenario, const Options& options) {
  const std::string note = "simulated: scenario " + options.scenario + ", seed " + std::to_string(options.seed);
  Insert provider(database,
                  "INSERT OR IGNORE INTO rpc_providers (provider_id, chain, url, notes) VALUES "
                  "(?1, 'ethereum-sepolia', 'http://' || ?1 || '.invalid', ?2)");
  for (const ProviderModel& model : scenario.providers) {
    provider(model.provider_id, std::string_view(note));
  }
  database.run("UPDATE rpc_settings SET value = 'infura' WHERE key = 'static_provider' AND value IS NULL");
}

std::int64_t write_metrics(Database& database, Fleet& fleet, const Scenario& scenario, const Options& options) {
  Insert answered(
      database,
      "INSERT INTO rpc_metrics (cycle_id, timestamp, provider_id, chain, ok, latency_ms, setup_ms, "
      "total_ms, block_number, http_status) VALUES (?1, ?2, ?3, 'ethereum-sepolia', 1, ?4, 0, ?4, ?5, 200)");
  Insert failed(
      database,
      "INSERT INTO rpc_metrics (cycle_id, timestamp, provider_id, chain, ok, http_status, error_class, error) "
      "VALUES (?1, ?2, ?3, 'ethereum-sepolia', 0, iif(?4 = 'rate_limited', 429, NULL), ?4, 'simulated')");
  Random jitter(options.seed, 1001);
  const auto rounds = static_cast<std::int64_t>(std::ceil(options.duration_sec() / options.poll_sec));
  for (std::int64_t round = 0; round < rounds; ++round) {
    const double at = (static_cast<double>(round) + jitter.uniform(0, jitter_share)) * options.poll_sec;
    for (std::size_t i = 0; i < fleet_size; ++i) {
      const std::string_view provider_id = scenario.providers[i].provider_id;
      const Observation seen = fleet.poll(i, at, timeout_ms);
      if (seen.latency_ms) {
        answered(round + 1, timestamp_of(seen.timestamp), provider_id, thousandths(*seen.latency_ms),
                 block_of(seen.slot));
      } else {
        failed(round + 1, timestamp_of(seen.timestamp), provider_id, seen.error_class);
      }
    }
  }
  return rounds * static_cast<std::int64_t>(fleet_size);
}

/// Hands every transaction to a key that has none in flight, a new one where it must.
class Keys {
 public:
  std::int64_t nonce(double at, double until) {
    for (Key& key : keys_) {
      if (key.free_at <= at) {
        key.free_at = until;
        return key.next++;
      }
    }
    keys_.push_back({.free_at = until, .next = 1});
    return 0;
  }

 private:
  struct Key {
    double free_at;
    std::int64_t next;
  };
  std::vector<Key> keys_;
};

std::int64_t write_transactions(Database& database, Fleet& fleet, const Scenario& scenario, const Options& options) {
  Insert outcome(database,
                 "INSERT INTO tx_outcomes (tx_id, timestamp, provider_id, chain, nonce, propensity, state, status, "
                 "duration_sec, own_receipt_sec, duration_source, submit_ms, submit_head, block_number, "
                 "block_timestamp, blocks_waited, gas_used) VALUES (?1, ?2, ?3, 'ethereum-sepolia', ?4, ?5, "
                 "'confirmed', 1, ?6, ?7, 'receipt', ?8, ?9, ?10, ?11, ?10 - ?9, 21000)");
  Insert truth(database, "INSERT INTO truth VALUES (?1, ?2, ?3)");
  Random draw(options.seed, 1002);
  Keys keys;
  const auto probes = static_cast<std::int64_t>(std::ceil(options.duration_sec() / options.probe_sec));
  for (std::int64_t tx_id = 1; tx_id <= probes; ++tx_id) {
    const double at = (static_cast<double>(tx_id - 1) + draw.uniform(0, jitter_share)) * options.probe_sec;
    const auto confirmations = fleet.confirm(at);
    const std::size_t chosen = draw.below(fleet_size);
    const Confirmation& own = confirmations[chosen];
    outcome(tx_id, timestamp_of(at), scenario.providers[chosen].provider_id, keys.nonce(at, at + own.duration_sec),
            1.0 / fleet_size, thousandths(own.duration_sec), thousandths(own.own_receipt_sec),
            thousandths(own.submit_ms), block_of(fleet.head(at)), block_of(own.slot),
            history_start + own.slot * static_cast<std::int64_t>(slot_sec));
    for (std::size_t i = 0; i < fleet_size; ++i) {
      truth(tx_id, scenario.providers[i].provider_id, thousandths(confirmations[i].duration_sec));
    }
  }
  return probes;
}

Counts write_history(const Options& options) {
  const Scenario& scenario = scenario_named(options.scenario);
  HistoryFile file(options.out, options.schema);
  Fleet fleet(scenario, options.seed, options.duration_sec());
  write_fleet(file.database(), scenario, options);
  Counts counts;
  counts.metrics = write_metrics(file.database(), fleet, scenario, options);
  counts.transactions = write_transactions(file.database(), fleet, scenario, options);
  file.finish();
  return counts;
}

// Where the schema is when nobody says: in the sources this program was built from, or where it was installed.
std::filesystem::path default_schema() {
  for (const char* directory : {RPCROUTE_SOURCE_DIR, RPCROUTE_SHARE_DIR}) {
    std::filesystem::path schema = std::filesystem::path(directory) / "sql" / "schema.sql";
    if (std::filesystem::exists(schema)) {
      return schema;
    }
  }
  throw std::invalid_argument("schema.sql is neither in " RPCROUTE_SOURCE_DIR "/sql nor in " RPCROUTE_SHARE_DIR
                              "/sql: give its place with --schema");
}

void generate(Options options) {
  if (options.schema.empty()) {
    options.schema = default_schema();
  }
  const auto started = std::chrono::steady_clock::now();
  const Counts counts = write_history(options);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  const auto truths = counts.transactions * static_cast<std::int64_t>(fleet_size);
  const auto rows = counts.metrics + counts.transactions + truths;
  std::cout << options.out.string() << ": " << counts.metrics << " observations, " << counts.transactions
            << " transactions and their truth through " << fleet_size << " providers; " << rows << " rows in "
            << thousandths(took.count()) << " s, "
            << static_cast<std::int64_t>(static_cast<double>(rows) / took.count()) << " rows per second\n";
}

std::string scenario_help() {
  std::string help = "What the simulated fleet is like:";
  for (const Scenario& scenario : scenarios()) {
    help.append("\n").append(scenario.name).append(": ").append(scenario.summary);
  }
  return help;
}

}  // namespace
}  // namespace rpcroute::history

void add_generate_command(CLI::App& app) {
  using namespace rpcroute::history;
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "generate",
      "Write the observations and probe transactions of a simulated fleet, with what every transaction "
      "would have taken through every provider (table truth). The same options give the same bytes.");
  std::vector<std::string> names;
  for (const Scenario& scenario : scenarios()) {
    names.emplace_back(scenario.name);
  }
  command->add_option("--scenario", options->scenario, scenario_help())->required()->check(CLI::IsMember(names));
  command
      ->add_option("--out", options->out,
                   "Database to write: a new file, or one that schema.sql made and that has "
                   "no observations yet")
      ->required();
  command->add_option("--days", options->days, "Length of the history")
      ->check(CLI::Range(0.01, 366.0))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Begins the random numbers")->capture_default_str();
  command->add_option("--poll-sec", options->poll_sec, "Seconds from poll to poll")
      ->check(CLI::Range(1.0, 3600.0))
      ->capture_default_str();
  command->add_option("--probe-sec", options->probe_sec, "Seconds from transaction to transaction")
      ->check(CLI::Range(1.0, 3600.0))
      ->capture_default_str();
  command->add_option("--schema", options->schema,
                      "schema.sql, where it is not beside the program's sources or installed");
  command->callback([options] {
    try {
      generate(*options);
    } catch (const std::exception& error) {
      std::cerr << "rpcroute-devnet generate: " << error.what() << '\n';
      throw CLI::RuntimeError(1);
    }
  });
}
