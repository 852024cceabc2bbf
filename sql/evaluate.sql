-- How well durations are predicted, and what routing by those predictions would have been worth.
--
--   sqlite3 -bail -cmd '.timeout 5000' -cmd '.load ./rpcroute' rpc.db < sql/evaluate.sql
--
-- Makes six tables from training_set and routing_states, anew each time:
--   evaluation           errors of five strategies on the newest transactions, which none of them has seen
--   split_leakage        the same errors if the split were random instead of by time: better only because neighbours leak
--   routing_value        what each routing policy would have achieved, from transactions whose provider was drawn at random
--   strategy_divergence  how often two policies choose differently
--   provider_summary     how each provider did
--   importance           share of gain of each feature: of what the model uses, not of what is true
-- A column that cannot be known is NULL.

-- A refusal is a message from RAISE, which takes only a literal and only inside a trigger.
DROP TABLE IF EXISTS temp.rpcroute_refusal;
CREATE TEMP TABLE rpcroute_refusal (reason);
CREATE TEMP TRIGGER rpcroute_refuse BEFORE INSERT ON rpcroute_refusal WHEN NEW.reason IS NOT 2
BEGIN
  SELECT CASE NEW.reason
    WHEN 'none' THEN RAISE(ABORT, 'no rpcroute tables in this database: run sql/schema.sql first')
    WHEN 1 THEN RAISE(ABORT, 'this database is of schema_version 1: run sql/migrate_1_to_2.sql first')
    WHEN 'settings' THEN RAISE(ABORT, 'rpc_settings lacks slow_sec, guard_lag_blocks, train_seed, confidence_z, block_sec or min_blocks; sql/schema.sql puts missing rows back')
    WHEN 'alignment' THEN RAISE(ABORT, 'no training_set in this database: run sql/align.sql first')
    WHEN 'rows' THEN RAISE(ABORT, 'training_set lacks rows to train on or to test on: alignment_report says what became of the transactions')
    WHEN 'model' THEN RAISE(ABORT, 'no active model in rpc_models: run sql/train.sql first')
    ELSE RAISE(ABORT, 'the schema_version of this database is unknown here: a newer rpcroute made it, use the scripts of that one') END;
END;
INSERT INTO temp.rpcroute_refusal SELECT 'none' WHERE NOT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE name = 'rpc_settings');
INSERT INTO temp.rpcroute_refusal VALUES ((SELECT value FROM main.rpc_settings WHERE key = 'schema_version'));
INSERT INTO temp.rpcroute_refusal SELECT 'alignment' WHERE NOT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE name = 'training_set');
INSERT INTO temp.rpcroute_refusal SELECT 'rows' WHERE (SELECT count(DISTINCT split) FROM main.training_set) < 2;
INSERT INTO temp.rpcroute_refusal SELECT 'model' WHERE NOT EXISTS (SELECT 1 FROM main.rpc_models WHERE active = 1);

DROP TABLE IF EXISTS temp.rpcroute_setting;
CREATE TEMP TABLE rpcroute_setting AS
SELECT max(value) FILTER (WHERE key = 'static_provider') AS static_provider,
       max(value) FILTER (WHERE key = 'slow_sec') AS slow_sec,
       max(value) FILTER (WHERE key = 'guard_lag_blocks') AS guard_lag_blocks,
       max(value) FILTER (WHERE key = 'train_seed') AS train_seed,
       max(value) FILTER (WHERE key = 'confidence_z') AS z,
       max(value) FILTER (WHERE key = 'block_sec') AS block_sec,
       max(value) FILTER (WHERE key = 'min_blocks') AS min_blocks
  FROM main.rpc_settings;
INSERT INTO temp.rpcroute_refusal
SELECT 'settings' FROM temp.rpcroute_setting
 WHERE slow_sec IS NULL OR guard_lag_blocks IS NULL OR train_seed IS NULL OR z IS NULL OR block_sec IS NULL
    OR min_blocks IS NULL;

