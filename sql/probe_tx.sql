-- Sends probe transactions, probe_n of them one after another, and keeps what became of each in tx_outcomes.
--
--   sqlite3 -bail -cmd '.load ./rpcroute' rpc.db < sql/probe_tx.sql
--
-- It spends gas, on one test chain (rpc_settings.probe_chain): never more than max_spend_gwei_per_day in 24 hours.
-- With a key of ours (rpc_settings.signer) the signed bytes are in the database before they leave: killed at any instant,
-- the next run sends the same bytes or finds out what became of them, before it draws anything new. With the node's key
-- a crash between sending and writing loses the row, not the node's transaction.
-- While providers are waited for, nothing in the database is locked; see collect.sql.

PRAGMA busy_timeout = 5000;

-- A refusal is a message from RAISE, which takes only a literal and only inside a trigger.
DROP TABLE IF EXISTS temp.refusal;
CREATE TEMP TABLE refusal (reason);
CREATE TEMP TRIGGER refuse BEFORE INSERT ON refusal WHEN NEW.reason IS NOT 2
BEGIN
  SELECT CASE NEW.reason
    WHEN 'none' THEN RAISE(ABORT, 'no rpcroute tables in this database: run sql/schema.sql first')
    WHEN 1 THEN RAISE(ABORT, 'this database is of schema_version 1: run sql/migrate_1_to_2.sql first')
    WHEN 'settings' THEN RAISE(ABORT, 'rpc_settings lacks probe_n, max_spend_gwei_per_day or signer; sql/schema.sql puts missing rows back')
    WHEN 'providers' THEN RAISE(ABORT, 'rpc_providers has no enabled row on an EVM test chain (rpc_settings.probe_chain, when that is set): probe transactions are not sent on a mainnet')
    WHEN 'chains' THEN RAISE(ABORT, 'several test chains have enabled providers: say which in rpc_settings.probe_chain')
    ELSE RAISE(ABORT, 'the schema_version of this database is unknown here: a newer rpcroute made it, use the scripts of that one') END;
END;
INSERT INTO refusal SELECT 'none' WHERE NOT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE name = 'rpc_settings');
INSERT INTO refusal VALUES ((SELECT value FROM main.rpc_settings WHERE key = 'schema_version'));

DROP TABLE IF EXISTS temp.setting;
CREATE TEMP TABLE setting AS
SELECT max(value) FILTER (WHERE key = 'probe_n') AS probe_n,
       max(value) FILTER (WHERE key = 'probe_chain') AS probe_chain,
       max(value) FILTER (WHERE key = 'signer') AS signer,
       max(value) FILTER (WHERE key = 'max_spend_gwei_per_day') AS max_spend_gwei_per_day
  FROM main.rpc_settings;
INSERT INTO refusal
SELECT 'settings' FROM setting WHERE probe_n IS NULL OR signer IS NULL OR max_spend_gwei_per_day IS NULL;

-- The chain, and the gas money left: what the last 24 hours cost, a transaction of unknown cost counted as the dearest.
DROP TABLE IF EXISTS temp.plan;
CREATE TEMP TABLE plan AS
WITH spent AS (
  SELECT state, gas_used * effective_gas_price AS wei FROM main.tx_outcomes
   WHERE timestamp > (julianday('now', '-1 day') - 2440587.5) * 86400)
SELECT DISTINCT p.chain, s.probe_n, s.signer,
       max(0.0, s.max_spend_gwei_per_day - (
         SELECT coalesce(sum(CASE WHEN state <> 'rejected' THEN coalesce(wei, (SELECT max(wei) FROM spent)) END), 0) / 1e9
           FROM spent)) AS max_spend_gwei
  FROM setting s
  JOIN main.rpc_chains c ON c.kind = 'evm' AND c.is_mainnet = 0 AND c.chain = coalesce(s.probe_chain, c.chain)
  JOIN main.rpc_providers p ON p.chain = c.chain AND p.enabled = 1;
INSERT INTO refusal SELECT 'providers' WHERE NOT EXISTS (SELECT 1 FROM plan);
INSERT INTO refusal SELECT 'chains' FROM plan GROUP BY true HAVING count(*) > 1;

