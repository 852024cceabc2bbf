// rpcroute-devnet: a local fleet of RPC providers, live (`serve`) or as a history (`generate`).
#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>

#include "generate.hpp"
#include "serve.hpp"

int main(int argc, char** argv) try {
  CLI::App app("A local fleet of blockchain RPC providers on a small chain of its own");
  app.require_subcommand(1);
  rpcroute::devnet::add_serve_command(app);
  add_generate_command(app);
  CLI11_PARSE(app, argc, argv);
  return 0;
} catch (const std::exception& error) {
  std::cerr << "rpcroute-devnet: " << error.what() << "\n";
  return 1;
}
