# Sourced by examples/quickstart.sh and tests/run.sh: installs what is missing and builds. Debian 12 or newer.

say() { printf '\n== %s\n' "$*" >&2; }

# What the extension and the devnet are built from, and the stock shell that loads them.
build_packages=(
  cmake g++ ninja-build pkg-config
  libboost-dev libcli11-dev libcrypto++-dev libcurl4-openssl-dev libsecp256k1-dev libsqlite3-dev libssl-dev
  libxgboost-dev rapidjson-dev sqlite3 zlib1g-dev
)

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# install_missing PACKAGE…: asks apt only for what is not there.
install_missing() {
  local package missing=()
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  say "Installing ${missing[*]}"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

# configure PRESET [OPTION…]: through ccache where it is installed.
configure() {
  local preset=$1
  shift
  command -v ccache >/dev/null && set -- -DCMAKE_CXX_COMPILER_LAUNCHER=ccache "$@"
  cmake --preset "$preset" "$@" >/dev/null
}
