// The subcommand `serve`: runs a fleet until it is told to end.
#pragma once

#include <CLI/CLI.hpp>

namespace rpcroute::devnet {

void add_serve_command(CLI::App& app);

}  // namespace rpcroute::devnet