-- Each chain's fixed choices: the one that was configured, and the one that training would have recommended.
DROP TABLE IF EXISTS temp.rpcroute_fixed;
CREATE TEMP TABLE rpcroute_fixed (chain TEXT PRIMARY KEY, static_provider TEXT, best_provider TEXT) WITHOUT ROWID;
INSERT INTO temp.rpcroute_fixed
SELECT c.chain,
       coalesce((SELECT t.provider_id FROM main.training_set t
                  WHERE t.chain = c.chain AND t.provider_id = s.static_provider LIMIT 1),
                (SELECT p.provider_id FROM main.rpc_providers p
                  WHERE p.chain = c.chain AND p.enabled = 1 ORDER BY p.rowid LIMIT 1)),
       (SELECT t.provider_id FROM main.training_set t
         WHERE t.chain = c.chain AND t.split = 'train' ORDER BY t.provider_mean_sec, t.provider_id LIMIT 1)
  FROM (SELECT DISTINCT chain FROM main.training_set) c CROSS JOIN temp.rpcroute_setting s;

-- Two ways to hold rows back: by time as training_set has it, and at random as one must not. The hash is Knuth's
-- multiplicative one, so that every run draws the same rows.
DROP TABLE IF EXISTS temp.rpcroute_example;
CREATE TEMP TABLE rpcroute_example (
  split TEXT, part TEXT, tx_id INTEGER, PRIMARY KEY (split, part, tx_id)) WITHOUT ROWID;
INSERT INTO temp.rpcroute_example SELECT 'temporal', split, tx_id FROM main.training_set;
INSERT INTO temp.rpcroute_example
SELECT 'random',
       CASE WHEN row_number() OVER (ORDER BY (tx_id % 1000003) * 2654435761 % 4294967296, tx_id)
                 <= (SELECT count(*) FROM main.training_set WHERE split = 'train')
            THEN 'train' ELSE 'test' END,
       tx_id
  FROM main.training_set;

-- What each strategy learns from the rows it may see.
DROP TABLE IF EXISTS temp.rpcroute_learnt;
CREATE TEMP TABLE rpcroute_learnt (
  split TEXT PRIMARY KEY, overall_mean REAL, ping_model TEXT, smart_model TEXT) WITHOUT ROWID;
INSERT INTO temp.rpcroute_learnt
SELECT e.split, avg(t.duration_sec),
       train_confirm((SELECT json_patch(train_seed, json_object('features', json_array('latency_ms')))
                        FROM temp.rpcroute_setting),
                     t.duration_sec, t.latency_ms),
       train_confirm((SELECT json_patch(train_seed, json_object('features', json_array('latency_ms', 'block_lag')))
                        FROM temp.rpcroute_setting),
                     t.duration_sec, t.latency_ms, t.block_lag)
  FROM temp.rpcroute_example e JOIN main.training_set t ON t.tx_id = e.tx_id
 WHERE e.part = 'train'
 GROUP BY e.split;
DROP TABLE IF EXISTS temp.rpcroute_learnt_static;
CREATE TEMP TABLE rpcroute_learnt_static (
  split TEXT, chain TEXT, static_mean REAL, PRIMARY KEY (split, chain)) WITHOUT ROWID;
INSERT INTO temp.rpcroute_learnt_static
SELECT e.split, t.chain, avg(t.duration_sec)
  FROM temp.rpcroute_example e
  JOIN main.training_set t ON t.tx_id = e.tx_id
  JOIN temp.rpcroute_fixed f ON f.chain = t.chain AND f.static_provider = t.provider_id
 WHERE e.part = 'train'
 GROUP BY e.split, t.chain;

