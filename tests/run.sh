#!/usr/bin/env bash
# Runs every test: installs what is missing, builds, starts the nodes it needs on loopback, and ends them.
#
#   tests/run.sh             everything, the sanitized builds included
#   tests/run.sh -R sql:     ctest's own options choose among the tests of the release build
set -euo pipefail
cd "$(dirname "$0")/.."
. examples/prepare.sh

install_missing "${build_packages[@]}" catch2 ccache locales python3 python3-xgboost

# Real nodes, from npm: anvil and cast are native binaries, hardhat needs Node.
if ! command -v npm >/dev/null; then install_missing nodejs npm; fi
nodes=build/nodes
foundry=linux-amd64  # the packages with the binaries themselves: not every npm follows the optional dependency on them
if [ ! -x "$nodes/node_modules/.bin/hardhat" ] || [ ! -d "$nodes/node_modules/@foundry-rs/cast-$foundry" ]; then
  say "Installing anvil, cast and hardhat from npm"
  mkdir -p "$nodes"
  npm install --prefix "$nodes" --no-audit --no-fund --loglevel=error \
    "@foundry-rs/anvil-$foundry@1.7.1" "@foundry-rs/cast-$foundry@1.7.1" hardhat@2.29.1 >&2
fi

say "Building the oldest and the newest SQLite"
tests/sqlite/build.sh build/sqlite

say "Building"
configure release -DRPCROUTE_TESTS=ON
cmake --build build

say "Testing"
if [ $# -gt 0 ]; then exec ctest --test-dir build --output-on-failure --no-tests=error "$@"; fi
ctest --test-dir build --output-on-failure --no-tests=error

# The domain and the SQLite border once more under sanitizers: addresses and undefined behaviour, then threads.
say "Building with the address and undefined-behaviour sanitizers"
configure asan
cmake --build build/asan --target rpcroute rpcroute-unit rpcroute-host
say "Testing with them"
ctest --test-dir build/asan --output-on-failure --no-tests=error -R '^(unit|host):'

say "Building with the thread sanitizer"
configure tsan
cmake --build build/tsan --target rpcroute rpcroute-host
say "Testing with it"
ctest --test-dir build/tsan --output-on-failure --no-tests=error -R '^host:' -E ' on SQLite |whatever allocation fails'
