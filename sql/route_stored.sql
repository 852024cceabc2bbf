-- Decides for each enabled target which provider to use, from the observations already stored: nobody is polled.
--
--   sqlite3 -bail -cmd '.timeout 5000' -cmd '.load ./rpcroute' rpc.db < sql/route_stored.sql
--
-- The same decisions as route.sql makes and explains, in every region that has targets, from the latest observation of
-- each provider that is not older than tolerance_sec.

-- A refusal is a message from RAISE, which takes only a literal and only inside a trigger.
DROP TABLE IF EXISTS temp.rpcroute_refusal;
CREATE TEMP TABLE rpcroute_refusal (reason);
CREATE TEMP TRIGGER rpcroute_refuse BEFORE INSERT ON rpcroute_refusal WHEN NEW.reason IS NOT 2
BEGIN
  SELECT CASE NEW.reason
    WHEN 'none' THEN RAISE(ABORT, 'no rpcroute tables in this database: run sql/schema.sql first')
    WHEN 1 THEN RAISE(ABORT, 'this database is of schema_version 1: run sql/migrate_1_to_2.sql first')
    WHEN 'settings' THEN RAISE(ABORT, 'rpc_settings lacks region, route_deadline_ms, switch_margin_sec, guard_lag_blocks, tolerance_sec or head_window_sec; sql/schema.sql puts missing rows back')
    WHEN 'targets' THEN RAISE(ABORT, 'route_targets has no enabled row: INSERT INTO route_targets (chain) VALUES (…) says what to decide for')
    ELSE RAISE(ABORT, 'the schema_version of this database is unknown here: a newer rpcroute made it, use the scripts of that one') END;
END;
INSERT INTO temp.rpcroute_refusal SELECT 'none' WHERE NOT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE name = 'rpc_settings');
INSERT INTO temp.rpcroute_refusal VALUES ((SELECT value FROM main.rpc_settings WHERE key = 'schema_version'));
INSERT INTO temp.rpcroute_refusal SELECT 'targets' WHERE NOT EXISTS (SELECT 1 FROM main.route_targets WHERE enabled = 1);

DROP TABLE IF EXISTS temp.rpcroute_setting;
CREATE TEMP TABLE rpcroute_setting AS
SELECT max(value) FILTER (WHERE key = 'region') AS region,
       max(value) FILTER (WHERE key = 'route_deadline_ms') AS route_deadline_ms,
       max(value) FILTER (WHERE key = 'switch_margin_sec') AS switch_margin_sec,
       max(value) FILTER (WHERE key = 'guard_lag_blocks') AS guard_lag_blocks,
       max(value) FILTER (WHERE key = 'tolerance_sec') AS tolerance_sec,
       max(value) FILTER (WHERE key = 'head_window_sec') AS head_window_sec,
       max(value) FILTER (WHERE key = 'static_provider') AS static_provider,
       (julianday('now') - 2440587.5) * 86400 AS started
  FROM main.rpc_settings;
INSERT INTO temp.rpcroute_refusal
SELECT 'settings' FROM temp.rpcroute_setting
 WHERE region IS NULL OR route_deadline_ms IS NULL OR switch_margin_sec IS NULL OR guard_lag_blocks IS NULL
    OR tolerance_sec IS NULL OR head_window_sec IS NULL;

-- One answer for each provider and region: the latest round that asked it, beside the head of that round that another
-- operator confirms; without rounds, the latest observation and the head of the head_window_sec up to now. Of several
-- samples: the highest height, the median latency.
DROP TABLE IF EXISTS temp.rpcroute_answer;
CREATE TEMP TABLE rpcroute_answer (
  provider_id TEXT, chain TEXT, region TEXT, timestamp REAL, ok INTEGER, error_class TEXT, latency_ms REAL, setup_ms REAL,
  block_number INTEGER, head INTEGER, head_max_ahead INTEGER, p95_rtt_ms REAL, success_rate REAL,
  PRIMARY KEY (provider_id, region)) WITHOUT ROWID;
