#!/usr/bin/env bash
# Makes seed.json and recommended.json, and says what routing by them would have achieved. The same recipe gives the same
# bytes with the same libxgboost.
#
#   models/make.sh           writes the two models beside this script
#   models/make.sh --check   writes nothing: fails when the recipe gives other bytes than are there
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
db=$work/history.db

sql() { sqlite3 -bail -cmd '.load build/rpcroute' "$db" "$@"; }

# Twelve days of a simulated fleet; align.sql keeps the newest fifth for testing.
build/rpcroute-devnet generate --scenario lag-matters --days 12 --seed 7 --out "$db" >&2
for script in align train; do sql < "sql/$script.sql" >/dev/null; done

for recipe in seed recommended; do
  sql "SELECT content FROM rpc_models WHERE model LIKE '$recipe-%'" | tr -d '\n' > "$work/$recipe.json"
  if [ "${1:-}" = --check ]; then
    cmp "$work/$recipe.json" "models/$recipe.json"
  else
    cp "$work/$recipe.json" "models/$recipe.json"
  fi
  sql "UPDATE rpc_models SET active = 1 WHERE model LIKE '$recipe-%'"
  sql < sql/evaluate.sql >/dev/null
  sql "CREATE TABLE IF NOT EXISTS true_means (policy PRIMARY KEY, n, mean_sec);
       INSERT OR REPLACE INTO true_means
       SELECT CASE policy WHEN 'smart' THEN 'smart, $recipe model' ELSE policy END, count(*), avg(t.duration_sec)
         FROM policy_choices c JOIN truth t USING (tx_id, provider_id) GROUP BY policy"
done
sqlite3 -box "$db" "SELECT policy, n, round(mean_sec, 2) AS true_mean_sec FROM true_means ORDER BY mean_sec"