-- What sending reads, out of the way of other writers. An interrupted run may have left its copies.
DROP TABLE IF EXISTS temp.rpc_settings;
DROP TABLE IF EXISTS temp.rpc_chains;
DROP TABLE IF EXISTS temp.rpc_providers;
DROP TABLE IF EXISTS temp.probe;
DROP TABLE IF EXISTS temp.sender;
DROP TABLE IF EXISTS temp.waiter;
CREATE TEMP TABLE rpc_settings AS SELECT * FROM main.rpc_settings;
CREATE TEMP TABLE rpc_chains AS SELECT * FROM main.rpc_chains;
CREATE TEMP TABLE rpc_providers AS
SELECT * FROM main.rpc_providers WHERE enabled = 1 AND chain = (SELECT chain FROM plan);
CREATE VIRTUAL TABLE temp.probe USING tx_probe;
CREATE VIRTUAL TABLE temp.sender USING tx_send;
CREATE VIRTUAL TABLE temp.waiter USING tx_wait;

-- What an earlier run left unresolved comes first, and nothing new is drawn while there is such: a later nonce would wait
-- for the earlier one.
DROP TABLE IF EXISTS temp.turn;
CREATE TEMP TABLE turn AS
SELECT chain, probe_n, signer, max_spend_gwei FROM plan
 WHERE NOT EXISTS (SELECT 1 FROM main.tx_outcomes t
                    WHERE t.chain = plan.chain AND t.state IN ('prepared', 'pending') AND t.tx_hash IS NOT NULL);

-- Drawn, numbered and signed with a key of ours, and written down before anything leaves. The node prepares nothing: it
-- signs when it sends, so that signer 'node', or 'auto' without a key in the environment, gives no rows here.
DROP TABLE IF EXISTS temp.prepared;
CREATE TEMP TABLE prepared AS SELECT * FROM temp.probe WHERE false;
INSERT INTO temp.prepared
SELECT * FROM temp.probe
 WHERE chain IN (SELECT chain FROM turn WHERE signer <> 'node') AND send = 0 AND n = (SELECT probe_n FROM plan)
   AND signer = (SELECT signer FROM plan) AND max_spend_gwei = (SELECT max_spend_gwei FROM plan);
INSERT INTO main.tx_outcomes (timestamp, provider_id, chain, region, tx_hash, raw, nonce, propensity, state, error_class,
                              error)
SELECT timestamp, provider_id, chain, region, tx_hash, raw, nonce, propensity, state, error_class, error
  FROM temp.prepared
 ORDER BY nonce;

-- Signed and sent by the node, one after another until their receipts.
DROP TABLE IF EXISTS temp.sent;
CREATE TEMP TABLE sent AS SELECT * FROM temp.probe WHERE false;
INSERT INTO temp.sent
SELECT * FROM temp.probe
 WHERE chain IN (SELECT chain FROM turn WHERE signer = 'node' OR signer = 'auto' AND NOT EXISTS (SELECT 1 FROM prepared))
   AND n = (SELECT probe_n FROM plan) AND signer = 'node' AND max_spend_gwei = (SELECT max_spend_gwei FROM plan);
INSERT INTO main.tx_outcomes (timestamp, provider_id, chain, region, tx_hash, raw, nonce, overlap, propensity, state,
                              status, duration_sec, own_receipt_sec, duration_source, submit_ms, submit_head,
                              block_number, block_timestamp, blocks_waited, gas_used, effective_gas_price, error_class,
                              error)
SELECT timestamp, provider_id, chain, region, tx_hash, raw, nonce, coalesce(overlap, 0), propensity, state, status,
       duration_sec, own_receipt_sec, duration_source, submit_ms, submit_head, block_number, block_timestamp,
       blocks_waited, gas_used, effective_gas_price, error_class, error
  FROM temp.sent
 ORDER BY timestamp;