WITH latest AS MATERIALIZED (
  SELECT p.provider_id, t.region,
         (SELECT h.metric_id FROM main.rpc_health h
           WHERE h.provider_id = p.provider_id AND h.region = t.region
             AND h.timestamp >= s.started - s.tolerance_sec AND h.timestamp <= s.started
           ORDER BY h.timestamp DESC, h.metric_id DESC LIMIT 1) AS metric_id
    FROM temp.rpcroute_setting s
    JOIN (SELECT DISTINCT chain, region FROM main.route_targets WHERE enabled = 1) t
    JOIN main.rpc_providers p ON p.chain = t.chain AND p.enabled = 1)
INSERT INTO temp.rpcroute_answer
SELECT h.provider_id, h.chain, h.region, max(h.timestamp), max(h.ok), iif(max(h.ok), NULL, max(h.error_class)),
       median(h.latency_ms), max(h.setup_ms), nullif(max(h.block_number), 0),
       CASE WHEN o.cycle_id IS NULL THEN
              (SELECT chain_head(nullif(w.block_number, 0), w.head_max_ahead, w.operator)
                 FROM temp.rpcroute_setting s CROSS JOIN main.rpc_providers p CROSS JOIN main.rpc_health w
                WHERE p.chain = o.chain AND w.provider_id = p.provider_id AND w.cycle_id IS NULL
                  AND w.timestamp BETWEEN s.started - s.head_window_sec AND s.started)
            ELSE (SELECT chain_head(nullif(w.block_number, 0), w.head_max_ahead, w.operator) FROM main.rpc_health w
                   WHERE w.cycle_id = o.cycle_id AND w.chain = o.chain) END,
       h.head_max_ahead, percentile(h.latency_ms, 95), 100 * avg(h.ok)
  FROM latest l
  JOIN main.rpc_health o ON o.metric_id = l.metric_id
  JOIN main.rpc_health h ON h.metric_id = o.metric_id
                         OR h.cycle_id = o.cycle_id AND h.provider_id = o.provider_id AND h.region = o.region
 GROUP BY l.metric_id;

-- The regions to decide for.
DROP TABLE IF EXISTS temp.rpcroute_decided_region;
CREATE TEMP TABLE rpcroute_decided_region AS SELECT DISTINCT region FROM main.route_targets WHERE enabled = 1;

-- From here on route.sql and route_stored.sql are the same, which a test makes sure of.

-- The model in charge, if it can be asked: all its features must be among those computed here. What is JSON names them
-- itself; UBJSON is read by model_info.
DROP TABLE IF EXISTS temp.rpcroute_judge;
CREATE TEMP TABLE rpcroute_judge AS
SELECT m.model, m.sha256, m.content,
       m.features IS NOT NULL AND NOT EXISTS (
         SELECT 1 FROM json_each(m.features)
          WHERE value NOT IN ('latency_ms', 'block_lag', 'rolling_latency_5', 'mean_lag_5', 'provider_mean_sec',
                              'hour_of_day', 'day_of_week')) AS usable,
       CASE WHEN json_valid(m.metrics) THEN m.metrics -> 'provider_mean_sec' END AS means
  FROM (SELECT model, sha256, content, metrics,
               CASE WHEN json_valid(CAST(content AS TEXT))
                    THEN nullif(json_extract(CAST(content AS TEXT), '$.learner.feature_names'), '[]')
                    ELSE (SELECT features FROM model_info(content)) END AS features
          FROM main.rpc_models WHERE active = 1) m;

-- The providers' mean durations as its training knew them; for a model that brings none, those of all transactions. A
-- number is read from the text of its JSON: under some locales older SQLite's JSON functions cut it at the point.
DROP TABLE IF EXISTS temp.rpcroute_usual;
CREATE TEMP TABLE rpcroute_usual (provider_id TEXT PRIMARY KEY, mean_sec REAL) WITHOUT ROWID;
INSERT INTO temp.rpcroute_usual
SELECT e.key, CAST(j.means -> e.fullkey AS REAL)
  FROM temp.rpcroute_judge j JOIN json_each(j.means) e
 WHERE e.type IN ('integer', 'real')
 UNION ALL
