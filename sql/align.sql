-- Joins each probe transaction with what was known about its provider at the moment of its broadcast.
--
--   sqlite3 -bail -cmd '.timeout 5000' -cmd '.load ./rpcroute' rpc.db < sql/align.sql
--
-- Makes three tables, anew each time:
--   training_set      one row per transaction that could be matched: features, duration, split
--   alignment_report  what became of all transactions: each is counted once, under the first reason that applies
--   routing_states    for the test transactions of a random draw: the state of every provider that could have been drawn
--
-- Heights are those of the chain's own method (the view rpc_health). Nothing later than the broadcast is used.

-- A refusal is a message from RAISE, which takes only a literal and only inside a trigger.
DROP TABLE IF EXISTS temp.rpcroute_refusal;
CREATE TEMP TABLE rpcroute_refusal (reason);
CREATE TEMP TRIGGER rpcroute_refuse BEFORE INSERT ON rpcroute_refusal WHEN NEW.reason IS NOT 2
BEGIN
  SELECT CASE NEW.reason
    WHEN 'none' THEN RAISE(ABORT, 'no rpcroute tables in this database: run sql/schema.sql first')
    WHEN 1 THEN RAISE(ABORT, 'this database is of schema_version 1: run sql/migrate_1_to_2.sql first')
    WHEN 'settings' THEN RAISE(ABORT, 'rpc_settings: tolerance_sec and head_window_sec must be 0 or more and test_fraction 0..1; sql/schema.sql puts missing rows back')
    WHEN 'transactions' THEN RAISE(ABORT, 'tx_outcomes is empty: run sql/probe_tx.sql first')
    ELSE RAISE(ABORT, 'the schema_version of this database is unknown here: a newer rpcroute made it, use the scripts of that one') END;
END;
INSERT INTO temp.rpcroute_refusal SELECT 'none' WHERE NOT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE name = 'rpc_settings');
INSERT INTO temp.rpcroute_refusal VALUES ((SELECT value FROM main.rpc_settings WHERE key = 'schema_version'));

DROP TABLE IF EXISTS temp.rpcroute_setting;
CREATE TEMP TABLE rpcroute_setting AS
SELECT max(value) FILTER (WHERE key = 'tolerance_sec') AS tolerance_sec,
       max(value) FILTER (WHERE key = 'head_window_sec') AS head_window_sec,
       max(value) FILTER (WHERE key = 'test_fraction') AS test_fraction
  FROM main.rpc_settings;
INSERT INTO temp.rpcroute_refusal
SELECT 'settings' FROM temp.rpcroute_setting
 WHERE NOT coalesce(tolerance_sec >= 0 AND head_window_sec >= 0 AND test_fraction BETWEEN 0 AND 1, 0);
INSERT INTO temp.rpcroute_refusal SELECT 'transactions' WHERE NOT EXISTS (SELECT 1 FROM main.tx_outcomes);

-- Every observation, sorted: the history of a path (a provider seen from a region) is the rows just above one of its
-- observations. Among equal times the later row wins, here as in asof_join. A height of 0 is a node that knows nothing.
DROP TABLE IF EXISTS temp.rpcroute_observed;
CREATE TEMP TABLE rpcroute_observed (
  place INTEGER PRIMARY KEY, metric_id INTEGER, cycle_id INTEGER, timestamp REAL, path TEXT, chain TEXT, operator TEXT,
  ok INTEGER, latency_ms REAL, block_number INTEGER, head_max_ahead INTEGER);
INSERT INTO temp.rpcroute_observed (metric_id, cycle_id, timestamp, path, chain, operator, ok, latency_ms,
                                    block_number, head_max_ahead)
SELECT metric_id, cycle_id, timestamp, path, coalesce(chain, ''), operator, ok, latency_ms, nullif(block_number, 0),
       head_max_ahead
  FROM main.rpc_health
 ORDER BY path, timestamp, metric_id;

DROP TABLE IF EXISTS temp.rpcroute_path_start;
CREATE TEMP TABLE rpcroute_path_start (path TEXT PRIMARY KEY, place INTEGER) WITHOUT ROWID;
INSERT INTO temp.rpcroute_path_start SELECT path, min(place) FROM temp.rpcroute_observed GROUP BY path;

-- The head as each round saw it, and when its last answer was in. Observations without a round are looked up by time.
DROP TABLE IF EXISTS temp.rpcroute_round;
CREATE INDEX temp.rpcroute_observed_round ON rpcroute_observed (cycle_id, chain) WHERE cycle_id IS NOT NULL;
CREATE INDEX temp.rpcroute_observed_time ON rpcroute_observed (chain, timestamp) WHERE cycle_id IS NULL;
CREATE TEMP TABLE rpcroute_round (
  cycle_id INTEGER, chain TEXT, ended REAL, head INTEGER, PRIMARY KEY (cycle_id, chain)) WITHOUT ROWID;
