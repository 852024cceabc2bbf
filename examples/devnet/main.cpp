// rpcroute-devnet: a local fleet of RPC providers, live (`serve`) or as a history (`generate`).
#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>

#include "serve.hpp"
#if __has_include("generate.hpp")
#include "generate.hpp"
#endif

int main(int argc, char** argv) try {
  CLI::App app("A local fleet of blockchain RPC providers on a small chain of its own");
  app.require_subcommand(1);
  rpcroute::devnet::add_serve_command(app);
#if __has_include("generate.hpp")
  add_generate_command(app);
#endif
  CLI11_PARSE(app, argc, argv);
  return 0;
} catch (const std::exception& error) {
  std::cerr << "rpcroute-devnet: " << error.what() << "\n";
  return 1;
}