SELECT provider_id, avg(duration_sec)
  FROM main.tx_outcomes
 WHERE duration_sec IS NOT NULL AND overlap = 0 AND error_class IS NOT 'unobserved'
   AND EXISTS (SELECT 1 FROM temp.rpcroute_judge WHERE means IS NULL)
 GROUP BY provider_id;

-- Its lag, and the means over its last up to five answers, this one included. The lag of an earlier one is that of its
-- own round, or of the head_window_sec up to it; where that is unknown it does not enter the mean.
DROP TABLE IF EXISTS temp.rpcroute_state;
CREATE TEMP TABLE rpcroute_state AS
WITH recent AS (
  SELECT a.provider_id, a.region, h.latency_ms,
         block_lag(h.block_number,
                   CASE WHEN h.cycle_id IS NULL THEN
                          (SELECT chain_head(nullif(w.block_number, 0), w.head_max_ahead, w.operator)
                             FROM temp.rpcroute_setting s CROSS JOIN main.rpc_providers p CROSS JOIN main.rpc_health w
                            WHERE p.chain = h.chain AND w.provider_id = p.provider_id AND w.cycle_id IS NULL
                              AND w.timestamp BETWEEN h.timestamp - s.head_window_sec AND h.timestamp)
                        ELSE (SELECT chain_head(nullif(w.block_number, 0), w.head_max_ahead, w.operator)
                                FROM main.rpc_health w WHERE w.cycle_id = h.cycle_id AND w.chain = h.chain) END,
                   h.head_max_ahead) AS lag
    FROM temp.rpcroute_answer a
   CROSS JOIN main.rpc_health h ON h.metric_id IN (
         SELECT e.metric_id FROM main.rpc_health e
          WHERE e.provider_id = a.provider_id AND e.region = a.region AND e.timestamp < a.timestamp
            AND e.ok = 1 AND e.latency_ms IS NOT NULL AND e.block_number > 0
          ORDER BY e.timestamp DESC, e.metric_id DESC LIMIT 4)
   UNION ALL
  SELECT provider_id, region, latency_ms, block_lag(block_number, head, head_max_ahead) FROM temp.rpcroute_answer)
SELECT a.*, block_lag(a.block_number, a.head, a.head_max_ahead) AS block_lag, u.mean_sec AS provider_mean_sec,
       (SELECT avg(r.latency_ms) FROM recent r WHERE r.provider_id = a.provider_id AND r.region = a.region)
         AS rolling_latency_5,
       (SELECT avg(r.lag) FROM recent r WHERE r.provider_id = a.provider_id AND r.region = a.region) AS mean_lag_5
  FROM temp.rpcroute_answer a LEFT JOIN temp.rpcroute_usual u ON u.provider_id = a.provider_id;

-- What the model says of each.
DROP TABLE IF EXISTS temp.rpcroute_prediction;
CREATE TEMP TABLE rpcroute_prediction (
  provider_id TEXT, region TEXT, predicted_sec REAL, PRIMARY KEY (provider_id, region)) WITHOUT ROWID;
INSERT INTO temp.rpcroute_prediction
SELECT s.provider_id, s.region,
       predict_confirm_named(j.content, json_object(
         'latency_ms', s.latency_ms, 'block_lag', s.block_lag, 'rolling_latency_5', s.rolling_latency_5,
         'mean_lag_5', s.mean_lag_5, 'provider_mean_sec', s.provider_mean_sec,
         'hour_of_day', CAST(s.timestamp AS INTEGER) / 3600 % 24,
         'day_of_week', (CAST(s.timestamp AS INTEGER) / 86400 + 3) % 7))
  FROM temp.rpcroute_judge j CROSS JOIN temp.rpcroute_state s
 WHERE j.usable AND s.block_lag IS NOT NULL;