INSERT INTO temp.rpcroute_round
SELECT cycle_id, chain, max(timestamp), chain_head(block_number, head_max_ahead, operator)
  FROM temp.rpcroute_observed
 WHERE cycle_id IS NOT NULL
 GROUP BY cycle_id, chain;

-- The transactions, each with the reason that rules it out before any observation is looked at.
DROP TABLE IF EXISTS temp.rpcroute_tx;
CREATE TEMP TABLE rpcroute_tx (
  tx_id INTEGER PRIMARY KEY, timestamp REAL, provider_id TEXT, chain TEXT, region TEXT, duration_sec REAL,
  censored INTEGER, propensity REAL, reason TEXT);
INSERT INTO temp.rpcroute_tx
SELECT t.tx_id, t.timestamp, t.provider_id, coalesce(t.chain, p.chain, ''), t.region, t.duration_sec,
       t.state = 'timeout', t.propensity,
       CASE WHEN t.state IN ('prepared', 'pending') THEN 'pending'
            WHEN t.state = 'rejected' THEN 'rejected'
            -- Nobody answered the question for its receipt: that says nothing about how long it took.
            WHEN t.state = 'timeout' AND (t.error_class = 'unobserved' OR t.duration_sec IS NULL) THEN 'unobserved'
            WHEN t.state = 'reverted' OR t.status = 0 THEN 'failed_tx'
            WHEN t.overlap > 0 THEN 'overlapping'
            WHEN t.duration_sec IS NULL THEN 'duration_missing' END
  FROM main.tx_outcomes t
  LEFT JOIN main.rpc_providers p ON p.provider_id = t.provider_id;

-- The observation that counts: the latest of the path, strictly before the broadcast. Where the provider was drawn at
-- random, also that of every other provider that draws on this chain and in this region have hit: what a policy could
-- have chosen from.
DROP TABLE IF EXISTS temp.rpcroute_known;
CREATE TEMP TABLE rpcroute_known AS
WITH drawn AS MATERIALIZED (SELECT DISTINCT chain, region, provider_id FROM temp.rpcroute_tx WHERE propensity IS NOT NULL),
     wanted AS (
       SELECT tx_id, timestamp, region, provider_id FROM temp.rpcroute_tx WHERE reason IS NULL
       UNION ALL
       SELECT t.tx_id, t.timestamp, t.region, d.provider_id
         FROM temp.rpcroute_tx t JOIN drawn d ON d.chain = t.chain AND d.region = t.region AND d.provider_id <> t.provider_id
        WHERE t.reason IS NULL AND t.propensity IS NOT NULL)
SELECT w.tx_id, w.timestamp, w.provider_id,
       asof_join('temp.rpcroute_observed', 'path', 'timestamp', w.provider_id || char(31) || w.region, w.timestamp,
                 s.tolerance_sec) AS place
  FROM wanted w CROSS JOIN temp.rpcroute_setting s;

-- Its lag behind the head of its round, of which only answers complete before the broadcast count; without a round,
-- behind the head of the head_window_sec before the broadcast.
DROP TABLE IF EXISTS temp.rpcroute_state;
CREATE TEMP TABLE rpcroute_state (
  tx_id INTEGER, provider_id TEXT, place INTEGER, metric_id INTEGER, path TEXT, ok INTEGER, latency_ms REAL,
  implausible INTEGER, block_lag INTEGER, PRIMARY KEY (tx_id, provider_id)) WITHOUT ROWID;
WITH headed AS (
  SELECT k.tx_id, k.provider_id, k.place, o.metric_id, o.path, o.ok, o.latency_ms, o.block_number, o.head_max_ahead,
         CASE WHEN o.cycle_id IS NULL THEN
                (SELECT chain_head(w.block_number, w.head_max_ahead, w.operator) FROM temp.rpcroute_observed w
                  WHERE w.cycle_id IS NULL AND w.chain = o.chain
                    AND w.timestamp >= k.timestamp - s.head_window_sec AND w.timestamp < k.timestamp)
              WHEN r.ended < k.timestamp THEN r.head
              ELSE (SELECT chain_head(w.block_number, w.head_max_ahead, w.operator) FROM temp.rpcroute_observed w
                     WHERE w.cycle_id = o.cycle_id AND w.chain = o.chain AND w.timestamp < k.timestamp) END AS head
    FROM temp.rpcroute_setting s CROSS JOIN temp.rpcroute_known k
    LEFT JOIN temp.rpcroute_observed o ON o.place = k.place
    LEFT JOIN temp.rpcroute_round r ON r.cycle_id = o.cycle_id AND r.chain = o.chain)
