// `rpcroute-devnet generate`: a month of observations and probe transactions in a second or two, with the truth.
#pragma once

#include <CLI/CLI.hpp>

/// Adds the subcommand. It runs while `app` parses; what goes wrong is said on stderr and thrown as
/// CLI::RuntimeError, which CLI::App::exit turns into the exit status.
void add_generate_command(CLI::App& app);