-- The targets, what stands in the way of deciding each at all, its last choice, and its two fixed choices.
DROP TABLE IF EXISTS temp.rpcroute_target;
CREATE TEMP TABLE rpcroute_target AS
SELECT t.chain, t.workload, t.region, t.policy,
       CASE WHEN t.workload <> 'transfer' THEN 'workload_unavailable'
            WHEN t.policy = 'score' THEN 'policy_unavailable'
            WHEN NOT EXISTS (SELECT 1 FROM main.rpc_providers p WHERE p.chain = t.chain AND p.enabled = 1)
              THEN 'no_provider'
            WHEN t.policy = 'smart' AND NOT EXISTS (SELECT 1 FROM temp.rpcroute_judge) THEN 'no_active_model'
            WHEN t.policy = 'smart' AND NOT EXISTS (SELECT 1 FROM temp.rpcroute_judge WHERE usable) THEN 'model_unusable'
       END AS obstacle,
       (SELECT d.provider_id FROM main.route_decisions d
         WHERE d.chain = t.chain AND d.workload = t.workload AND d.region = t.region AND d.provider_id IS NOT NULL
         ORDER BY d.timestamp DESC, d.decision_id DESC LIMIT 1) AS incumbent,
       coalesce((SELECT p.provider_id FROM main.rpc_providers p
                  WHERE p.chain = t.chain AND p.provider_id = s.static_provider),
                (SELECT p.provider_id FROM main.rpc_providers p
                  WHERE p.chain = t.chain AND p.enabled = 1 ORDER BY p.rowid LIMIT 1)) AS static_provider,
       (SELECT p.provider_id FROM main.rpc_providers p JOIN temp.rpcroute_usual u ON u.provider_id = p.provider_id
         WHERE p.chain = t.chain AND p.enabled = 1 ORDER BY u.mean_sec, p.provider_id LIMIT 1) AS best_provider
  FROM main.route_targets t CROSS JOIN temp.rpcroute_setting s
 WHERE t.enabled = 1 AND t.region IN (SELECT region FROM temp.rpcroute_decided_region);
UPDATE temp.rpcroute_target SET best_provider = static_provider WHERE best_provider IS NULL;

-- Everyone who is considered, and what excludes them: first what any policy needs, then what this one does.
DROP TABLE IF EXISTS temp.rpcroute_candidate;
CREATE TEMP TABLE rpcroute_candidate AS
SELECT t.chain, t.workload, t.region, t.policy, p.provider_id, s.timestamp, s.ok, s.error_class, s.latency_ms, s.setup_ms,
       s.block_number, s.head, s.block_lag, s.rolling_latency_5, s.mean_lag_5, s.provider_mean_sec, n.predicted_sec,
       s.p95_rtt_ms, s.success_rate,
       p.provider_id IS t.best_provider AS best, p.provider_id IS t.incumbent AS incumbent,
       CASE WHEN s.provider_id IS NULL THEN 'unobserved'
            WHEN s.ok = 0 AND s.error_class = 'timeout' THEN 'unanswered'
            WHEN s.ok = 0 THEN 'failed'
            WHEN s.block_number IS NULL THEN 'no_height'
            WHEN s.latency_ms IS NULL THEN 'no_latency'
            WHEN s.head IS NULL THEN 'uncorroborated'
            WHEN s.block_number > s.head + s.head_max_ahead THEN 'implausible_height'
            WHEN s.block_lag > s.head_max_ahead THEN 'far_behind'
            WHEN t.policy = 'smart' AND n.predicted_sec IS NULL THEN 'no_prediction'
            WHEN t.policy = 'static' AND p.provider_id IS NOT t.static_provider THEN 'not_fixed' END AS exclusion
  FROM temp.rpcroute_target t
  JOIN main.rpc_providers p ON p.chain = t.chain AND p.enabled = 1
  LEFT JOIN temp.rpcroute_state s ON s.provider_id = p.provider_id AND s.region = t.region
  LEFT JOIN temp.rpcroute_prediction n ON n.provider_id = p.provider_id AND n.region = t.region;