-- Models that may speak about the test rows: all their features are at hand, and their training ended before the first
-- of those rows. `active` routes below; `previous` was in charge before the last training (train.sql notes its name; a
-- model that was not trained here is its own predecessor).
DROP TABLE IF EXISTS temp.rpcroute_judge;
CREATE TEMP TABLE rpcroute_judge AS
WITH active AS (SELECT * FROM main.rpc_models WHERE active = 1),
     wanted (role, model) AS (
       SELECT 'active', model FROM active
       UNION ALL
       SELECT 'previous',
              CASE WHEN NOT json_valid(metrics) OR json_type(metrics, '$.previous') IS NULL THEN model
                   ELSE metrics ->> 'previous' END FROM active)
SELECT w.role, m.model, m.content,
       CASE WHEN m.model IS NULL THEN 'no model was active before the last training'
            WHEN m.features IS NULL THEN 'it does not name its features'
            WHEN EXISTS (SELECT 1 FROM json_each(m.features)
                          WHERE value NOT IN ('latency_ms', 'block_lag', 'rolling_latency_5', 'mean_lag_5',
                                              'provider_mean_sec', 'hour_of_day', 'day_of_week'))
              THEN 'it wants a feature that training_set does not have'
            WHEN m.train_until >= (SELECT min(timestamp) FROM main.training_set WHERE split = 'test')
              THEN 'its train_until passes the split: it knows test rows' END AS silence,
       CASE WHEN m.train_until IS NULL THEN 'its train_until is not known: it may know test rows' END AS doubt
  FROM wanted w
  LEFT JOIN (SELECT model, content, train_until,
                    CASE WHEN json_valid(CAST(content AS TEXT))
                         THEN nullif(json_extract(CAST(content AS TEXT), '$.learner.feature_names'), '[]')
                         ELSE (SELECT features FROM model_info(content)) END AS features
               FROM main.rpc_models WHERE model IN (SELECT model FROM wanted)) m ON m.model = w.model;

-- Every strategy's error on every held-back row.
DROP TABLE IF EXISTS temp.rpcroute_miss;
CREATE TEMP TABLE rpcroute_miss AS
WITH forecast AS MATERIALIZED (
  SELECT e.split, t.duration_sec, ls.static_mean, l.overall_mean, predict_confirm(l.ping_model, t.latency_ms) AS ping,
         predict_confirm(l.smart_model, t.latency_ms, t.block_lag) AS smart
    FROM temp.rpcroute_example e
    JOIN temp.rpcroute_learnt l ON l.split = e.split
    JOIN main.training_set t ON t.tx_id = e.tx_id
    LEFT JOIN temp.rpcroute_learnt_static ls ON ls.split = e.split AND ls.chain = t.chain
   WHERE e.part = 'test')
SELECT split, 'static' AS strategy, abs(static_mean - duration_sec) AS error_sec FROM forecast
UNION ALL
SELECT split, 'mean', abs(overall_mean - duration_sec) FROM forecast
UNION ALL
SELECT split, 'ping', abs(ping - duration_sec) FROM forecast
UNION ALL
SELECT split, 'smart_retrained', abs(smart - duration_sec) FROM forecast
UNION ALL
SELECT 'temporal', 'smart_production',
       abs(predict_confirm_named(j.content, json_object(
             'latency_ms', t.latency_ms, 'block_lag', t.block_lag, 'rolling_latency_5', t.rolling_latency_5,
             'mean_lag_5', t.mean_lag_5, 'provider_mean_sec', t.provider_mean_sec, 'hour_of_day', t.hour_of_day,
             'day_of_week', t.day_of_week)) - t.duration_sec)
  FROM temp.rpcroute_judge j CROSS JOIN main.training_set t
 WHERE j.role = 'previous' AND j.silence IS NULL AND t.split = 'test';
DROP TABLE IF EXISTS temp.rpcroute_score;
CREATE TEMP TABLE rpcroute_score AS
SELECT split, strategy, count(error_sec) AS n, avg(error_sec) AS mae, sqrt(avg(error_sec * error_sec)) AS rmse,
       percentile(error_sec, 95) AS p95
  FROM temp.rpcroute_miss GROUP BY split, strategy;

