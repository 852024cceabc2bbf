-- Sends probe transactions, probe_n of them one after another, and keeps what became of each in tx_outcomes.
--
--   sqlite3 -bail -cmd '.load ./rpcroute' rpc.db < sql/probe_tx.sql
--
-- It spends gas, on one test chain (rpc_settings.probe_chain): never more than max_spend_gwei_per_day in a day.
-- With a key of ours (rpc_settings.signer) the signed bytes are in the database before they leave: killed at any instant,
-- the next run sends the same bytes or finds out what became of them, before it draws anything new. With the node's key
-- a crash between sending and writing loses the rows of the step that was under way, not the node's transactions.
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

-- The chain.
DROP TABLE IF EXISTS temp.plan;
CREATE TEMP TABLE plan AS
SELECT DISTINCT p.chain, s.probe_n, s.signer
  FROM setting s
  JOIN main.rpc_chains c ON c.kind = 'evm' AND c.is_mainnet = 0 AND c.chain = coalesce(s.probe_chain, c.chain)
  JOIN main.rpc_providers p ON p.chain = c.chain AND p.enabled = 1;
INSERT INTO refusal SELECT 'providers' WHERE NOT EXISTS (SELECT 1 FROM plan);
INSERT INTO refusal SELECT 'chains' FROM plan GROUP BY true HAVING count(*) > 1;

-- What sending reads, out of the way of other writers. An interrupted run may have left its copies.
DROP TABLE IF EXISTS temp.rpc_settings;
DROP TABLE IF EXISTS temp.rpc_chains;
DROP TABLE IF EXISTS temp.rpc_providers;
DROP TABLE IF EXISTS temp.question;
DROP TABLE IF EXISTS temp.probe;
DROP TABLE IF EXISTS temp.sender;
DROP TABLE IF EXISTS temp.waiter;
CREATE TEMP TABLE rpc_settings AS SELECT * FROM main.rpc_settings;
CREATE TEMP TABLE rpc_chains AS SELECT * FROM main.rpc_chains;
CREATE TEMP TABLE rpc_providers AS
SELECT * FROM main.rpc_providers WHERE enabled = 1 AND chain = (SELECT chain FROM plan);
CREATE VIRTUAL TABLE temp.question USING rpc_call;
CREATE VIRTUAL TABLE temp.probe USING tx_probe;
CREATE VIRTUAL TABLE temp.sender USING tx_send;
CREATE VIRTUAL TABLE temp.waiter USING tx_wait;

-- What an earlier run left unresolved comes first, and nothing new is drawn while there is such: a later nonce would wait
-- for the earlier one.
DROP TABLE IF EXISTS temp.turn;
CREATE TEMP TABLE turn AS
SELECT chain, probe_n, signer FROM plan
 WHERE (SELECT count(*) FROM refusal WHERE reason IS 2) = 1 AND (SELECT count(*) FROM plan) = 1  -- not only with -bail
   AND NOT EXISTS (SELECT 1 FROM main.tx_outcomes t
                    WHERE t.chain = plan.chain AND t.state IN ('prepared', 'pending') AND t.tx_hash IS NOT NULL);

-- What the day's money is counted up to: the chain's own time, as half of its providers have it at least, wherever our
-- clock is ahead of it. A clock that jumps a day would open the purse again.
DROP TABLE IF EXISTS temp.latest;
CREATE TEMP TABLE latest (timestamp TEXT);
INSERT INTO temp.latest
SELECT result ->> '$.timestamp' FROM temp.question
 WHERE provider_id IN (SELECT p.provider_id FROM temp.rpc_providers p JOIN turn t ON t.chain = p.chain)
   AND method = 'eth_getBlockByNumber' AND params = '["latest",false]' AND ok = 1;
DROP TABLE IF EXISTS temp.clock;
CREATE TEMP TABLE clock AS
SELECT min(wall, coalesce(chain, wall)) AS now
  FROM (SELECT (julianday('now') - 2440587.5) * 86400 AS wall,
               (SELECT median(block_lag('0x0', timestamp)) FROM latest
                 WHERE timestamp GLOB '0x[0-9a-fA-F]*' AND timestamp NOT GLOB '0x*[^0-9a-fA-F]*'
                   AND length(timestamp) <= 17) AS chain);

