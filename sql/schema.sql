-- The tables and views of an rpcroute database. Run it on a new file, or again on an old one: what is there stays. A
-- database of version 1 takes sql/migrate_1_to_2.sql first.
--
--   sqlite3 -bail -cmd '.timeout 5000' rpc.db < sql/schema.sql
--
-- Plain SQL for SQLite 3.38 or later, without the extension. What stays in the file calls no JSON function: with
-- trusted_schema off, older SQLite would read no table of such a file. Times are seconds since the Unix epoch, UTC. There
-- are no foreign keys on purpose: a provider of an unknown chain is that provider's `config` row when it is polled, not a
-- refused INSERT, and observations outlive the provider they are about.

CREATE TABLE IF NOT EXISTS rpc_settings (
  key     TEXT NOT NULL PRIMARY KEY,
  value   NUMERIC,        -- a number stays a number however it was typed; NULL where the meaning says so
  meaning TEXT NOT NULL   -- with its unit
);
INSERT OR IGNORE INTO rpc_settings (key, value, meaning)  -- never on tables whose version is not known
SELECT 'schema_version', 2, 'version of these tables; every script refuses another one'
 WHERE NOT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE name = 'tx_outcomes');

-- A refusal is a message from RAISE, which takes only a literal and only inside a trigger. Every script begins so.
DROP TABLE IF EXISTS temp.rpcroute_refusal;
CREATE TEMP TABLE rpcroute_refusal (reason);
CREATE TEMP TRIGGER rpcroute_refuse BEFORE INSERT ON rpcroute_refusal WHEN NEW.reason IS NOT 2
BEGIN
  SELECT CASE NEW.reason
    WHEN 1 THEN RAISE(ABORT, 'this database is of schema_version 1: run sql/migrate_1_to_2.sql first')
    ELSE RAISE(ABORT, 'the schema_version of this database is unknown here: a newer rpcroute made it, use the scripts of that one') END;
END;
INSERT INTO temp.rpcroute_refusal VALUES ((SELECT value FROM main.rpc_settings WHERE key = 'schema_version'));
DROP TABLE temp.rpcroute_refusal;

PRAGMA journal_mode = WAL;  -- readers and a poll in progress never block each other

BEGIN IMMEDIATE;

INSERT OR IGNORE INTO rpc_settings (key, value, meaning) VALUES
  ('region', 'local', 'where this machine polls from, when RPCROUTE_REGION is not set'),
  ('timeout_ms', 3500, 'milliseconds a request may take, set-up included'),
  ('ws_timeout_ms', 4000, 'milliseconds a WebSocket may take until its first message'),
  ('max_response_bytes', 8388608, 'bytes of an answer, decompressed, above which it is too_large'),
  ('probe_n', 1, 'probe transactions per run of probe_tx.sql'),
  ('poll_ms', 500, 'milliseconds between two looks for a receipt at one provider'),
  ('tx_timeout_sec', 300, 'seconds after its broadcast at which a probe transaction counts as lost'),
  ('max_spend_gwei_per_day', 10000000, 'gwei that probe transactions may cost in 24 hours, at worst case'),
  ('probe_chain', NULL, 'chain that probe transactions are sent on; NULL is the only test chain with an enabled provider'),
  ('signer', 'auto', 'who signs them: env:RPCROUTE_KEY, file:/path or node; auto is env when RPCROUTE_KEY is set, else node'),
  ('identity_sec', 600, 'seconds after which a provider is asked again which chain it is on and how old its head is'),
  ('tolerance_sec', 900, 'seconds an observation may be older than the transaction it explains'),
  ('head_window_sec', 60, 'seconds in which heights are compared where observations carry no cycle_id'),
  ('head_spread_sec', 0.25, 'seconds that a new block may reach one honest provider later than another'),
  ('pace_doubt', 0.25, 'share of the time between two readings of which it stays open whether it brought a block'),
  ('lag_min_blocks', 0.5, 'blocks behind that must be certain before a provider lags at all, by one block'),
  ('lag_full_blocks', 1.25, 'blocks behind that must be certain before it lags by as many as it seems to'),
  ('block_time_blocks', 100, 'blocks over which the time between blocks is measured'),
  ('test_fraction', 0.2, 'share of the newest transactions kept for testing, 0..1'),
  ('static_provider', NULL, 'provider_id of the fixed choice others are compared with; NULL is the first enabled one'),
  ('slow_sec', 20, 'seconds from which a confirmation counts as slow'),
  ('guard_lag_blocks', 2, 'blocks of lag from which a provider counts as lagging, and guard leaves its fixed choice'),
  ('route_deadline_ms', 200, 'milliseconds a decision waits for answers'),
  ('switch_margin_sec', 0, 'seconds of predicted gain below which smart stays with its last choice'),
  ('train_seed', '{"objective":"reg:squarederror","num_round":100,"learning_rate":0.1,"max_depth":6,"subsample":0.8}',
   'JSON parameters of the seed model (latency and lag), and of every model evaluate.sql compares'),
  ('train_recommended', '{"objective":"reg:squarederror","num_round":120,"learning_rate":0.05,"max_depth":3,"min_child_weight":30}',
   'JSON parameters of the recommended model'),
  ('train_min_child_share', 0.0025, 'share of the training rows that min_child_weight of the recommended model is at least'),
  ('confidence_z', 1.96, 'standard normal quantile of the intervals in routing_value; 1.96 is 95 %'),
  ('block_sec', 3600, 'seconds of history taken as one block, within which errors may be correlated'),
  ('min_blocks', 8, 'blocks below which routing_value gives no interval'),
  ('health_window_sec', 3600, 'seconds, up to its newest observation, over which a provider''s success share is taken');

-- Chains.

CREATE TABLE IF NOT EXISTS rpc_chains (
  chain          TEXT NOT NULL PRIMARY KEY,
  kind           TEXT NOT NULL DEFAULT 'evm' CHECK (kind IN ('evm', 'solana')),
  chain_id       INTEGER,  -- what eth_chainId answers; NULL where there is none
  block_time_ms  INTEGER NOT NULL DEFAULT 12000 CHECK (block_time_ms > 0),  -- time between heights
  head_max_ahead INTEGER CHECK (head_max_ahead >= 0),  -- blocks above every other witness that are still believed
  is_mainnet     INTEGER NOT NULL DEFAULT 1 CHECK (is_mainnet IN (0, 1)),  -- 0 says that its coins are worth nothing
  height_method  TEXT NOT NULL AS (CASE kind WHEN 'solana' THEN 'getSlot' ELSE 'eth_blockNumber' END),
  genesis_hash   TEXT,  -- what getGenesisHash answers on Solana, which has no chain_id
  stale_head_sec REAL DEFAULT -1  -- age of its latest block at which a provider stands still; NULL is never
                 CHECK (stale_head_sec >= 0 OR stale_head_sec = -1),
  CHECK (is_mainnet = 1 OR chain_id IS NOT 1)
);

