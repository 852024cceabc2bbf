#!/usr/bin/env bash
# Runs every test: installs what is missing, builds, starts the nodes it needs on loopback, and ends them.
#
#   tests/run.sh              everything
#   tests/run.sh -R sqlite    ctest's own options choose among the tests of the release build
set -euo pipefail
cd "$(dirname "$0")/.."
. examples/prepare.sh

install_missing "${build_packages[@]}" catch2 ccache python3 python3-xgboost

# Real nodes, from npm: anvil and cast are native binaries, hardhat needs Node.
if ! command -v npm >/dev/null; then install_missing nodejs npm; fi
nodes=build/nodes
if [ ! -x "$nodes/node_modules/.bin/hardhat" ]; then
  say "Installing anvil, cast and hardhat from npm"
  mkdir -p "$nodes"
  npm install --prefix "$nodes" --no-audit --no-fund --loglevel=error @foundry-rs/anvil@1.7.1 @foundry-rs/cast@1.7.1 hardhat@2.29.1 >&2
fi

say "Building"
configure release -DRPCROUTE_TESTS=ON
cmake --build build

say "Testing"
ctest --test-dir build --output-on-failure --no-tests=error "$@"