-- The money left. A transaction counts as its receipt says; until there is one, and where there never was, as the most
-- it can cost; where that is not known either, as the dearest that is known of, or as all there is. It counts for a day,
-- and while it is unresolved.
DROP VIEW IF EXISTS temp.purse;
CREATE TEMP VIEW purse AS
WITH cost AS (
  SELECT state, max(timestamp, min(coalesce(block_timestamp, timestamp), c.now)) AS moment,
         iif(gas_used > 0 AND effective_gas_price > 0, gas_used * effective_gas_price / 1e9, max_cost_gwei) AS gwei,
         max_cost_gwei
    FROM main.tx_outcomes CROSS JOIN clock c)
SELECT max(0.0, s.max_spend_gwei_per_day - (
         SELECT total(coalesce(gwei, max_cost_gwei,
                               (SELECT max(gwei) FROM (SELECT gwei FROM cost UNION ALL SELECT max_cost_gwei FROM cost)),
                               s.max_spend_gwei_per_day))
           FROM cost
          WHERE state <> 'rejected' AND (state IN ('prepared', 'pending') OR moment > c.now - 86400))) AS gwei
  FROM setting s CROSS JOIN clock c;

-- Drawn, numbered and signed with a key of ours, and written down before anything leaves. The node prepares nothing: it
-- signs when it sends, so that signer 'node', or 'auto' without a key in the environment, gives no rows here.
DROP TABLE IF EXISTS temp.budget;
CREATE TEMP TABLE budget AS SELECT gwei FROM purse;
DROP TABLE IF EXISTS temp.prepared;
CREATE TEMP TABLE prepared AS  -- where this fails, so does what comes behind it: it is not the node's turn then
SELECT * FROM temp.probe
 WHERE chain IN (SELECT chain FROM turn WHERE signer <> 'node') AND send = 0 AND n = (SELECT probe_n FROM plan)
   AND signer = (SELECT signer FROM plan) AND max_spend_gwei = (SELECT gwei FROM budget);
INSERT INTO main.tx_outcomes (timestamp, provider_id, chain, region, tx_hash, raw, nonce, propensity, state, error_class,
                              error, max_cost_gwei)
SELECT timestamp, provider_id, chain, region, tx_hash, raw, nonce, propensity, state, error_class, error, max_cost_gwei
  FROM temp.prepared
 ORDER BY nonce;

