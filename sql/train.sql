-- Trains two models on the training set that align.sql made, and puts the recommended one in charge.
--
--   sqlite3 -bail -cmd '.timeout 5000' -cmd '.load ./rpcroute' rpc.db < sql/train.sql
--
-- seed         latency and lag, with the parameters in rpc_settings.train_seed
-- recommended  also rolling latency, mean lag and the provider's own mean, with those in train_recommended
--
-- A model is named after its recipe, the newest transaction it knows, and its content: recommended-20260701T120000Z-1a2b3c4d.
-- Earlier ones stay, and one statement goes back to one of them:
--   UPDATE rpc_models SET active = 1 WHERE model = '…';
-- Running it again on the same training set gives the same models under the same names.

-- A refusal is a message from RAISE, which takes only a literal and only inside a trigger.
DROP TABLE IF EXISTS temp.rpcroute_refusal;
CREATE TEMP TABLE rpcroute_refusal (reason);
CREATE TEMP TRIGGER rpcroute_refuse BEFORE INSERT ON rpcroute_refusal WHEN NEW.reason IS NOT 2
BEGIN
  SELECT CASE NEW.reason
    WHEN 'none' THEN RAISE(ABORT, 'no rpcroute tables in this database: run sql/schema.sql first')
    WHEN 1 THEN RAISE(ABORT, 'this database is of schema_version 1: run sql/migrate_1_to_2.sql first')
    WHEN 'settings' THEN RAISE(ABORT, 'rpc_settings: train_seed and train_recommended must be JSON objects and train_min_child_share 0..1; sql/schema.sql puts missing rows back')
    WHEN 'alignment' THEN RAISE(ABORT, 'no training_set in this database: run sql/align.sql first')
    WHEN 'rows' THEN RAISE(ABORT, 'training_set has no row to train on: alignment_report says what became of the transactions')
    ELSE RAISE(ABORT, 'the schema_version of this database is unknown here: a newer rpcroute made it, use the scripts of that one') END;
END;
INSERT INTO temp.rpcroute_refusal SELECT 'none' WHERE NOT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE name = 'rpc_settings');
INSERT INTO temp.rpcroute_refusal VALUES ((SELECT value FROM main.rpc_settings WHERE key = 'schema_version'));
INSERT INTO temp.rpcroute_refusal SELECT 'alignment' WHERE NOT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE name = 'training_set');
INSERT INTO temp.rpcroute_refusal SELECT 'rows' WHERE NOT EXISTS (SELECT 1 FROM main.training_set WHERE split = 'train');

DROP TABLE IF EXISTS temp.rpcroute_setting;
CREATE TEMP TABLE rpcroute_setting AS
SELECT max(value) FILTER (WHERE key = 'train_seed') AS train_seed,
       max(value) FILTER (WHERE key = 'train_recommended') AS train_recommended,
       max(value) FILTER (WHERE key = 'train_min_child_share') AS train_min_child_share
  FROM main.rpc_settings;
INSERT INTO temp.rpcroute_refusal
SELECT 'settings' FROM temp.rpcroute_setting
 WHERE NOT coalesce(json_valid(train_seed) AND json_valid(train_recommended) AND train_min_child_share BETWEEN 0 AND 1, 0);

-- The two recipes. Leaves of the recommended model must hold a share of the rows, however many there are: on a large
-- history it would otherwise learn single moments by heart.
DROP TABLE IF EXISTS temp.rpcroute_recipe;
CREATE TEMP TABLE rpcroute_recipe (name TEXT PRIMARY KEY, params TEXT) WITHOUT ROWID;
INSERT INTO temp.rpcroute_recipe
SELECT 'seed', json_patch(train_seed, json_object('features', json_array('latency_ms', 'block_lag')))
  FROM temp.rpcroute_setting;
INSERT INTO temp.rpcroute_recipe
SELECT 'recommended',
       json_patch(train_recommended, json_object(
         'features', json_array('latency_ms', 'block_lag', 'rolling_latency_5', 'mean_lag_5', 'provider_mean_sec'),
         'min_child_weight', max(coalesce(CAST(train_recommended -> 'min_child_weight' AS REAL), 0), train_min_child_share * n)))
  FROM temp.rpcroute_setting, (SELECT count(*) AS n FROM main.training_set WHERE split = 'train');

