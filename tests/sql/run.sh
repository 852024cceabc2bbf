#!/usr/bin/env bash
# run.sh EXTENSION FILE.sql: runs the file in the stock shell. Each row it prints is `name|1` where the expectation holds;
# anything else, an error included, fails.
set -u
output=$(sqlite3 -bail -batch -cmd ".load $1" :memory: 2>&1 <"$2")
status=$?
failed=$(grep -v '|1$' <<<"$output")
if [ $status -ne 0 ] || [ -n "$failed" ] || [ -z "$output" ]; then
  printf 'failed in %s:\n%s\n' "$2" "${failed:-no expectation was checked}"
  exit 1
fi
echo "$(wc -l <<<"$output") expectations hold in $2"