-- head_max_ahead left out or set to NULL becomes 20 minutes of blocks, 32..512.
CREATE TRIGGER IF NOT EXISTS rpc_chains_new AFTER INSERT ON rpc_chains WHEN NEW.head_max_ahead IS NULL
BEGIN
  UPDATE rpc_chains SET head_max_ahead = NULL WHERE chain = NEW.chain;
END;
CREATE TRIGGER IF NOT EXISTS rpc_chains_max_ahead AFTER UPDATE ON rpc_chains WHEN NEW.head_max_ahead IS NULL
BEGIN
  UPDATE rpc_chains SET head_max_ahead = max(32, min(512, 1200000 / block_time_ms)) WHERE chain = NEW.chain;
END;

-- stale_head_sec left out, or set to -1, becomes 50 blocks, two minutes at least.
CREATE TRIGGER IF NOT EXISTS rpc_chains_new_stale AFTER INSERT ON rpc_chains WHEN NEW.stale_head_sec < 0
BEGIN
  UPDATE rpc_chains SET stale_head_sec = -1 WHERE chain = NEW.chain;
END;
CREATE TRIGGER IF NOT EXISTS rpc_chains_stale AFTER UPDATE ON rpc_chains WHEN NEW.stale_head_sec < 0
BEGIN
  UPDATE rpc_chains SET stale_head_sec = max(120, block_time_ms / 20.0) WHERE chain = NEW.chain;
END;

INSERT OR IGNORE INTO rpc_chains (chain, kind, chain_id, block_time_ms, is_mainnet) VALUES
  ('ethereum-mainnet', 'evm', 1, 12000, 1),
  ('ethereum-sepolia', 'evm', 11155111, 12000, 0),
  ('ethereum-holesky', 'evm', 17000, 12000, 0),
  ('ethereum-hoodi', 'evm', 560048, 12000, 0),
  ('base', 'evm', 8453, 2000, 1),
  ('base-sepolia', 'evm', 84532, 2000, 0),
  ('optimism', 'evm', 10, 2000, 1),
  ('optimism-sepolia', 'evm', 11155420, 2000, 0),
  ('arbitrum-one', 'evm', 42161, 250, 1),
  ('arbitrum-sepolia', 'evm', 421614, 250, 0),
  ('polygon', 'evm', 137, 2000, 1),
  ('polygon-amoy', 'evm', 80002, 2000, 0),
  ('gnosis', 'evm', 100, 5000, 1);