-- What a router could have chosen from at each test transaction whose provider was drawn at random.
DROP TABLE IF EXISTS temp.rpcroute_option;
CREATE TEMP TABLE rpcroute_option AS
SELECT o.tx_id, o.provider_id, o.latency_ms, o.block_lag, o.provider_id IS f.best_provider AS best,
       CASE WHEN j.silence IS NULL THEN
         predict_confirm_named(j.content, json_object(
           'latency_ms', o.latency_ms, 'block_lag', o.block_lag, 'rolling_latency_5', o.rolling_latency_5,
           'mean_lag_5', o.mean_lag_5, 'provider_mean_sec', o.provider_mean_sec, 'hour_of_day', t.hour_of_day,
           'day_of_week', t.day_of_week)) END AS predicted_sec
  FROM temp.rpcroute_judge j CROSS JOIN main.routing_states o
  JOIN main.training_set t ON t.tx_id = o.tx_id
  JOIN temp.rpcroute_fixed f ON f.chain = t.chain
 WHERE j.role = 'active';

-- What each policy chooses. Ties go to the smaller lag, then to the lower latency, then to the smaller name, as in
-- route.sql; for least_lag first to the best fixed choice. guard is the best fixed choice unless it lags, then least_lag.
DROP TABLE IF EXISTS temp.rpcroute_choice;
CREATE TEMP TABLE rpcroute_choice (
  tx_id INTEGER, policy TEXT, provider_id TEXT, PRIMARY KEY (tx_id, policy)) WITHOUT ROWID;
INSERT INTO temp.rpcroute_choice
WITH ranked AS (
  SELECT *, row_number() OVER (PARTITION BY tx_id ORDER BY latency_ms, block_lag, provider_id) AS by_ping,
         row_number() OVER (PARTITION BY tx_id ORDER BY block_lag, best DESC, latency_ms, provider_id) AS by_lag,
         row_number() OVER (PARTITION BY tx_id
                            ORDER BY best AND block_lag < (SELECT guard_lag_blocks
                                                                FROM temp.rpcroute_setting) DESC, block_lag,
                                     best DESC, latency_ms, provider_id) AS by_guard,
         row_number() OVER (PARTITION BY tx_id
                            ORDER BY predicted_sec NULLS LAST, block_lag, latency_ms, provider_id) AS by_prediction
    FROM temp.rpcroute_option)
SELECT tx_id, 'ping', provider_id FROM ranked WHERE by_ping = 1
UNION ALL
SELECT tx_id, 'least_lag', provider_id FROM ranked WHERE by_lag = 1
UNION ALL
SELECT tx_id, 'guard', provider_id FROM ranked WHERE by_guard = 1
UNION ALL
SELECT tx_id, 'smart', provider_id FROM ranked WHERE by_prediction = 1 AND predicted_sec IS NOT NULL;
INSERT INTO temp.rpcroute_choice
SELECT t.tx_id, policy, CASE policy WHEN 'static' THEN f.static_provider ELSE f.best_provider END
  FROM main.training_set t
  JOIN temp.rpcroute_fixed f ON f.chain = t.chain
  JOIN (SELECT 'static' AS policy UNION ALL SELECT 'best_fixed')
 WHERE t.split = 'test' AND t.propensity IS NOT NULL
   AND CASE policy WHEN 'static' THEN f.static_provider ELSE f.best_provider END IS NOT NULL;