-- Training reads the train split only, and takes its time outside any transaction.
DROP TABLE IF EXISTS temp.rpcroute_trained;
CREATE TEMP TABLE rpcroute_trained (recipe TEXT PRIMARY KEY, content TEXT) WITHOUT ROWID;
INSERT INTO temp.rpcroute_trained
SELECT 'seed', train_confirm((SELECT params FROM temp.rpcroute_recipe WHERE name = 'seed'), duration_sec, latency_ms, block_lag)
  FROM main.training_set
 WHERE split = 'train';
INSERT INTO temp.rpcroute_trained
SELECT 'recommended',
       train_confirm((SELECT params FROM temp.rpcroute_recipe WHERE name = 'recommended'), duration_sec, latency_ms, block_lag,
                     rolling_latency_5, mean_lag_5, provider_mean_sec)
  FROM main.training_set
 WHERE split = 'train';

-- How far off each is on the test split, which it has not seen. A provider without training rows has no mean to go by.
DROP TABLE IF EXISTS temp.rpcroute_tested;
CREATE TEMP TABLE rpcroute_tested AS
SELECT m.recipe,
       abs(predict_confirm_named(m.content, json_object(
             'latency_ms', t.latency_ms, 'block_lag', t.block_lag, 'rolling_latency_5', t.rolling_latency_5,
             'mean_lag_5', t.mean_lag_5, 'provider_mean_sec', t.provider_mean_sec)) - t.duration_sec) AS error_sec
  FROM temp.rpcroute_trained m CROSS JOIN main.training_set t
 WHERE t.split = 'test';

-- The rows as they go into rpc_models. The providers' means travel with the model: routing must use those of its
-- training, not those of a later alignment. `previous` is the model active before, for evaluate.sql.
DROP TABLE IF EXISTS temp.rpcroute_entry;
CREATE TEMP TABLE rpcroute_entry AS
SELECT m.recipe,
       m.recipe || '-' || strftime('%Y%m%dT%H%M%SZ', t.train_until, 'unixepoch') || '-' ||
         substr(rpcroute_sha256(m.content), 1, 8) AS model,
       m.content, rpcroute_sha256(m.content) AS sha256, r.params -> 'features' AS features, r.params,
       t.train_rows, t.train_until,
       json_object('mae', e.mae, 'rmse', e.rmse, 'p95', e.p95, 'test_rows', e.n,
                   'previous', (SELECT model FROM main.rpc_models WHERE active = 1),
                   'provider_mean_sec', json(t.provider_mean_sec)) AS metrics
  FROM temp.rpcroute_trained m
  JOIN temp.rpcroute_recipe r ON r.name = m.recipe
  JOIN (SELECT recipe, count(error_sec) AS n, avg(error_sec) AS mae, sqrt(avg(error_sec * error_sec)) AS rmse,
               percentile(error_sec, 95) AS p95
          FROM temp.rpcroute_tested GROUP BY recipe
         UNION ALL
        SELECT name, 0, NULL, NULL, NULL FROM temp.rpcroute_recipe WHERE NOT EXISTS (SELECT 1 FROM temp.rpcroute_tested)) e ON e.recipe = m.recipe
 CROSS JOIN (SELECT count(*) AS train_rows, max(timestamp) AS train_until,
                    (SELECT json_group_object(provider_id, provider_mean_sec)
                       FROM (SELECT DISTINCT provider_id, provider_mean_sec FROM main.training_set
                              WHERE split = 'train' ORDER BY provider_id)) AS provider_mean_sec
               FROM main.training_set WHERE split = 'train') t;

-- Both in, the recommended one in charge: together or not at all. A model that is there already, and was the active one,
-- keeps its note of what came before it.
BEGIN IMMEDIATE;

INSERT INTO main.rpc_models (model, content, sha256, features, params, train_rows, train_until, metrics)
SELECT model, content, sha256, features, params, train_rows, train_until, metrics FROM temp.rpcroute_entry WHERE true
    ON CONFLICT (model) DO UPDATE SET metrics = excluded.metrics
 WHERE excluded.metrics ->> 'previous' NOT IN (SELECT model FROM temp.rpcroute_entry);

UPDATE main.rpc_models SET active = 1
 WHERE model = (SELECT model FROM temp.rpcroute_entry WHERE recipe = 'recommended') AND active = 0;

COMMIT;

DROP TABLE temp.rpcroute_entry;
DROP TABLE temp.rpcroute_tested;
DROP TABLE temp.rpcroute_trained;
DROP TABLE temp.rpcroute_recipe;
DROP TABLE temp.rpcroute_setting;
DROP TABLE temp.rpcroute_refusal;