-- The ranking among the eligible, by the policy's number.
DROP TABLE IF EXISTS temp.rpcroute_ranking;
CREATE TEMP TABLE rpcroute_ranking AS
WITH keyed AS (
  SELECT c.chain, c.workload, c.region, c.provider_id, c.block_lag, c.latency_ms, c.predicted_sec,
         CASE c.policy
           WHEN 'smart' THEN c.predicted_sec - c.incumbent * s.switch_margin_sec
           WHEN 'ping' THEN c.latency_ms
           WHEN 'least_lag' THEN c.block_lag
           WHEN 'guard' THEN iif(c.best AND c.block_lag < s.guard_lag_blocks, -1, c.block_lag)
           ELSE 0 END AS number,
         CASE c.policy WHEN 'smart' THEN c.incumbent WHEN 'least_lag' THEN c.best WHEN 'guard' THEN c.best ELSE 0 END
           AS favoured
    FROM temp.rpcroute_setting s CROSS JOIN temp.rpcroute_candidate c WHERE c.exclusion IS NULL)
SELECT *,
       row_number() OVER (PARTITION BY chain, workload, region
                          ORDER BY number, favoured DESC, block_lag, latency_ms, provider_id) AS rank,
       row_number() OVER (PARTITION BY chain, workload, region
                          ORDER BY predicted_sec, block_lag, latency_ms, provider_id) AS prediction_rank
  FROM keyed;

-- The decisions, beside what ping would have chosen by the same gates. Evidence is all that a decision rested on, as JSON
-- with its names in alphabetical order.
DROP TABLE IF EXISTS temp.rpcroute_decision;
CREATE TEMP TABLE rpcroute_decision AS
SELECT row_number() OVER (ORDER BY t.chain, t.workload, t.region) AS decision_id, t.chain, t.workload, t.region, t.policy,
       CASE WHEN t.obstacle IS NULL THEN w.provider_id END AS provider_id,
       (SELECT c.provider_id FROM temp.rpcroute_candidate c
         WHERE c.chain = t.chain AND c.workload = t.workload AND c.region = t.region
           AND (c.exclusion IS NULL OR c.exclusion IN ('no_prediction', 'not_fixed'))
         ORDER BY c.latency_ms, c.block_lag, c.provider_id LIMIT 1) AS ping_provider_id,
       CASE WHEN t.obstacle IS NOT NULL THEN json_array(t.obstacle)
            WHEN w.provider_id IS NULL THEN
              (SELECT json_group_array(reason)
                 FROM (SELECT 'none_eligible' AS reason
                        UNION ALL
                       SELECT * FROM (SELECT DISTINCT c.exclusion FROM temp.rpcroute_candidate c
                                       WHERE c.chain = t.chain AND c.workload = t.workload AND c.region = t.region
                                       ORDER BY c.exclusion)))
            WHEN t.policy = 'smart' AND w.prediction_rank > 1 THEN json_array('incumbent_kept')
            WHEN t.policy = 'guard' THEN json_array(iif(w.number < 0, 'fixed_kept', 'fixed_left'))
            ELSE json_array('ranked_first') END AS reasons,
       json_object(
         'candidates',
           (SELECT json_group_array(json(line)) FROM (
              SELECT json_object(
                       'block_lag', c.block_lag, 'block_number', c.block_number, 'error_class', c.error_class,
                       'exclusion', c.exclusion, 'head', c.head, 'latency_ms', c.latency_ms, 'mean_lag_5', c.mean_lag_5,
                       'ok', c.ok, 'predicted_sec', c.predicted_sec, 'provider_id', c.provider_id,
                       'provider_mean_sec', c.provider_mean_sec, 'rolling_latency_5', c.rolling_latency_5,
                       'timestamp', c.timestamp) AS line
                FROM temp.rpcroute_candidate c
               WHERE c.chain = t.chain AND c.workload = t.workload AND c.region = t.region
               ORDER BY c.provider_id)),
         'chain', t.chain, 'guard_lag_blocks', s.guard_lag_blocks, 'incumbent', t.incumbent, 'model', j.model,
         'model_sha256', j.sha256, 'policy', t.policy, 'region', t.region, 'static_provider', t.static_provider,
         'switch_margin_sec', s.switch_margin_sec, 'workload', t.workload) AS evidence
  FROM temp.rpcroute_setting s CROSS JOIN temp.rpcroute_target t
  LEFT JOIN temp.rpcroute_judge j
  LEFT JOIN temp.rpcroute_ranking w ON w.chain = t.chain AND w.workload = t.workload AND w.region = t.region AND w.rank = 1;