INSERT OR IGNORE INTO rpc_chains (chain, kind, genesis_hash, block_time_ms, is_mainnet) VALUES
  ('solana-mainnet', 'solana', '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d', 400, 1),
  ('solana-devnet', 'solana', 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG', 400, 0),
  ('solana-testnet', 'solana', '4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY', 400, 0);
INSERT OR IGNORE INTO rpc_chains (chain, kind, chain_id, block_time_ms, is_mainnet, stale_head_sec) VALUES
  ('devnet', 'evm', 31337, 1000, 0, NULL);  -- a chain on this machine, which may make its blocks on demand

-- Providers.

CREATE TABLE IF NOT EXISTS rpc_providers (
  provider_id      TEXT NOT NULL PRIMARY KEY,
  chain            TEXT NOT NULL,
  url              TEXT,  -- http(s); may hold ${RPCROUTE_NAME}, filled in from the environment when called
  ws_url           TEXT,  -- ws(s); the same
  operator         TEXT,  -- who runs it: endpoints of one operator do not witness for each other
  enabled          INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
  archive          INTEGER NOT NULL DEFAULT 0 CHECK (archive IN (0, 1)),  -- 1: answers about old states
  cost_per_million REAL,  -- price of a million requests, in whatever currency you compare
  headers          TEXT,  -- JSON object of extra request headers; values may hold ${RPCROUTE_NAME}
  notes            TEXT
);

-- operator left out or set to NULL becomes the provider_id.
CREATE TRIGGER IF NOT EXISTS rpc_providers_new AFTER INSERT ON rpc_providers WHEN NEW.operator IS NULL
BEGIN
  UPDATE rpc_providers SET operator = provider_id WHERE provider_id = NEW.provider_id;
END;
CREATE TRIGGER IF NOT EXISTS rpc_providers_operator AFTER UPDATE ON rpc_providers WHEN NEW.operator IS NULL
BEGIN
  UPDATE rpc_providers SET operator = provider_id WHERE provider_id = NEW.provider_id;
END;

-- Observations.

CREATE TABLE IF NOT EXISTS rpc_metrics (
  metric_id        INTEGER PRIMARY KEY,
  cycle_id         INTEGER,  -- observations polled together share it; NULL for imported data
  timestamp        REAL NOT NULL,  -- when the answer, or the failure, was complete
  provider_id      TEXT NOT NULL,
  chain            TEXT,  -- NULL in imported data: the provider's
  region           TEXT NOT NULL DEFAULT 'local',
  method           TEXT NOT NULL DEFAULT 'eth_blockNumber',
  sample           INTEGER NOT NULL DEFAULT 1,  -- from 1
  ok               INTEGER NOT NULL DEFAULT 1 CHECK (ok IN (0, 1)),
  latency_ms       REAL CHECK (latency_ms >= 0),  -- the request's round trip, without set-up
  setup_ms         REAL CHECK (setup_ms >= 0),    -- DNS + TCP + TLS; 0 on a warm connection
  total_ms         REAL,  -- both: what a caller waits
  first_message_ms REAL,  -- WebSocket: from subscribing to the first message
  block_number     INTEGER CHECK (block_number >= 0),  -- height or slot
  block_lag        INTEGER DEFAULT 0,  -- 0, as the seed collects it: `lag` is the one that counts
  http_status      INTEGER,
  error_class      TEXT,
  error_kind       TEXT,
  error            TEXT,  -- the provider's words, at most 200 characters
  retry_after_sec  REAL,
  response_bytes   INTEGER,  -- decompressed
  -- What judging its round found; see rpc_judging. NULL until then, and where there is no such number.
  head             INTEGER,  -- the corroborated height it was compared with
  lag_raw          INTEGER,  -- blocks behind that, as answered
  lag_credit       REAL,     -- of them, blocks that the chain made between the two readings
  lag              INTEGER,  -- blocks behind at one moment, 0 where that is not certain
  lag_sec          REAL,     -- the same in time, by the measured block time
  exclusion        TEXT,     -- why it cannot be chosen, a word of route_reasons; NULL: it can
  samples          INTEGER,  -- of its provider in the round, on the last of them; NULL on the others
  known_at         REAL      -- when the round was complete; NULL: not judged yet
);
CREATE INDEX IF NOT EXISTS rpc_metrics_provider ON rpc_metrics (provider_id, timestamp);
CREATE INDEX IF NOT EXISTS rpc_metrics_round ON rpc_metrics (cycle_id, timestamp);
CREATE INDEX IF NOT EXISTS rpc_metrics_unjudged ON rpc_metrics (cycle_id) WHERE known_at IS NULL;
CREATE INDEX IF NOT EXISTS rpc_metrics_state ON rpc_metrics (provider_id, region, known_at, ok) WHERE samples > 0;
CREATE INDEX IF NOT EXISTS rpc_metrics_answer ON rpc_metrics (provider_id, region, known_at) WHERE samples > 0 AND ok = 1;

-- Who providers say they are, asked within the rounds once in identity_sec.
CREATE TABLE IF NOT EXISTS rpc_identity (
  identity_id    INTEGER PRIMARY KEY,
  timestamp      REAL NOT NULL,  -- when the last of the answers was complete
  provider_id    TEXT NOT NULL,
  chain          TEXT,  -- that it is configured for
  region         TEXT NOT NULL DEFAULT 'local',
  ok             INTEGER NOT NULL CHECK (ok IN (0, 1)),  -- 1: it answered all, and is on its chain
  chain_id       INTEGER,  -- of eth_chainId; NULL when it did not answer
  genesis_hash   TEXT,     -- of getGenesisHash; the same
  block_number   INTEGER,  -- of its latest block, on evm
  head_timestamp INTEGER,  -- that block's own, whole seconds
  error_class    TEXT,
  error_kind     TEXT,
  error          TEXT
);
CREATE INDEX IF NOT EXISTS rpc_identity_provider ON rpc_identity (provider_id, timestamp);

-- Judging: what a round of observations says of its providers, found once, when it is complete. One statement judges
-- whatever is not judged yet, collected, inserted or imported; every script that needs states begins with it, and
-- sql/judge.sql is nothing else:
--
--   INSERT INTO rpc_judging DEFAULT VALUES;
--
-- It makes a row of rpc_rounds for each round that waits, in the order in which they were written, and that row's trigger
-- judges the round's observations. Those without a cycle_id are compared with the head_window_sec before them.

CREATE TABLE IF NOT EXISTS rpc_rounds (
  round_id      INTEGER PRIMARY KEY,
  cycle_id      INTEGER,        -- NULL: observations of one moment that have none
  chain         TEXT NOT NULL,  -- '' where nobody knows
  region        TEXT NOT NULL,
  began         REAL NOT NULL,  -- observations from here to known_at are compared
  known_at      REAL NOT NULL,  -- when the last of them was complete
  samples       INTEGER NOT NULL,  -- of one provider, at most
  head          INTEGER,  -- the highest height that another operator reaches within head_max_ahead; NULL: there is none
  reference     INTEGER,  -- metric_id of the answer that says most about where the head was when
  seen_block    INTEGER,  -- height and moment of that answer, or of the last one that there was
  seen_at       REAL,
  pace_since    INTEGER,  -- round_id of the last one that saw block_time_blocks less, or of the first
  block_time_ms REAL,     -- the chain's time between heights, measured since then; NULL until there are so many
  judged        INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS rpc_rounds_cycle ON rpc_rounds (cycle_id, known_at);
CREATE INDEX IF NOT EXISTS rpc_rounds_chain ON rpc_rounds (chain, region, known_at);

-- An observation that changes, or comes late to its round, makes the round unjudged again.
CREATE TRIGGER IF NOT EXISTS rpc_metrics_changed
AFTER UPDATE OF cycle_id, timestamp, provider_id, chain, region, method, sample, ok, latency_ms, block_number
ON rpc_metrics WHEN OLD.known_at IS NOT NULL
BEGIN
  UPDATE rpc_metrics SET known_at = NULL, exclusion = NULL, samples = NULL
   WHERE metric_id = NEW.metric_id OR cycle_id IN (OLD.cycle_id, NEW.cycle_id);
  DELETE FROM rpc_rounds WHERE cycle_id IN (OLD.cycle_id, NEW.cycle_id);
END;
CREATE TRIGGER IF NOT EXISTS rpc_metrics_late AFTER INSERT ON rpc_metrics
WHEN EXISTS (SELECT 1 FROM rpc_rounds WHERE cycle_id = NEW.cycle_id)
BEGIN
  UPDATE rpc_metrics SET known_at = NULL, exclusion = NULL, samples = NULL WHERE cycle_id = NEW.cycle_id;
  DELETE FROM rpc_rounds WHERE cycle_id = NEW.cycle_id;
END;
CREATE TRIGGER IF NOT EXISTS rpc_metrics_imported AFTER INSERT ON rpc_metrics WHEN NEW.cycle_id IS NULL
BEGIN
  UPDATE rpc_metrics SET known_at = NULL, exclusion = NULL, samples = NULL
   WHERE cycle_id IS NULL AND known_at IS NOT NULL
     AND timestamp BETWEEN NEW.timestamp
                       AND NEW.timestamp + (SELECT value FROM rpc_settings WHERE key = 'head_window_sec');
END;

-- The heights that are evidence of a head. A height of 0 is a node that knows nothing. A chain nobody described counts
-- as an EVM chain of 12 seconds.
CREATE VIEW IF NOT EXISTS rpc_heights AS
SELECT m.metric_id, m.cycle_id, m.timestamp, m.provider_id, coalesce(p.operator, m.provider_id) AS operator,
       coalesce(m.chain, p.chain, '') AS chain, m.region, m.block_number, m.known_at,
       coalesce(m.latency_ms, 0) / 1000.0 AS latency_sec,
       coalesce(c.block_time_ms, 12000) AS block_time_ms, coalesce(c.head_max_ahead, 100) AS head_max_ahead
  FROM rpc_metrics m
  LEFT JOIN rpc_providers p ON p.provider_id = m.provider_id
  LEFT JOIN rpc_chains c ON c.chain = coalesce(m.chain, p.chain)
 WHERE m.method = coalesce(c.height_method, 'eth_blockNumber') AND m.ok = 1 AND m.block_number > 0
   AND m.exclusion IS NOT 'stale_head';

-- What each height's provider last said of its chain, where that speaks against the height.
CREATE VIEW IF NOT EXISTS rpc_misplaced AS
SELECT h.metric_id, h.known_at,
       iif(i.chain_id <> c.chain_id OR i.genesis_hash <> c.genesis_hash, 'wrong_chain', 'stale_head') AS exclusion,
       'the node is on chain ' || coalesce(i.chain_id, i.genesis_hash)
         || ', not on ' || coalesce(c.chain_id, c.genesis_hash) AS error
  FROM rpc_heights h
  JOIN rpc_chains c ON c.chain = h.chain
  JOIN rpc_identity i ON i.identity_id =
       (SELECT l.identity_id FROM rpc_identity l
         WHERE l.provider_id = h.provider_id AND l.region = h.region AND l.timestamp <= h.timestamp
           AND coalesce(l.chain_id, l.genesis_hash, l.head_timestamp) IS NOT NULL
         ORDER BY l.timestamp DESC, l.identity_id DESC LIMIT 1)
 WHERE i.chain_id <> c.chain_id OR i.genesis_hash <> c.genesis_hash OR i.head_timestamp < i.timestamp - c.stale_head_sec;

-- The observations of the round that is being judged, beside its reference. A request that left at timestamp - latency
-- and was complete at timestamp has read its height in between, in the middle as far as anybody knows: `lag_seen` are
-- the blocks between the two heights if both had been read at one moment. Of those `lag_certain` are certain: beyond half
-- of both latencies, what a block takes to reach everybody, and a share of the time between the two readings, since
-- blocks do not come like clockwork.
CREATE VIEW IF NOT EXISTS rpc_compared AS
WITH
  pair AS (
    SELECT r.round_id, m.metric_id, r.known_at, m.sample, m.ok, m.error_class, m.error_kind, m.latency_ms, m.exclusion,
           m.method = coalesce(c.height_method, 'eth_blockNumber') AS is_height,
           iif(m.ok = 1 AND m.block_number > 0, m.block_number, NULL) AS block_number, r.head,
           coalesce(c.head_max_ahead, 100) AS head_max_ahead,
           coalesce(r.block_time_ms, c.block_time_ms, 12000) / 1000.0 AS block_sec,
           f.block_number AS reference_block,
           (coalesce(m.latency_ms, 0) + coalesce(f.latency_ms, 0)) / 2000 AS reach_sec,
           (m.timestamp - coalesce(m.latency_ms, 0) / 2000) - (f.timestamp - coalesce(f.latency_ms, 0) / 2000) AS later_sec
      FROM rpc_rounds r
     CROSS JOIN rpc_metrics m ON m.cycle_id IS r.cycle_id AND m.timestamp BETWEEN r.began AND r.known_at
                             AND m.region = r.region AND m.known_at IS NULL
      LEFT JOIN rpc_providers p ON p.provider_id = m.provider_id
      LEFT JOIN rpc_chains c ON c.chain = coalesce(m.chain, p.chain)
      LEFT JOIN rpc_metrics f ON f.metric_id = r.reference
     WHERE coalesce(m.chain, p.chain, '') = r.chain),
  estimate AS (
    SELECT *, max(0, head - block_number) AS lag_raw, reference_block - block_number + later_sec / block_sec AS lag_seen,
           (reach_sec + (SELECT value FROM rpc_settings WHERE key = 'head_spread_sec')
             + (SELECT value FROM rpc_settings WHERE key = 'pace_doubt') * abs(later_sec)) / block_sec AS doubt
      FROM pair),
  verdict AS (
    SELECT *, CASE WHEN block_number > head + head_max_ahead THEN NULL
                   WHEN lag_seen - doubt < (SELECT value FROM rpc_settings WHERE key = 'lag_min_blocks') THEN 0
                   WHEN lag_seen - doubt < (SELECT value FROM rpc_settings WHERE key = 'lag_full_blocks') THEN 1
                   ELSE CAST(round(lag_seen) AS INTEGER) END AS lag
      FROM estimate)
SELECT round_id, metric_id, known_at, iif(is_height, sample, NULL) AS samples, iif(is_height, head, NULL) AS head, lag_raw,
       lag_raw - lag_seen AS lag_credit, lag, lag * block_sec AS lag_sec,
       CASE WHEN NOT is_height THEN NULL
            WHEN error_kind = 'wrong_chain' THEN 'wrong_chain'
            WHEN ok = 0 AND error_class = 'timeout' THEN 'unanswered'
            WHEN ok = 0 THEN 'failed'
            WHEN block_number IS NULL THEN 'no_height'
            WHEN latency_ms IS NULL THEN 'no_latency'
            WHEN exclusion = 'stale_head' THEN 'stale_head'
            WHEN head IS NULL THEN 'uncorroborated'
            WHEN lag IS NULL THEN 'implausible_height'
            WHEN lag > head_max_ahead THEN 'far_behind' END AS exclusion
  FROM verdict;

CREATE VIEW IF NOT EXISTS rpc_judging AS SELECT count(*) AS unjudged FROM rpc_metrics WHERE known_at IS NULL;
CREATE TRIGGER IF NOT EXISTS rpc_judging_all INSTEAD OF INSERT ON rpc_judging
BEGIN
  SELECT RAISE(ABORT, 'rpc_settings lacks tolerance_sec, head_window_sec, head_spread_sec, pace_doubt, lag_min_blocks, lag_full_blocks or block_time_blocks; sql/schema.sql puts missing rows back')
   WHERE (SELECT count(*) FROM rpc_settings
           WHERE value >= 0 AND key IN ('tolerance_sec', 'head_window_sec', 'head_spread_sec', 'pace_doubt',
                                        'lag_min_blocks', 'lag_full_blocks', 'block_time_blocks')) < 7;
  -- A height of another chain is none, and one of a provider that stands still is no evidence of the head.
  UPDATE rpc_metrics
     SET ok = 0, error_class = 'config', error_kind = 'wrong_chain', error = p.error, block_number = NULL
    FROM rpc_misplaced p
   WHERE p.known_at IS NULL AND p.exclusion = 'wrong_chain' AND rpc_metrics.metric_id = p.metric_id;
  UPDATE rpc_metrics SET exclusion = p.exclusion
    FROM rpc_misplaced p
   WHERE p.known_at IS NULL AND rpc_metrics.metric_id = p.metric_id;

  INSERT INTO rpc_rounds (cycle_id, chain, region, began, known_at, samples)
  SELECT m.cycle_id, coalesce(m.chain, p.chain, ''), m.region,
         iif(m.cycle_id IS NULL, m.timestamp - (SELECT value FROM rpc_settings WHERE key = 'head_window_sec'),
             min(m.timestamp)),
         max(m.timestamp), max(m.sample)
    FROM rpc_metrics m
    LEFT JOIN rpc_providers p ON p.provider_id = m.provider_id
   WHERE m.known_at IS NULL
   GROUP BY m.cycle_id, iif(m.cycle_id IS NULL, m.timestamp, NULL), coalesce(m.chain, p.chain, ''), m.region
   ORDER BY m.cycle_id, max(m.timestamp);
END;

CREATE TRIGGER IF NOT EXISTS rpc_rounds_judge AFTER INSERT ON rpc_rounds
BEGIN
  -- The head, and what the round before knew of the pace.
  UPDATE rpc_rounds
     SET head =
           (SELECT max(a.block_number) FROM rpc_heights a
             WHERE a.cycle_id IS NEW.cycle_id AND a.timestamp BETWEEN NEW.began AND NEW.known_at
               AND a.chain = NEW.chain AND a.region = NEW.region
               AND EXISTS (SELECT 1 FROM rpc_heights b
                            WHERE b.cycle_id IS NEW.cycle_id AND b.timestamp BETWEEN NEW.began AND NEW.known_at
                              AND b.chain = NEW.chain AND b.region = NEW.region AND b.operator <> a.operator
                              AND b.block_number BETWEEN a.block_number - a.head_max_ahead AND a.block_number)),
         (seen_block, seen_at, pace_since, block_time_ms) =
           (SELECT l.seen_block, l.seen_at, l.pace_since, l.block_time_ms FROM rpc_rounds l
             WHERE l.chain = NEW.chain AND l.region = NEW.region AND l.known_at <= NEW.known_at
               AND l.round_id <> NEW.round_id
             ORDER BY l.known_at DESC, l.round_id DESC LIMIT 1)
   WHERE round_id = NEW.round_id;

  -- The reference: high, early and quick.
  UPDATE rpc_rounds
     SET reference =
           (SELECT metric_id
              FROM (SELECT h.metric_id,
                           max(h.block_number - ((1 - s.value) * (h.timestamp - NEW.known_at) + h.latency_sec / 2)
                                                * 1000 / coalesce(r.block_time_ms, h.block_time_ms))
                      FROM rpc_rounds r CROSS JOIN rpc_settings s
                     CROSS JOIN rpc_heights h
                        ON h.cycle_id IS NEW.cycle_id AND h.timestamp BETWEEN NEW.began AND NEW.known_at
                     WHERE r.round_id = NEW.round_id AND s.key = 'pace_doubt'
                       AND h.chain = NEW.chain AND h.region = NEW.region AND h.block_number <= r.head))
   WHERE round_id = NEW.round_id AND head IS NOT NULL;

  -- The pace, since the last round that saw block_time_blocks less, or the first. A height far below the last one is
  -- another run of the chain, as a local one has.
  UPDATE rpc_rounds
     SET pace_since =
           (SELECT iif(pace_since IS NULL OR h.block_number < seen_block - h.head_max_ahead, NEW.round_id, coalesce(
                     (SELECT l.round_id
                        FROM rpc_rounds f CROSS JOIN rpc_rounds l
                       WHERE f.round_id = rpc_rounds.pace_since AND l.chain = NEW.chain AND l.region = NEW.region
                         AND l.known_at >= f.known_at
                         AND l.known_at < coalesce(
                               (SELECT n.known_at FROM rpc_rounds n
                                 WHERE n.chain = NEW.chain AND n.region = NEW.region
                                   AND n.known_at >= f.known_at AND n.known_at < NEW.known_at
                                   AND n.seen_block > h.block_number
                                                      - (SELECT value FROM rpc_settings WHERE key = 'block_time_blocks')
                                 ORDER BY n.known_at LIMIT 1), NEW.known_at)
                       ORDER BY l.known_at DESC, l.round_id DESC LIMIT 1), pace_since))
              FROM rpc_heights h WHERE h.metric_id = rpc_rounds.reference),
         (seen_block, seen_at) = (SELECT h.block_number, h.timestamp FROM rpc_metrics h WHERE h.metric_id = reference)
   WHERE round_id = NEW.round_id AND reference IS NOT NULL;
  UPDATE rpc_rounds
     SET block_time_ms = coalesce(
           (SELECT 1000 * (rpc_rounds.seen_at - f.seen_at) / (rpc_rounds.seen_block - f.seen_block)
              FROM rpc_rounds f
             WHERE f.round_id = rpc_rounds.pace_since AND rpc_rounds.seen_at > f.seen_at
               AND rpc_rounds.seen_block - f.seen_block
                   >= (SELECT value FROM rpc_settings WHERE key = 'block_time_blocks')), block_time_ms)
   WHERE round_id = NEW.round_id AND reference IS NOT NULL;

  UPDATE rpc_metrics
     SET head = c.head, lag_raw = c.lag_raw, lag_credit = c.lag_credit, lag = c.lag, lag_sec = c.lag_sec,
         exclusion = c.exclusion, samples = c.samples, known_at = c.known_at
    FROM rpc_compared c
   WHERE rpc_metrics.cycle_id IS NEW.cycle_id AND rpc_metrics.timestamp BETWEEN NEW.began AND NEW.known_at
     AND c.round_id = NEW.round_id AND c.metric_id = rpc_metrics.metric_id;
  UPDATE rpc_rounds SET judged = 1 WHERE round_id = NEW.round_id;
END;

-- Of several samples of a provider the last one speaks, held to the median: it does not lag less, and is excluded where
-- more than half of them are.
CREATE TRIGGER IF NOT EXISTS rpc_rounds_sampled AFTER UPDATE OF judged ON rpc_rounds WHEN NEW.samples > 1
BEGIN
  UPDATE rpc_metrics
     SET samples = iif(rpc_metrics.sample = s.samples, s.samples, NULL),
         lag = max(rpc_metrics.lag, coalesce(s.lag, 0)), lag_sec = max(rpc_metrics.lag_sec, coalesce(s.lag_sec, 0)),
         exclusion = coalesce(rpc_metrics.exclusion, s.exclusion)
    FROM (SELECT provider_id, method, samples, lag, lag_sec, iif(2 * excluded > samples, reason, NULL) AS exclusion
            FROM (SELECT provider_id, method, lag, lag_sec, count(*) OVER each AS samples,
                         row_number() OVER (each ORDER BY lag DESC) AS place,
                         count(exclusion) OVER each AS excluded, max(exclusion) OVER each AS reason
                    FROM rpc_metrics
                   WHERE cycle_id = NEW.cycle_id AND region = NEW.region
                  WINDOW each AS (PARTITION BY provider_id, method))
           WHERE place = (samples + 1) / 2) s
   WHERE rpc_metrics.cycle_id = NEW.cycle_id AND rpc_metrics.region = NEW.region AND rpc_metrics.samples IS NOT NULL
     AND rpc_metrics.provider_id = s.provider_id AND rpc_metrics.method = s.method;
END;

-- What a writer wrote before cannot have become known after it, whatever the clock said meanwhile.
CREATE TRIGGER IF NOT EXISTS rpc_rounds_ordered AFTER UPDATE OF judged ON rpc_rounds
WHEN EXISTS (SELECT 1 FROM rpc_rounds e
              WHERE e.chain = NEW.chain AND e.region = NEW.region AND e.cycle_id < NEW.cycle_id AND e.known_at > NEW.known_at
                AND e.known_at <= NEW.known_at + (SELECT value FROM rpc_settings WHERE key = 'tolerance_sec'))
BEGIN
  UPDATE rpc_metrics SET known_at = NEW.known_at
   WHERE region = NEW.region AND known_at > NEW.known_at
     AND cycle_id IN (SELECT e.cycle_id FROM rpc_rounds e
                       WHERE e.chain = NEW.chain AND e.region = NEW.region AND e.cycle_id < NEW.cycle_id
                         AND e.known_at > NEW.known_at AND e.known_at <= NEW.known_at
                             + (SELECT value FROM rpc_settings WHERE key = 'tolerance_sec'));
  UPDATE rpc_rounds SET known_at = NEW.known_at
   WHERE chain = NEW.chain AND region = NEW.region AND cycle_id < NEW.cycle_id AND known_at > NEW.known_at
     AND known_at <= NEW.known_at + (SELECT value FROM rpc_settings WHERE key = 'tolerance_sec');
END;

-- Probe transactions.

CREATE TABLE IF NOT EXISTS tx_outcomes (
  tx_id               INTEGER PRIMARY KEY,
  timestamp           REAL,  -- broadcast
  provider_id         TEXT NOT NULL,
  chain               TEXT,  -- NULL in imported data: the provider's
  region              TEXT NOT NULL DEFAULT 'local',
  tx_hash             TEXT,
  raw                 TEXT,  -- the signed bytes, 0x…, until it is resolved
  nonce               INTEGER CHECK (nonce >= 0),
  overlap             INTEGER NOT NULL DEFAULT 0,  -- earlier ones of the key still pending at the broadcast
  propensity          REAL CHECK (propensity > 0 AND propensity <= 1),  -- of the draw; NULL when it was forced
  state               TEXT NOT NULL DEFAULT 'confirmed'
                      CHECK (state IN ('prepared', 'pending', 'confirmed', 'reverted', 'rejected', 'timeout')),
  status              INTEGER CHECK (status IN (0, 1)),  -- of the receipt
  duration_sec        REAL CHECK (duration_sec >= 0),  -- broadcast to the first receipt any provider shows
  own_receipt_sec     REAL CHECK (own_receipt_sec >= 0),  -- broadcast to the receipt through the provider itself
  duration_source     TEXT CHECK (duration_source IN ('receipt', 'block')),
  submit_ms           REAL CHECK (submit_ms >= 0),  -- broadcast to the acknowledgement
  submit_head         INTEGER,  -- height at the broadcast, as the other providers see it
  block_number        INTEGER,  -- where it was included
  block_timestamp     INTEGER,  -- whole seconds, as the chain says
  blocks_waited       INTEGER,  -- block_number - submit_head
  gas_used            INTEGER,
  effective_gas_price INTEGER,  -- wei per gas
  error_class         TEXT,
  error               TEXT,
  preconfirmed_sec    REAL CHECK (preconfirmed_sec >= 0),  -- broadcast to a receipt of a block not sealed yet; NULL: none
  max_cost_gwei       REAL CHECK (max_cost_gwei >= 0),     -- the most it can cost: gas limit times fee cap; NULL: unsigned
  CHECK (timestamp IS NOT NULL OR state = 'prepared')
);
CREATE INDEX IF NOT EXISTS tx_outcomes_provider ON tx_outcomes (provider_id, timestamp);
CREATE INDEX IF NOT EXISTS tx_outcomes_time ON tx_outcomes (timestamp);
CREATE INDEX IF NOT EXISTS tx_outcomes_unresolved ON tx_outcomes (chain, nonce) WHERE state IN ('prepared', 'pending');

-- Models.

CREATE TABLE IF NOT EXISTS rpc_models (
  model       TEXT NOT NULL PRIMARY KEY,
  content     NOT NULL,  -- XGBoost JSON as TEXT, or UBJSON as BLOB
  active      INTEGER NOT NULL DEFAULT 0 CHECK (active IN (0, 1)),  -- the one predict_confirm uses unless told
  created     REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400),
  sha256      TEXT,  -- of content, hex
  features    TEXT,  -- JSON array, in the model's order; NULL in an imported one: model_info(content) tells
  params      TEXT,  -- JSON object
  train_rows  INTEGER,
  train_until REAL,  -- timestamp of the newest row it was trained on
  metrics     TEXT  -- JSON object
);
CREATE UNIQUE INDEX IF NOT EXISTS rpc_models_active ON rpc_models (active) WHERE active = 1;

-- Activating a model retires the one before, so that going back is UPDATE rpc_models SET active = 1 WHERE model = '…'.
CREATE TRIGGER IF NOT EXISTS rpc_models_activate BEFORE UPDATE OF active ON rpc_models
WHEN NEW.active = 1 AND OLD.active = 0
BEGIN
  UPDATE rpc_models SET active = 0 WHERE active = 1;
END;

-- Routing.

CREATE TABLE IF NOT EXISTS route_targets (
  chain    TEXT NOT NULL,
  workload TEXT NOT NULL DEFAULT 'transfer',
  region   TEXT NOT NULL DEFAULT 'local',
  policy   TEXT NOT NULL DEFAULT 'smart'
           CHECK (policy IN ('smart', 'score', 'ping', 'least_lag', 'guard', 'static')),
  enabled  INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
  PRIMARY KEY (chain, workload, region)
);

CREATE TABLE IF NOT EXISTS route_decisions (
  decision_id        INTEGER PRIMARY KEY,
  timestamp          REAL NOT NULL,
  chain              TEXT NOT NULL,
  workload           TEXT NOT NULL,
  region             TEXT NOT NULL,
  outcome            TEXT NOT NULL CHECK (outcome IN ('READY', 'ABSTAIN')),
  provider_id        TEXT,  -- the choice; NULL when abstaining
  policy             TEXT NOT NULL,
  predicted_sec      REAL,  -- the choice's expected confirmation
  score              REAL,  -- the choice's composite score, lower is better
  latency_ms         REAL,
  block_lag          INTEGER,
  confidence         REAL,  -- 0..100
  band               TEXT,  -- confidence in a word
  propensity         REAL CHECK (propensity > 0 AND propensity <= 1),  -- that this provider was chosen
  ping_provider_id   TEXT,  -- what ping would have chosen
  reasons            TEXT NOT NULL DEFAULT '[]',  -- JSON array
  evidence           TEXT,  -- canonical JSON of all it rested on
  evidence_sha256    TEXT,
  model              TEXT,  -- name in rpc_models
  thresholds_version TEXT,
  decided_ms         REAL,  -- what the decision took
  CHECK ((outcome = 'READY') = (provider_id IS NOT NULL))
);
CREATE INDEX IF NOT EXISTS route_decisions_target ON route_decisions (chain, workload, region, timestamp);

-- Everyone who was considered, with the numbers of that moment. NULL where a number was not to be had.
CREATE TABLE IF NOT EXISTS route_candidates (
  decision_id       INTEGER NOT NULL,
  provider_id       TEXT NOT NULL,
  rank              INTEGER,  -- from 1 among the eligible; NULL when excluded
  eligible          INTEGER NOT NULL CHECK (eligible IN (0, 1)),
  exclusion         TEXT,  -- why not
  timestamp         REAL,  -- of the observation used
  ok                INTEGER CHECK (ok IN (0, 1)),
  error_class       TEXT,
  latency_ms        REAL,
  setup_ms          REAL,
  block_number      INTEGER,
  head              INTEGER,  -- corroborated height it was compared with
  block_lag         INTEGER,
  rolling_latency_5 REAL,  -- means over its last up to five valid observations
  mean_lag_5        REAL,
  provider_mean_sec REAL,  -- its mean confirmation where the model was trained
  predicted_sec     REAL,
  score             REAL,
  p95_rtt_ms        REAL,
  slot_drift        INTEGER,
  ws_connect_ms     REAL,
  success_rate      REAL,  -- 0..100
  state             TEXT,  -- 'production' or 'staging', where Sentinel has spoken
  PRIMARY KEY (decision_id, provider_id),
  CHECK ((eligible = 0) = (exclusion IS NOT NULL))
);

-- Every word that route_decisions.reasons and route_candidates.exclusion may hold.
CREATE TABLE IF NOT EXISTS route_reasons (
  reason  TEXT NOT NULL PRIMARY KEY,
  kind    TEXT NOT NULL CHECK (kind IN ('ready', 'abstain', 'exclusion')),
  meaning TEXT NOT NULL
);
INSERT OR IGNORE INTO route_reasons (reason, kind, meaning) VALUES
  ('ranked_first', 'ready', 'least of the number its policy ranks by'),
  ('incumbent_kept', 'ready', 'another is ahead, but not by more than switch_margin_sec'),
  ('fixed_kept', 'ready', 'guard: the fixed choice lags by fewer than guard_lag_blocks'),
  ('fixed_left', 'ready', 'guard: the fixed choice lags or is excluded, so the least lag was taken'),
  ('no_provider', 'abstain', 'the chain has no enabled provider'),
  ('no_active_model', 'abstain', 'policy smart without an active row in rpc_models: run sql/train.sql'),
  ('model_unusable', 'abstain', 'the active model wants features that the scripts do not have, or names none'),
  ('policy_unavailable', 'abstain', 'policy score needs the scores of governance'),
  ('workload_unavailable', 'abstain', 'a workload other than transfer needs the gates of governance'),
  ('none_eligible', 'abstain', 'every provider is excluded, for the reasons that follow'),
  ('unobserved', 'exclusion', 'no observation within tolerance_sec'),
  ('unanswered', 'exclusion', 'no answer by the deadline'),
  ('failed', 'exclusion', 'an error instead of an answer; error_class says which'),
  ('no_height', 'exclusion', 'an answer without a height, or with 0'),
  ('no_latency', 'exclusion', 'an answer without a latency'),
  ('uncorroborated', 'exclusion', 'no other operator confirms what the head is'),
  ('implausible_height', 'exclusion', 'more than head_max_ahead above the head'),
  ('far_behind', 'exclusion', 'more than head_max_ahead behind the head'),
  ('no_prediction', 'exclusion', 'the model lacks a number about this provider, such as its mean in training'),
  ('not_fixed', 'exclusion', 'policy static considers its one provider only');

-- Views for people, readable by any SQLite.

-- The observations that alignment and routing use. `rowid` makes the view a source for asof_join. `path` is provider
-- and region in one key; U+001F stands in neither. A chain nobody described counts as an EVM chain of 12 seconds.
CREATE VIEW IF NOT EXISTS rpc_health AS
SELECT m.metric_id AS rowid, m.metric_id, m.cycle_id, m.timestamp,
       m.provider_id || char(31) || m.region AS path,
       m.provider_id, coalesce(p.operator, m.provider_id) AS operator,
       coalesce(m.chain, p.chain) AS chain, m.region, m.method, m.sample,
       m.ok, m.latency_ms, m.setup_ms, m.total_ms, m.block_number,
       m.http_status, m.error_class, m.error_kind,
       coalesce(c.block_time_ms, 12000) AS block_time_ms, coalesce(c.head_max_ahead, 100) AS head_max_ahead
  FROM rpc_metrics m
  LEFT JOIN rpc_providers p ON p.provider_id = m.provider_id
  LEFT JOIN rpc_chains c ON c.chain = coalesce(m.chain, p.chain)
 WHERE m.method = coalesce(c.height_method, 'eth_blockNumber');

-- One row per provider. The lag is that of the last answer, against the highest height of the same round (or of the
-- head_window_sec before it, where there are no rounds) that another operator's answer reaches to within
-- head_max_ahead; NULL when nobody else answered. `state`, the first that applies:
--   disabled, unseen, stale (nothing for tolerance_sec), failing (the last observation failed),
--   uncorroborated (no head to compare with, or impossibly far above it), lagging (guard_lag_blocks or more), ok.
CREATE VIEW IF NOT EXISTS provider_health AS
WITH
  setting AS (
    SELECT max(value) FILTER (WHERE key = 'head_window_sec') AS head_window_sec,
           max(value) FILTER (WHERE key = 'tolerance_sec') AS tolerance_sec,
           max(value) FILTER (WHERE key = 'guard_lag_blocks') AS guard_lag_blocks,
           max(value) FILTER (WHERE key = 'health_window_sec') AS health_window_sec
      FROM rpc_settings),
  newest AS MATERIALIZED (
    SELECT p.provider_id, p.chain, p.operator, p.enabled,
           (SELECT metric_id FROM rpc_health h WHERE h.provider_id = p.provider_id
             ORDER BY h.timestamp DESC, h.metric_id DESC LIMIT 1) AS observed,
           (SELECT metric_id FROM rpc_health h WHERE h.provider_id = p.provider_id AND h.block_number IS NOT NULL
             ORDER BY h.timestamp DESC, h.metric_id DESC LIMIT 1) AS answered
      FROM rpc_providers p),
  answer AS MATERIALIZED (
    SELECT n.provider_id, h.cycle_id, h.timestamp, h.chain, h.region, h.latency_ms, h.block_number,
           h.block_time_ms, h.head_max_ahead
      FROM newest n JOIN rpc_health h ON h.metric_id = n.answered),
  around AS MATERIALIZED (
    SELECT a.provider_id AS seen_for, h.operator, h.block_number, a.head_max_ahead
      FROM answer a CROSS JOIN rpc_health h
     WHERE h.cycle_id = a.cycle_id AND h.chain = a.chain AND h.block_number IS NOT NULL
    UNION ALL
    SELECT a.provider_id, h.operator, h.block_number, a.head_max_ahead
      FROM setting s CROSS JOIN answer a CROSS JOIN rpc_providers p CROSS JOIN rpc_health h
     WHERE a.cycle_id IS NULL AND p.chain = a.chain AND h.provider_id = p.provider_id
       AND h.timestamp BETWEEN a.timestamp - s.head_window_sec AND a.timestamp AND h.block_number IS NOT NULL),
  head AS MATERIALIZED (
    SELECT seen_for, max(block_number) AS head FROM around a
     WHERE EXISTS (SELECT 1 FROM around b WHERE b.seen_for = a.seen_for AND b.operator <> a.operator
                      AND b.block_number >= a.block_number - a.head_max_ahead)
     GROUP BY seen_for),
  measured AS (
    SELECT n.provider_id, n.chain, n.operator, n.enabled, a.region, a.timestamp, a.latency_ms, a.block_number, h.head,
           -- A height of 0 comes from nodes that know nothing yet: it says nothing about how far they are behind.
           CASE WHEN a.block_number > 0 AND a.block_number - h.head <= a.head_max_ahead
                THEN max(0, h.head - a.block_number) END AS lag_blocks,
           a.block_time_ms, o.timestamp AS observed, o.ok, o.error_class,
           (julianday('now') - 2440587.5) * 86400 AS now
      FROM newest n
      LEFT JOIN answer a ON a.provider_id = n.provider_id
      LEFT JOIN head h ON h.seen_for = n.provider_id
      LEFT JOIN rpc_metrics o ON o.metric_id = n.observed)
SELECT m.provider_id, m.chain, m.operator, m.region,
       m.timestamp,                                  -- of the last answer with a height
       round(m.now - m.timestamp, 3) AS age_sec, m.latency_ms, m.block_number, m.head,
       m.lag_blocks, m.lag_blocks * m.block_time_ms / 1000.0 AS lag_sec,
       (SELECT avg(h.ok) FROM rpc_health h WHERE h.provider_id = m.provider_id
           AND h.timestamp BETWEEN m.observed - s.health_window_sec AND m.observed) AS success_share,
       m.observed AS last_observed,                  -- answered or not
       CASE WHEN m.ok = 0 THEN m.error_class END AS error_class,
       CASE WHEN m.enabled = 0 THEN 'disabled'
            WHEN m.observed IS NULL THEN 'unseen'
            WHEN m.now - m.observed > s.tolerance_sec THEN 'stale'
            WHEN m.ok = 0 THEN 'failing'
            WHEN m.lag_blocks IS NULL THEN 'uncorroborated'
            WHEN m.lag_blocks >= s.guard_lag_blocks THEN 'lagging'
            ELSE 'ok' END AS state
  FROM measured m CROSS JOIN setting s;

-- The last decision for each target, with the URL template of its choice (keys are filled in by the caller).
CREATE VIEW IF NOT EXISTS route_latest AS
SELECT d.*, p.url, p.ws_url, round((julianday('now') - 2440587.5) * 86400 - d.timestamp, 3) AS age_sec
  FROM route_targets t
  JOIN route_decisions d ON d.decision_id =
       (SELECT decision_id FROM route_decisions l
         WHERE l.chain = t.chain AND l.workload = t.workload AND l.region = t.region
         ORDER BY l.timestamp DESC, l.decision_id DESC LIMIT 1)
  LEFT JOIN rpc_providers p ON p.provider_id = d.provider_id;

COMMIT;
