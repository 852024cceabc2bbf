#include "serve.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "control.hpp"

namespace rpcroute::devnet {
namespace {

namespace asio = boost::asio;

struct Options {
  std::string config;
  std::string log;
  std::optional<std::uint64_t> seed;
  std::optional<double> slot_ms;
  unsigned short port_base = 0;
  unsigned short control_port = 0;
  double max_seconds = 3600;
  bool exit_with_stdin = false;
};

/// Five hundred providers with a connection each need more descriptors than a shell's usual 1,024.
void raise_descriptor_limit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

/// Ends the loop when the other end of standard input is gone: a parent that died cannot leave a fleet behind.
class StdinWatch {
 public:
  StdinWatch(asio::io_context& io, std::function<void()> ended)
      : input_(io, dup(STDIN_FILENO)), ended_(std::move(ended)) {
    read();
  }

 private:
  void read() {
    input_.async_read_some(asio::buffer(bytes_), [this](ErrorCode error, std::size_t) {
      if (error)
        ended_();
      else
        read();
    });
  }

  asio::posix::stream_descriptor input_;
  std::function<void()> ended_;
  std::array<char, 256> bytes_;
};

FleetConfig fleet_of(const Options& options) {
  auto config = load_fleet(options.config);
  if (options.seed) config.seed = *options.seed;
  if (options.slot_ms) config.slot_ms = *options.slot_ms;
  return config;
}

std::string help_text() {
  return R"(When all ports are open, one JSON line on standard output tells them:
  {"ready":true,"control":port,"chain_id":n,"providers":[{"provider_id":…,"url":…,"ws_url":…}, …]}

A fleet file, every key but providers and provider_id with a default (examples/devnet/config.hpp has them all):
  {"seed": 1, "slot_ms": 400, "chain_id": 424242, "missed_slot_probability": 0.05, "cutoff_ms": 20,
   "base_fee_gwei": 1, "accounts": 10, "funded": ["0x…"], "fund_all": false,
   "providers": [
     {"provider_id": "a", "kind": "evm", "tls": false, "error_rate": 0.01, "head_delay_ms": 0,
      "latency": {"median_ms": 40, "sigma": 0.3, "spike_probability": 0.02, "spike_factor": [3, 10]},
      "lag": {"share": 0.2, "burst_slots": 8, "max": 5, "hit_probability": 1},
      "propagation": {"median_ms": 30, "sigma": 0.6}, "miss_probability": 0.05, "tail_probability": 0.001,
      "faults": [{"name": "429", "methods": ["eth_blockNumber"], "probability": 0.1, "count": 5}]}]}

Faults (examples/devnet/fault.hpp says what each does):
  )" + fault_names();
}

void run(const Options& options) {
  raise_descriptor_limit();
  asio::io_context io(1);
  Fleet fleet(io, fleet_of(options), options.log, options.port_base);
  asio::steady_timer farewell(io);
  // A moment later, so that the answer to /shutdown still leaves.
  const auto end_soon = [&] {
    farewell.expires_after(std::chrono::milliseconds(20));
    farewell.async_wait([&](ErrorCode) { io.stop(); });
  };
  Control control(fleet, options.control_port, end_soon);

  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&](ErrorCode, int) { io.stop(); });
  asio::steady_timer limit(io);
  limit.expires_after(std::chrono::milliseconds(static_cast<std::int64_t>(options.max_seconds * 1000)));
  limit.async_wait([&](ErrorCode) { io.stop(); });
  std::optional<StdinWatch> watch;
  if (options.exit_with_stdin) watch.emplace(io, [&] { io.stop(); });

  fleet.start();
  std::cout << R"({"ready":true,"control":)" << control.port() << R"(,"chain_id":)" << fleet.world().config.chain_id
            << R"(,"providers":)" << control.providers() << "}" << std::endl;
  io.run();
  fleet.world().truth.flush();
}

}  // namespace

void add_serve_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  auto* serve = app.add_subcommand("serve", "Run a fleet of providers on 127.0.0.1 until SIGTERM");
  serve->add_option("--config", options->config, "Fleet file, see below")->required();
  serve->add_option("--log", options->log, "Truth log to write (JSON lines), described in examples/devnet/truth.hpp");
  serve->add_option("--seed", options->seed, "Instead of the fleet's");
  serve->add_option("--slot-ms", options->slot_ms, "Instead of the fleet's; 0: slots come by POST /mine alone");
  serve->add_option("--port-base", options->port_base, "First provider's port, the others follow; 0: free ports");
  serve->add_option("--control-port", options->control_port,
                    "Port of the control endpoint, described in examples/devnet/control.hpp; 0: a free one");
  serve->add_option("--max-seconds", options->max_seconds, "End after that time")->capture_default_str();
  serve->add_flag("--exit-with-stdin", options->exit_with_stdin, "End when standard input is closed");
  serve->footer(help_text());
  serve->callback([options] { run(*options); });
}

}  // namespace rpcroute::devnet