-- Self-normalised inverse propensity weights: a transaction speaks for a policy that would have chosen its provider, the
-- louder the rarer that provider was drawn. `random` is the draw itself. w0 is the weight for static, to pair with.
DROP TABLE IF EXISTS temp.rpcroute_evidence;
CREATE TEMP TABLE rpcroute_evidence AS
SELECT c.policy, t.timestamp, t.duration_sec AS y,
       CASE WHEN c.policy = 'random' THEN 1.0 ELSE (t.provider_id = c.provider_id) / t.propensity END AS w,
       (t.provider_id = f.static_provider) / t.propensity AS w0
  FROM (SELECT policy, tx_id, provider_id FROM temp.rpcroute_choice
         UNION ALL
        SELECT 'random', tx_id, NULL FROM main.training_set WHERE split = 'test' AND propensity IS NOT NULL) c
  JOIN main.training_set t ON t.tx_id = c.tx_id
  JOIN temp.rpcroute_fixed f ON f.chain = t.chain;
DROP TABLE IF EXISTS temp.rpcroute_estimate;
CREATE TEMP TABLE rpcroute_estimate AS
SELECT policy, count(*) AS n, count(*) FILTER (WHERE w > 0) AS matched,
       sum(w * y) / sum(w) AS mean_sec, avg(w) AS mean_w,
       sum(w0 * y) / sum(w0) AS mean0_sec, avg(w0) AS mean0_w,
       weighted_percentile(y, w, 50) AS median_sec, weighted_percentile(y, w, 95) AS p95_sec,
       sum(w * (y >= (SELECT slow_sec FROM temp.rpcroute_setting))) / sum(w) AS slow_share
  FROM temp.rpcroute_evidence GROUP BY policy;

-- How sure that is: influence functions, summed by blocks of history since neighbours share the network's mood. The
-- half-width is the larger of z standard errors and, over the blocks, t of them (t from z by its series in 1/blocks).
DROP TABLE IF EXISTS temp.rpcroute_margin;
CREATE TEMP TABLE rpcroute_margin AS
WITH influence AS (
       SELECT v.policy, CAST(v.timestamp / s.block_sec AS INTEGER) AS block,
              v.w * (v.y - e.mean_sec) / e.mean_w AS psi,
              v.w0 * (v.y - e.mean0_sec) / e.mean0_w - v.w * (v.y - e.mean_sec) / e.mean_w AS gain_psi
         FROM temp.rpcroute_setting s CROSS JOIN temp.rpcroute_evidence v
         JOIN temp.rpcroute_estimate e ON e.policy = v.policy),
     block AS (
       SELECT policy, count(*) AS n, sum(psi) AS psi, sum(psi * psi) AS psi2,
              sum(gain_psi) AS gain_psi, sum(gain_psi * gain_psi) AS gain_psi2
         FROM influence GROUP BY policy, block),
     spread AS (
       SELECT policy, sum(n) AS n, count(*) AS blocks, count(*) - 1.0 AS v,
              sqrt(sum(psi2)) / sum(n) AS se, sqrt(sum(psi * psi) * count(*) / (count(*) - 1.0)) / sum(n) AS se_block,
              sqrt(sum(gain_psi2)) / sum(n) AS gain_se,
              sqrt(sum(gain_psi * gain_psi) * count(*) / (count(*) - 1.0)) / sum(n) AS gain_se_block
         FROM block GROUP BY policy),
     student AS (
       SELECT p.*, s.z, s.min_blocks,
              s.z + (s.z * s.z * s.z + s.z) / (4 * p.v)
                  + (5 * s.z * s.z * s.z * s.z * s.z + 16 * s.z * s.z * s.z + 3 * s.z) / (96 * p.v * p.v) AS t
         FROM spread p CROSS JOIN temp.rpcroute_setting s)
SELECT policy, max(z * se, t * se_block) AS half, max(z * gain_se, t * gain_se_block) AS gain_half
  FROM student WHERE blocks >= min_blocks;

-- How often two policies differ.
DROP TABLE IF EXISTS temp.rpcroute_divergence;
CREATE TEMP TABLE rpcroute_divergence AS
SELECT a.policy, b.policy AS other, count(*) AS n, sum(a.provider_id <> b.provider_id) AS differ,
       avg(a.provider_id <> b.provider_id) AS share
  FROM temp.rpcroute_choice a JOIN temp.rpcroute_choice b ON b.tx_id = a.tx_id AND b.policy <> a.policy
 GROUP BY a.policy, b.policy;

