#!/usr/bin/env bash
# The main job from an empty machine: builds, watches a fleet of providers for about a minute, trains, evaluates, and
# routes. Leaves rpcroute.db to explore.
#
#   examples/quickstart.sh                                  a fleet of four simulated providers on this machine
#   RPCROUTE_PROVIDERS_SQL=mine.sql examples/quickstart.sh  your own providers: mine.sql inserts into rpc_providers and
#                                                           route_targets (and rpc_chains, where yours is not there)
#
#   RPCROUTE_DB       the database to make or to continue (rpcroute.db)
#   RPCROUTE_SECONDS  how long to watch (50)
set -euo pipefail
cd "$(dirname "$0")/.."
. examples/prepare.sh

db=${RPCROUTE_DB:-rpcroute.db}
seconds=${RPCROUTE_SECONDS:-50}
slot_ms=300
fleet_pid=
collector_pid=
work=$(mktemp -d)

end() {
  for pid in $collector_pid $fleet_pid; do kill "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap end EXIT

sql() { sqlite3 -bail -cmd '.timeout 5000' -cmd '.load build/rpcroute' "$db" "$@"; }
run() { sql < "sql/$1.sql"; }

start_fleet() {
  say "Starting four simulated providers on loopback, a slot of $slot_ms ms"
  build/rpcroute-devnet serve --config examples/devnet/fleet.json --slot-ms "$slot_ms" --seed 7 \
    --max-seconds $((seconds + 600)) >"$work/ready.json" 2>"$work/devnet.log" &
  fleet_pid=$!
  until [ -s "$work/ready.json" ]; do
    kill -0 "$fleet_pid" 2>/dev/null || { cat "$work/devnet.log" >&2; exit 1; }
    sleep 0.05
  done
  sql <<SQL
CREATE TEMP TABLE fleet AS SELECT CAST(readfile('$work/ready.json') AS TEXT) AS ready;
UPDATE rpc_chains SET chain_id = (SELECT ready ->> '\$.chain_id' FROM fleet), block_time_ms = $slot_ms,
       head_max_ahead = NULL WHERE chain = 'devnet';
INSERT OR REPLACE INTO rpc_providers (provider_id, chain, url, ws_url)
  SELECT value ->> 'provider_id', 'devnet', value ->> 'url', value ->> 'ws_url'
    FROM fleet, json_each(ready, '\$.providers');
INSERT OR IGNORE INTO route_targets (chain) VALUES ('devnet');
UPDATE rpc_settings SET value = 20 * $slot_ms / 12000.0 WHERE key = 'slow_sec';  -- as 20 s are to a slot of 12 s
UPDATE rpc_settings SET value = $slot_ms / 20 WHERE key = 'poll_ms';
UPDATE rpc_settings SET value = 8 WHERE key = 'probe_n';
-- A minute gives a hundred rows: leaves of thirty would be all the tree.
UPDATE rpc_settings SET value = json_set(value, '\$.min_child_weight', 4) WHERE key = 'train_recommended';
SQL
}

# One line that renews itself on a terminal; elsewhere, a line each time.
show_progress() {
  if [ -t 2 ]; then printf '\r\033[K%4d s left  %s' "$@" >&2; else printf '%4d s left  %s\n' "$@" >&2; fi
}

# Until the time is up: one poll of everybody a second beside one probe transaction after another.
watch_providers() {
  say "Polling every second and sending probe transactions for $seconds s"
  local until=$((SECONDS + seconds))
  (while [ $SECONDS -lt $until ]; do run collect >/dev/null; sleep 1; done) &
  collector_pid=$!
  while [ $SECONDS -lt $until ]; do
    run probe_tx >/dev/null
    show_progress $((until > SECONDS ? until - SECONDS : 0)) "$(sqlite3 "$db" "
      SELECT (SELECT count(*) FROM rpc_metrics) || ' observations, ' ||
             (SELECT count(*) FROM tx_outcomes WHERE state = 'confirmed') || ' confirmed transactions'")"
  done
  wait "$collector_pid"
  collector_pid=
}

report() {
  say "Providers"
  sql -box "SELECT * FROM provider_summary"
  say "Alignment: what became of each transaction"
  sql -box "SELECT * FROM alignment_report WHERE n > 0"
  say "Strategies on the newest transactions (errors in seconds; improvement over static)"
  sql -box "SELECT strategy, n, round(mae, 3) AS mae, round(rmse, 3) AS rmse, round(p95, 3) AS p95,
                   round(improvement_pct, 1) AS improvement_pct FROM evaluation"
  say "Decision"
  sql -box "SELECT outcome, provider_id, round(predicted_sec, 2) AS predicted_sec, round(latency_ms, 1) AS latency_ms,
                   block_lag, ping_provider_id, reasons, round(decided_ms, 1) AS decided_ms
              FROM route_decisions ORDER BY decision_id DESC LIMIT 1"
  sql -box "SELECT rank, provider_id, round(predicted_sec, 2) AS predicted_sec, round(latency_ms, 1) AS latency_ms,
                   block_lag, exclusion FROM route_candidates
             WHERE decision_id = (SELECT max(decision_id) FROM route_decisions) ORDER BY rank IS NULL, rank"
}

install_missing "${build_packages[@]}"
say "Building"
configure release -DRPCROUTE_TESTS=OFF
cmake --build build --target rpcroute rpcroute-devnet

if [ -n "${RPCROUTE_PROVIDERS_SQL:-}" ]; then
  sqlite3 -bail -cmd '.timeout 5000' "$db" < sql/schema.sql
  sqlite3 -bail -cmd '.timeout 5000' "$db" < "$RPCROUTE_PROVIDERS_SQL"
else
  # A simulated fleet starts a chain of its own: what an earlier one left is kept aside, not mixed in.
  [ ! -e "$db" ] || { mv "$db" "$db.$(date +%Y%m%d-%H%M%S)"; rm -f "$db-wal" "$db-shm"; }
  sqlite3 -bail -cmd '.timeout 5000' "$db" < sql/schema.sql >/dev/null
  start_fleet
fi

watch_providers
say "Aligning, training, evaluating, routing"
for script in align train evaluate route; do run "$script" >/dev/null; done
report
say "Everything is in $db:  sqlite3 -cmd '.load build/rpcroute' $db    then  .read examples/queries.sql"