-- All is decided; decisions and candidates are written in one short transaction.
BEGIN IMMEDIATE;

UPDATE temp.rpcroute_decision
   SET decision_id = decision_id + (SELECT coalesce(max(decision_id), 0) FROM main.route_decisions);

INSERT INTO main.route_decisions (decision_id, timestamp, chain, workload, region, outcome, provider_id, policy,
                                  predicted_sec, latency_ms, block_lag, propensity, ping_provider_id, reasons, evidence,
                                  evidence_sha256, model, decided_ms)
SELECT d.decision_id, (julianday('now') - 2440587.5) * 86400, d.chain, d.workload, d.region,
       iif(d.provider_id IS NULL, 'ABSTAIN', 'READY'), d.provider_id, d.policy, c.predicted_sec, c.latency_ms, c.block_lag,
       iif(d.provider_id IS NULL, NULL, 1), d.ping_provider_id, d.reasons, d.evidence, rpcroute_sha256(d.evidence),
       j.model, ((julianday('now') - 2440587.5) * 86400 - s.started) * 1000
  FROM temp.rpcroute_setting s CROSS JOIN temp.rpcroute_decision d
  LEFT JOIN temp.rpcroute_judge j
  LEFT JOIN temp.rpcroute_candidate c ON c.chain = d.chain AND c.workload = d.workload AND c.region = d.region
                       AND c.provider_id = d.provider_id;

INSERT INTO main.route_candidates (decision_id, provider_id, rank, eligible, exclusion, timestamp, ok, error_class,
                                   latency_ms, setup_ms, block_number, head, block_lag, rolling_latency_5, mean_lag_5,
                                   provider_mean_sec, predicted_sec, p95_rtt_ms, success_rate)
SELECT d.decision_id, c.provider_id, r.rank, c.exclusion IS NULL, c.exclusion, c.timestamp, c.ok, c.error_class,
       c.latency_ms, c.setup_ms, c.block_number, c.head, c.block_lag, c.rolling_latency_5, c.mean_lag_5,
       c.provider_mean_sec, c.predicted_sec, c.p95_rtt_ms, c.success_rate
  FROM temp.rpcroute_decision d
  JOIN temp.rpcroute_candidate c ON c.chain = d.chain AND c.workload = d.workload AND c.region = d.region
  LEFT JOIN temp.rpcroute_ranking r ON r.chain = d.chain AND r.workload = d.workload AND r.region = d.region
                     AND r.provider_id = c.provider_id;

COMMIT;

DROP TABLE temp.rpcroute_decision;
DROP TABLE temp.rpcroute_ranking;
DROP TABLE temp.rpcroute_candidate;
DROP TABLE temp.rpcroute_target;
DROP TABLE temp.rpcroute_prediction;
DROP TABLE temp.rpcroute_state;
DROP TABLE temp.rpcroute_usual;
DROP TABLE temp.rpcroute_judge;
DROP TABLE temp.rpcroute_decided_region;
DROP TABLE temp.rpcroute_answer;
DROP TABLE temp.rpcroute_setting;
DROP TABLE temp.rpcroute_refusal;