-- How each provider did, over train and test.
DROP TABLE IF EXISTS temp.rpcroute_summary;
CREATE TEMP TABLE rpcroute_summary AS
SELECT provider_id, count(*) AS n, median(duration_sec) AS median_sec, avg(duration_sec) AS mean_sec,
       percentile(duration_sec, 95) AS p95_sec, max(duration_sec) AS max_sec,
       avg(duration_sec >= (SELECT slow_sec FROM temp.rpcroute_setting)) AS slow_share, sum(censored) AS timeouts,
       median(latency_ms) AS median_latency_ms, avg(block_lag) AS mean_lag, min(block_lag) AS min_lag,
       max(block_lag) AS max_lag
  FROM main.training_set GROUP BY provider_id;

-- What the models go by.
DROP TABLE IF EXISTS temp.rpcroute_gain;
CREATE TEMP TABLE rpcroute_gain AS
SELECT m.model, i.feature, i.importance, i.gain, i.weight
  FROM (SELECT model, content FROM main.rpc_models WHERE active = 1
         UNION ALL
        SELECT 'smart_retrained', smart_model FROM temp.rpcroute_learnt WHERE split = 'temporal') m
 CROSS JOIN model_importance(m.content) i;

-- All is known; the tables are replaced in one short transaction.
BEGIN IMMEDIATE;

DROP TABLE IF EXISTS main.evaluation;
CREATE TABLE main.evaluation (
  strategy        TEXT NOT NULL PRIMARY KEY,
  n               INTEGER NOT NULL,  -- test rows it has a prediction for
  mae             REAL,              -- of the error in seconds: mean, root mean square, 95th percentile
  rmse            REAL,
  p95             REAL,
  improvement_pct REAL,              -- of mae over static; positive is better
  note            TEXT
);
WITH strategies (strategy) AS (VALUES ('static'), ('mean'), ('ping'), ('smart_retrained'), ('smart_production'))
INSERT INTO main.evaluation
SELECT g.strategy, coalesce(c.n, 0), c.mae, c.rmse, c.p95, 100 * (b.mae - c.mae) / b.mae,
       CASE WHEN g.strategy = 'smart_production' THEN coalesce(j.silence, j.doubt)
            WHEN coalesce(c.n, 0) = 0 THEN 'the static provider has no training rows' END
  FROM strategies g
  JOIN temp.rpcroute_judge j ON j.role = 'previous'
  LEFT JOIN temp.rpcroute_score c ON c.split = 'temporal' AND c.strategy = g.strategy
  LEFT JOIN temp.rpcroute_score b ON b.split = 'temporal' AND b.strategy = 'static';

DROP TABLE IF EXISTS main.split_leakage;
CREATE TABLE main.split_leakage (
  split TEXT NOT NULL, strategy TEXT NOT NULL, n INTEGER NOT NULL, mae REAL, rmse REAL, p95 REAL,
  PRIMARY KEY (split, strategy)
);
INSERT INTO main.split_leakage
SELECT split, strategy, n, mae, rmse, p95 FROM temp.rpcroute_score WHERE strategy <> 'smart_production'
 ORDER BY split DESC, strategy;

DROP TABLE IF EXISTS main.routing_value;
CREATE TABLE main.routing_value (
  policy     TEXT NOT NULL PRIMARY KEY,
  n          INTEGER NOT NULL,  -- test transactions it has a choice for
  matched    INTEGER NOT NULL,  -- of them, went through its choice
  mean_sec   REAL,
  median_sec REAL,
  p95_sec    REAL,
  slow_share REAL,              -- share that took slow_sec or longer
  ci_low     REAL,              -- interval of mean_sec; NULL with too little history
  ci_high    REAL,
  gain_sec   REAL,              -- over static on the same transactions; positive is better
  gain_low   REAL,
  gain_high  REAL
);
WITH policies (policy) AS (
  VALUES ('static'), ('random'), ('ping'), ('least_lag'), ('guard'), ('smart'), ('best_fixed'))