INSERT INTO temp.rpcroute_state
SELECT tx_id, provider_id, place, metric_id, path, ok, latency_ms, block_number > head + head_max_ahead,
       block_lag(block_number, head, head_max_ahead)
  FROM headed;

-- The verdict on each transaction.
UPDATE temp.rpcroute_tx SET reason = (
  SELECT CASE WHEN a.place IS NULL THEN 'no_observation_in_window'
              WHEN a.ok = 0 THEN 'observation_failed'
              WHEN a.latency_ms IS NULL THEN 'latency_missing'
              WHEN a.implausible THEN 'implausible_height'
              WHEN a.block_lag IS NULL THEN 'block_lag_missing'
              ELSE 'matched' END
    FROM temp.rpcroute_state a WHERE a.tx_id = rpcroute_tx.tx_id AND a.provider_id = rpcroute_tx.provider_id)
 WHERE reason IS NULL;

-- The split by time: the oldest train, the newest test; those that share the boundary's timestamp all test.
DROP TABLE IF EXISTS temp.rpcroute_split;
CREATE TEMP TABLE rpcroute_split (tx_id INTEGER PRIMARY KEY, split TEXT);
WITH numbered AS (
       SELECT tx_id, timestamp, row_number() OVER (ORDER BY timestamp, tx_id) AS n
         FROM temp.rpcroute_tx WHERE reason = 'matched'),
     train AS (
       SELECT CAST((1 - s.test_fraction) * count(*) AS INTEGER) AS n
         FROM temp.rpcroute_setting s CROSS JOIN temp.rpcroute_tx WHERE reason = 'matched'),
     boundary AS (SELECT timestamp FROM numbered WHERE n = (SELECT n + 1 FROM train))
INSERT INTO temp.rpcroute_split
SELECT tx_id,
       CASE WHEN n <= (SELECT n FROM train) AND (timestamp < (SELECT timestamp FROM boundary)) IS NOT 0
            THEN 'train' ELSE 'test' END
  FROM numbered;

-- A provider's usual duration, as far as training may know.
DROP TABLE IF EXISTS temp.rpcroute_usual;
CREATE TEMP TABLE rpcroute_usual (provider_id TEXT PRIMARY KEY, provider_mean_sec REAL) WITHOUT ROWID;
INSERT INTO temp.rpcroute_usual
SELECT t.provider_id, avg(t.duration_sec)
  FROM temp.rpcroute_tx t JOIN temp.rpcroute_split p ON p.tx_id = t.tx_id
 WHERE p.split = 'train'
 GROUP BY t.provider_id;

-- What the path's last up to five answers say, the matched one included: for the matched transactions, and for whatever
-- a policy could have chosen instead at the test ones. The lag of an earlier one is that of its own
-- round, or of the head_window_sec up to it; where that is unknown it does not enter the mean.
DROP TABLE IF EXISTS temp.rpcroute_feature;
CREATE TEMP TABLE rpcroute_feature (
  tx_id INTEGER, provider_id TEXT, metric_id INTEGER, latency_ms REAL, block_lag INTEGER, rolling_latency_5 REAL,
  mean_lag_5 REAL, PRIMARY KEY (tx_id, provider_id)) WITHOUT ROWID;
WITH answer AS (
  SELECT a.tx_id, a.provider_id, a.metric_id, a.latency_ms, a.block_lag, o.latency_ms AS each_latency,
         CASE WHEN o.place = a.place THEN a.block_lag
              WHEN o.cycle_id IS NOT NULL THEN block_lag(o.block_number, r.head, o.head_max_ahead)
              ELSE block_lag(o.block_number,
                             (SELECT chain_head(w.block_number, w.head_max_ahead, w.operator) FROM temp.rpcroute_observed w
                               WHERE w.cycle_id IS NULL AND w.chain = o.chain
                                 AND w.timestamp BETWEEN o.timestamp - s.head_window_sec AND o.timestamp),
                             o.head_max_ahead) END AS each_lag
    FROM temp.rpcroute_setting s CROSS JOIN temp.rpcroute_split p CROSS JOIN temp.rpcroute_tx t ON t.tx_id = p.tx_id
    CROSS JOIN temp.rpcroute_state a ON a.tx_id = t.tx_id
           AND (a.provider_id = t.provider_id
                OR p.split = 'test' AND a.ok = 1 AND a.latency_ms IS NOT NULL AND a.block_lag IS NOT NULL)
    CROSS JOIN temp.rpcroute_path_start f ON f.path = a.path
    CROSS JOIN temp.rpcroute_observed o ON o.place IN (
         SELECT h.place FROM temp.rpcroute_observed h
          WHERE h.place BETWEEN f.place AND a.place
            AND h.ok = 1 AND h.latency_ms IS NOT NULL AND h.block_number IS NOT NULL
          ORDER BY h.place DESC LIMIT 5)
    LEFT JOIN temp.rpcroute_round r ON r.cycle_id = o.cycle_id AND r.chain = o.chain)