-- Whatever is unresolved now. Bytes that are out already are looked up rather than sent again; those without bytes (the
-- node's) can only be waited for.
DROP TABLE IF EXISTS temp.unresolved;
CREATE TEMP TABLE unresolved (place INTEGER PRIMARY KEY, tx_id INTEGER, sendable INTEGER, what TEXT);
INSERT INTO unresolved (tx_id, sendable, what)
SELECT tx_id, raw IS NOT NULL AND state = 'prepared',  -- what is pending has left
       json_array(json_object('provider_id', provider_id, 'tx_hash', tx_hash, 'raw', raw, 'timestamp', timestamp))
  FROM main.tx_outcomes
 WHERE chain = (SELECT chain FROM plan) AND state IN ('prepared', 'pending') AND tx_hash IS NOT NULL
   AND (SELECT count(*) FROM refusal WHERE reason IS 2) = 1
 ORDER BY nonce, tx_id;

-- How far this run is: `done` of its `all_of` transactions, in steps of `size`. Without anything unresolved and without
-- anything prepared it is the node's turn to sign.
DROP TABLE IF EXISTS temp.progress;
CREATE TEMP TABLE progress AS
SELECT 0 AS done, 1 AS size, n.node, iif(n.node, p.probe_n, (SELECT count(*) FROM unresolved)) AS all_of
  FROM plan p
 CROSS JOIN (SELECT EXISTS (SELECT 1 FROM turn
                             WHERE signer = 'node' OR signer = 'auto' AND NOT EXISTS (SELECT 1 FROM prepared)) AS node) n;

-- A step: the next `size` transactions, each on its way and through before the next one leaves. What comes goes into a
-- TEMP table, so that nothing in the database is locked meanwhile.
DROP TABLE IF EXISTS temp.outcome;
CREATE TEMP TABLE outcome AS SELECT CAST(NULL AS INTEGER) AS tx_id, * FROM temp.probe WHERE false;
DROP TABLE IF EXISTS temp.step;
CREATE TEMP TABLE step (taken);
CREATE TEMP TRIGGER take_step AFTER INSERT ON step
BEGIN
  -- Drawn, signed and sent by the node. Who was left out of the draw is told once.
  INSERT INTO outcome
  SELECT NULL, * FROM temp.probe
   WHERE chain IN (SELECT t.chain FROM turn t JOIN progress p ON p.node AND p.done < p.all_of)
     AND n = (SELECT max(1, min(size, all_of - done)) FROM progress)
     AND signer = 'node' AND max_spend_gwei = (SELECT gwei FROM budget)
     AND (propensity IS NOT NULL OR (SELECT done FROM progress) = 0);
  -- Sent by us, or by an earlier run.
  INSERT INTO outcome (tx_id, raw, timestamp, overlap, state, status, duration_sec, own_receipt_sec, duration_source,
                       submit_ms, submit_head, block_number, block_timestamp, blocks_waited, gas_used,
                       effective_gas_price, error_class, error, preconfirmed_sec, max_cost_gwei)
  SELECT u.tx_id, iif(w.tx_hash IS NULL, s.raw, w.raw), coalesce(w.timestamp, s.timestamp),
         coalesce(w.overlap, s.overlap), coalesce(w.state, s.state), w.status, coalesce(w.duration_sec, s.duration_sec),
         w.own_receipt_sec,
         w.duration_source, coalesce(w.submit_ms, s.submit_ms), coalesce(w.submit_head, s.submit_head), w.block_number,
         w.block_timestamp, w.blocks_waited, w.gas_used, w.effective_gas_price,
         iif(w.tx_hash IS NULL, s.error_class, w.error_class), iif(w.tx_hash IS NULL, s.error, w.error),
         coalesce(w.preconfirmed_sec, s.preconfirmed_sec), coalesce(w.max_cost_gwei, s.max_cost_gwei)
    FROM progress p
   CROSS JOIN unresolved u
    LEFT JOIN temp.sender s ON s.transactions = iif(u.sendable, u.what, '[]')
    LEFT JOIN temp.waiter w
      ON w.transactions = CASE WHEN NOT u.sendable THEN u.what
                               WHEN s.state = 'pending' THEN json_array(json_object(
                                 'provider_id', s.provider_id, 'tx_hash', s.tx_hash, 'raw', s.raw,
                                 'timestamp', s.timestamp))
                               ELSE '[]' END
   WHERE NOT p.node AND u.place BETWEEN p.done + 1 AND p.done + p.size
     AND coalesce(w.state, s.state) IS NOT NULL;
END;

-- What became of them is written in one statement. What only the run that sent it knew (its propensity, the moment it
-- left) stays when another one resolves it. Where the node draws no one any more, the run is over.
DROP TABLE IF EXISTS temp.kept;
CREATE TEMP TABLE kept (taken);
CREATE TEMP TRIGGER keep_step AFTER INSERT ON kept
BEGIN
  INSERT INTO tx_outcomes (timestamp, provider_id, chain, region, tx_hash, raw, nonce, overlap, propensity, state, status,
                           duration_sec, own_receipt_sec, duration_source, submit_ms, submit_head, block_number,
                           block_timestamp, blocks_waited, gas_used, effective_gas_price, error_class, error,
                           preconfirmed_sec, max_cost_gwei)
  SELECT timestamp, provider_id, chain, region, tx_hash, raw, nonce, coalesce(overlap, 0), propensity, state, status,
         duration_sec, own_receipt_sec, duration_source, submit_ms, submit_head, block_number, block_timestamp,
         blocks_waited, gas_used, effective_gas_price, error_class, error, preconfirmed_sec, max_cost_gwei
    FROM outcome
   WHERE tx_id IS NULL
   ORDER BY timestamp;
  UPDATE tx_outcomes
     SET raw = o.raw, timestamp = coalesce(o.timestamp, tx_outcomes.timestamp),
         overlap = coalesce(o.overlap, tx_outcomes.overlap), state = o.state, status = o.status,
         duration_sec = o.duration_sec, own_receipt_sec = o.own_receipt_sec, duration_source = o.duration_source,
         submit_ms = coalesce(o.submit_ms, tx_outcomes.submit_ms),
         submit_head = coalesce(o.submit_head, tx_outcomes.submit_head), block_number = o.block_number,
         block_timestamp = o.block_timestamp, blocks_waited = o.blocks_waited, gas_used = o.gas_used,
         effective_gas_price = o.effective_gas_price, error_class = o.error_class, error = o.error,
         preconfirmed_sec = coalesce(o.preconfirmed_sec, tx_outcomes.preconfirmed_sec),
         max_cost_gwei = coalesce(o.max_cost_gwei, tx_outcomes.max_cost_gwei)
    FROM outcome o
   WHERE o.tx_id = tx_outcomes.tx_id AND tx_outcomes.state IN ('prepared', 'pending');
  UPDATE progress
     SET all_of = iif(node AND NOT EXISTS (SELECT 1 FROM outcome WHERE propensity IS NOT NULL), 0, all_of),
         done = done + size, size = 1 + (done + size) / 4;
  DELETE FROM outcome;
  UPDATE budget SET gwei = (SELECT gwei FROM purse) WHERE (SELECT node AND done < all_of FROM progress);
END;

-- A statement that fails, or is interrupted, is taken back whole: the durations it knew are lost, and the next run finds
-- out the rest. So there are many steps, each of one transaction and a quarter of those before it; plain SQL has no loop.
-- The last one takes whatever is left of a run of a hundred or more.
INSERT INTO temp.step VALUES (1); INSERT INTO temp.kept VALUES (1);
INSERT INTO temp.step VALUES (1); INSERT INTO temp.kept VALUES (1);
INSERT INTO temp.step VALUES (1); INSERT INTO temp.kept VALUES (1);
INSERT INTO temp.step VALUES (1); INSERT INTO temp.kept VALUES (1);
INSERT INTO temp.step VALUES (1); INSERT INTO temp.kept VALUES (1);
INSERT INTO temp.step VALUES (1); INSERT INTO temp.kept VALUES (1);
INSERT INTO temp.step VALUES (1); INSERT INTO temp.kept VALUES (1);
INSERT INTO temp.step VALUES (1); INSERT INTO temp.kept VALUES (1);
INSERT INTO temp.step VALUES (1); INSERT INTO temp.kept VALUES (1);
INSERT INTO temp.step VALUES (1); INSERT INTO temp.kept VALUES (1);
INSERT INTO temp.step VALUES (1); INSERT INTO temp.kept VALUES (1);
INSERT INTO temp.step VALUES (1); INSERT INTO temp.kept VALUES (1);
INSERT INTO temp.step VALUES (1); INSERT INTO temp.kept VALUES (1);
INSERT INTO temp.step VALUES (1); INSERT INTO temp.kept VALUES (1);
INSERT INTO temp.step VALUES (1); INSERT INTO temp.kept VALUES (1);
INSERT INTO temp.step VALUES (1); INSERT INTO temp.kept VALUES (1);
UPDATE temp.progress SET size = max(1, all_of - done);
INSERT INTO temp.step VALUES (1); INSERT INTO temp.kept VALUES (1);

DROP TABLE temp.kept;
DROP TABLE temp.step;
DROP TABLE temp.outcome;
DROP TABLE temp.progress;
DROP TABLE temp.unresolved;
DROP TABLE temp.prepared;
DROP TABLE temp.budget;
DROP VIEW temp.purse;
DROP TABLE temp.clock;
DROP TABLE temp.latest;
DROP TABLE temp.turn;
DROP TABLE temp.waiter;
DROP TABLE temp.sender;
DROP TABLE temp.probe;
DROP TABLE temp.question;
DROP TABLE temp.rpc_providers;
DROP TABLE temp.rpc_chains;
DROP TABLE temp.rpc_settings;
DROP TABLE temp.plan;
DROP TABLE temp.setting;
DROP TABLE temp.refusal;