-- Whatever is unresolved now, each on its way and through before the next one leaves. Bytes that are out already are looked
-- up rather than sent again; those without bytes (the node's) can only be waited for.
DROP TABLE IF EXISTS temp.unresolved;
CREATE TEMP TABLE unresolved AS
SELECT tx_id, raw IS NOT NULL AS sendable,
       json_array(json_object('provider_id', provider_id, 'tx_hash', tx_hash, 'raw', raw, 'timestamp', timestamp)) AS what
  FROM main.tx_outcomes
 WHERE chain = (SELECT chain FROM plan) AND state IN ('prepared', 'pending') AND tx_hash IS NOT NULL
 ORDER BY nonce, tx_id;
DROP TABLE IF EXISTS temp.outcome;
CREATE TEMP TABLE outcome (
  tx_id INTEGER PRIMARY KEY, raw TEXT, timestamp REAL, overlap INTEGER, state TEXT, status INTEGER, duration_sec REAL,
  own_receipt_sec REAL, duration_source TEXT, submit_ms REAL, submit_head INTEGER, block_number INTEGER,
  block_timestamp INTEGER, blocks_waited INTEGER, gas_used INTEGER, effective_gas_price INTEGER, error_class TEXT,
  error TEXT);
INSERT INTO temp.outcome
SELECT u.tx_id, iif(w.tx_hash IS NULL, s.raw, w.raw) AS raw, coalesce(w.timestamp, s.timestamp) AS timestamp,
       coalesce(w.overlap, s.overlap) AS overlap, coalesce(w.state, s.state) AS state, w.status, w.duration_sec,
       w.own_receipt_sec, w.duration_source, coalesce(w.submit_ms, s.submit_ms) AS submit_ms,
       coalesce(w.submit_head, s.submit_head) AS submit_head, w.block_number, w.block_timestamp, w.blocks_waited,
       w.gas_used, w.effective_gas_price, iif(w.tx_hash IS NULL, s.error_class, w.error_class) AS error_class,
       iif(w.tx_hash IS NULL, s.error, w.error) AS error
  FROM temp.unresolved u
 CROSS JOIN temp.sender s
  LEFT JOIN temp.waiter w
    ON w.transactions = CASE s.state WHEN 'pending' THEN json_array(json_object(
         'provider_id', s.provider_id, 'tx_hash', s.tx_hash, 'raw', s.raw, 'timestamp', s.timestamp)) ELSE '[]' END
 WHERE u.sendable AND s.transactions = u.what;
INSERT INTO temp.outcome
SELECT u.tx_id, w.raw, w.timestamp, w.overlap, w.state, w.status, w.duration_sec, w.own_receipt_sec, w.duration_source,
       w.submit_ms, w.submit_head, w.block_number, w.block_timestamp, w.blocks_waited, w.gas_used, w.effective_gas_price,
       w.error_class, w.error
  FROM temp.unresolved u CROSS JOIN temp.waiter w
 WHERE NOT u.sendable AND w.transactions = u.what;

DROP TABLE temp.waiter;
DROP TABLE temp.sender;
DROP TABLE temp.probe;
DROP TABLE temp.rpc_providers;
DROP TABLE temp.rpc_chains;
DROP TABLE temp.rpc_settings;

-- What became of them, in one statement. What only the run that sent it knew (its propensity, the moment it left) stays
-- when another one resolves it.
UPDATE main.tx_outcomes
   SET raw = o.raw, timestamp = coalesce(o.timestamp, tx_outcomes.timestamp),
       overlap = coalesce(o.overlap, tx_outcomes.overlap), state = o.state, status = o.status,
       duration_sec = o.duration_sec, own_receipt_sec = o.own_receipt_sec, duration_source = o.duration_source,
       submit_ms = coalesce(o.submit_ms, tx_outcomes.submit_ms),
       submit_head = coalesce(o.submit_head, tx_outcomes.submit_head), block_number = o.block_number,
       block_timestamp = o.block_timestamp, blocks_waited = o.blocks_waited, gas_used = o.gas_used,
       effective_gas_price = o.effective_gas_price, error_class = o.error_class, error = o.error
  FROM temp.outcome o
 WHERE o.tx_id = tx_outcomes.tx_id AND tx_outcomes.state IN ('prepared', 'pending');

DROP TABLE temp.outcome;
DROP TABLE temp.unresolved;
DROP TABLE temp.sent;
DROP TABLE temp.prepared;
DROP TABLE temp.turn;
DROP TABLE temp.plan;
DROP TABLE temp.setting;
DROP TABLE temp.refusal;
