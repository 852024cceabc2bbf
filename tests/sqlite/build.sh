#!/usr/bin/env bash
# build.sh DIRECTORY: puts DIRECTORY/<version>/libsqlite3.so.0 there for each line of versions.txt, the oldest SQLite that
# is supported and the newest: `<version> <release of the npm package better-sqlite3 that carries its amalgamation>`.
# A program of the distribution's that links SQLite dynamically runs on it under LD_LIBRARY_PATH.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"

# What Debian's library is built with and Python's module, the host tests or our scripts may ask for.
options=(
  -DHAVE_ISNAN -DSQLITE_ENABLE_COLUMN_METADATA -DSQLITE_ENABLE_DBSTAT_VTAB -DSQLITE_ENABLE_FTS3
  -DSQLITE_ENABLE_FTS3_PARENTHESIS -DSQLITE_ENABLE_FTS3_TOKENIZER -DSQLITE_ENABLE_FTS4 -DSQLITE_ENABLE_FTS5
  -DSQLITE_ENABLE_LOAD_EXTENSION -DSQLITE_ENABLE_MATH_FUNCTIONS -DSQLITE_ENABLE_PREUPDATE_HOOK -DSQLITE_ENABLE_RTREE
  -DSQLITE_ENABLE_SESSION -DSQLITE_ENABLE_STMTVTAB -DSQLITE_ENABLE_UNLOCK_NOTIFY -DSQLITE_LIKE_DOESNT_MATCH_BLOBS
  -DSQLITE_MAX_VARIABLE_NUMBER=250000 -DSQLITE_SECURE_DELETE -DSQLITE_SOUNDEX -DSQLITE_USE_URI
)

while read -r version release; do
  [ -e "$version/libsqlite3.so.0" ] && continue
  work=$(mktemp -d "$version.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  npm pack --silent --pack-destination "$work" "better-sqlite3@$release" >/dev/null
  tar -xzf "$work"/*.tgz -C "$work" package/deps/sqlite3
  source=$work/package/deps/sqlite3/sqlite3.c
  grep -q "^#define SQLITE_VERSION  *\"$version\"" "$source" || {
    echo "better-sqlite3 $release does not carry SQLite $version" >&2
    exit 1
  }
  gcc -O1 -shared -fPIC "${options[@]}" -Wl,-soname,libsqlite3.so.0 -o "$work/libsqlite3.so.0" "$source" -lm -lpthread
  mkdir -p "$version"
  mv "$work/libsqlite3.so.0" "$version/"  # whole or not at all
  rm -rf "$work"
done <"$here/versions.txt"