INSERT INTO temp.rpcroute_feature
SELECT tx_id, provider_id, metric_id, latency_ms, block_lag, avg(each_latency), avg(each_lag)
  FROM answer
 GROUP BY tx_id, provider_id;

-- All is known; the tables are replaced in one short transaction.
BEGIN IMMEDIATE;

DROP TABLE IF EXISTS main.training_set;
CREATE TABLE main.training_set (
  tx_id             INTEGER PRIMARY KEY,
  timestamp         REAL NOT NULL,
  provider_id       TEXT NOT NULL,
  latency_ms        REAL NOT NULL,
  block_lag         INTEGER NOT NULL,
  hour_of_day       INTEGER NOT NULL,  -- UTC
  day_of_week       INTEGER NOT NULL,  -- 0 = Monday, UTC; the epoch began on a Thursday
  rolling_latency_5 REAL NOT NULL,     -- means over the path's last up to five answers, up to the matched one
  mean_lag_5        REAL NOT NULL,
  provider_mean_sec REAL,              -- the provider's mean in the train split; NULL when it is not in there
  duration_sec      REAL NOT NULL,
  censored          INTEGER NOT NULL,  -- 1: a timeout, charged its limit
  propensity        REAL,
  split             TEXT NOT NULL,     -- 'train' or 'test'
  chain             TEXT NOT NULL,
  region            TEXT NOT NULL,
  metric_id         INTEGER NOT NULL   -- the observation it was matched with
);
INSERT INTO main.training_set
SELECT t.tx_id, t.timestamp, t.provider_id, f.latency_ms, f.block_lag,
       CAST(t.timestamp AS INTEGER) / 3600 % 24, (CAST(t.timestamp AS INTEGER) / 86400 + 3) % 7,
       f.rolling_latency_5, f.mean_lag_5, u.provider_mean_sec, t.duration_sec, t.censored, t.propensity, p.split,
       t.chain, t.region, f.metric_id
  FROM temp.rpcroute_split p
  JOIN temp.rpcroute_tx t ON t.tx_id = p.tx_id
  JOIN temp.rpcroute_feature f ON f.tx_id = t.tx_id AND f.provider_id = t.provider_id
  LEFT JOIN temp.rpcroute_usual u ON u.provider_id = t.provider_id;

DROP TABLE IF EXISTS main.routing_states;
CREATE TABLE main.routing_states (
  tx_id             INTEGER NOT NULL,
  provider_id       TEXT NOT NULL,
  latency_ms        REAL NOT NULL,
  block_lag         INTEGER NOT NULL,
  rolling_latency_5 REAL NOT NULL,
  mean_lag_5        REAL NOT NULL,
  provider_mean_sec REAL,
  PRIMARY KEY (tx_id, provider_id)
) WITHOUT ROWID;
INSERT INTO main.routing_states
SELECT f.tx_id, f.provider_id, f.latency_ms, f.block_lag, f.rolling_latency_5, f.mean_lag_5, u.provider_mean_sec
  FROM temp.rpcroute_split p
  JOIN temp.rpcroute_tx t ON t.tx_id = p.tx_id
  JOIN temp.rpcroute_feature f ON f.tx_id = t.tx_id
  LEFT JOIN temp.rpcroute_usual u ON u.provider_id = f.provider_id
 WHERE p.split = 'test' AND t.propensity IS NOT NULL;

DROP TABLE IF EXISTS main.alignment_report;
CREATE TABLE main.alignment_report (reason TEXT NOT NULL PRIMARY KEY, n INTEGER NOT NULL);
WITH reasons (reason) AS (
  VALUES ('pending'), ('rejected'), ('unobserved'), ('failed_tx'), ('overlapping'), ('duration_missing'),
         ('no_observation_in_window'), ('observation_failed'), ('latency_missing'), ('implausible_height'),
         ('block_lag_missing'), ('matched'))
INSERT INTO main.alignment_report
SELECT reason, (SELECT count(*) FROM temp.rpcroute_tx WHERE rpcroute_tx.reason = reasons.reason) FROM reasons;

COMMIT;

DROP TABLE temp.rpcroute_usual;
DROP TABLE temp.rpcroute_split;
DROP TABLE temp.rpcroute_feature;
DROP TABLE temp.rpcroute_state;
DROP TABLE temp.rpcroute_known;
DROP TABLE temp.rpcroute_tx;
DROP TABLE temp.rpcroute_round;
DROP TABLE temp.rpcroute_path_start;
DROP TABLE temp.rpcroute_observed;
DROP TABLE temp.rpcroute_setting;
DROP TABLE temp.rpcroute_refusal;