INSERT INTO main.routing_value
SELECT p.policy, coalesce(e.n, 0), coalesce(e.matched, 0), e.mean_sec, e.median_sec, e.p95_sec, e.slow_share,
       e.mean_sec - m.half, e.mean_sec + m.half, e.mean0_sec - e.mean_sec,
       e.mean0_sec - e.mean_sec - m.gain_half, e.mean0_sec - e.mean_sec + m.gain_half
  FROM policies p
  LEFT JOIN temp.rpcroute_estimate e ON e.policy = p.policy
  LEFT JOIN temp.rpcroute_margin m ON m.policy = p.policy;

-- Whom each policy would have taken, for those who know better: simulated histories know every provider's duration.
DROP TABLE IF EXISTS main.policy_choices;
CREATE TABLE main.policy_choices (
  policy TEXT NOT NULL, tx_id INTEGER NOT NULL, provider_id TEXT NOT NULL, PRIMARY KEY (policy, tx_id)) WITHOUT ROWID;
INSERT INTO main.policy_choices SELECT policy, tx_id, provider_id FROM temp.rpcroute_choice;

DROP TABLE IF EXISTS main.strategy_divergence;
CREATE TABLE main.strategy_divergence (
  policy TEXT NOT NULL, other TEXT NOT NULL,
  n      INTEGER NOT NULL,  -- test transactions both have a choice for
  differ INTEGER NOT NULL,
  share  REAL,
  PRIMARY KEY (policy, other)
);
INSERT INTO main.strategy_divergence SELECT * FROM temp.rpcroute_divergence;

DROP TABLE IF EXISTS main.provider_summary;
CREATE TABLE main.provider_summary (
  provider_id TEXT NOT NULL PRIMARY KEY,
  n           INTEGER NOT NULL,  -- matched transactions, train and test
  median_sec  REAL,
  mean_sec    REAL,
  p95_sec     REAL,
  max_sec     REAL,
  slow_share  REAL,
  timeouts    INTEGER,
  median_latency_ms REAL,
  mean_lag    REAL,
  min_lag     INTEGER,
  max_lag     INTEGER
);
INSERT INTO main.provider_summary SELECT * FROM temp.rpcroute_summary;

DROP TABLE IF EXISTS main.importance;
CREATE TABLE main.importance (
  model      TEXT NOT NULL,  -- a name in rpc_models, or smart_retrained
  feature    TEXT NOT NULL,
  importance REAL NOT NULL,  -- share of gain; sums to 1 for each model
  gain       REAL,           -- mean loss reduction of a split on it
  weight     INTEGER,        -- number of splits on it
  PRIMARY KEY (model, feature)
);
INSERT INTO main.importance SELECT * FROM temp.rpcroute_gain;

COMMIT;

DROP TABLE temp.rpcroute_gain;
DROP TABLE temp.rpcroute_summary;
DROP TABLE temp.rpcroute_divergence;
DROP TABLE temp.rpcroute_margin;
DROP TABLE temp.rpcroute_estimate;
DROP TABLE temp.rpcroute_evidence;
DROP TABLE temp.rpcroute_choice;
DROP TABLE temp.rpcroute_option;
DROP TABLE temp.rpcroute_score;
DROP TABLE temp.rpcroute_miss;
DROP TABLE temp.rpcroute_judge;
DROP TABLE temp.rpcroute_learnt_static;
DROP TABLE temp.rpcroute_learnt;
DROP TABLE temp.rpcroute_example;
DROP TABLE temp.rpcroute_fixed;
DROP TABLE temp.rpcroute_setting;
DROP TABLE temp.rpcroute_refusal;
