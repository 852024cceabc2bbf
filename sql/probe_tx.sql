-- Sends probe transactions, probe_n of them one after another, and keeps what became of each in tx_outcomes.
--
--   sqlite3 -bail -cmd '.timeout 5000' -cmd '.load ./rpcroute' rpc.db < sql/probe_tx.sql
--
-- It spends gas, on one test chain (rpc_settings.probe_chain): never more than max_spend_gwei_per_day in a day.
-- With a key of ours (rpc_settings.signer) the signed bytes are in the database before they leave: killed at any instant,
-- the next run sends the same bytes or finds out what became of them, before it draws anything new. With the node's key
-- a crash between sending and writing loses the rows of the step that was under way, not the node's transactions.
-- While providers are waited for, nothing in the database is locked; see collect.sql.

-- A refusal is a message from RAISE, which takes only a literal and only inside a trigger.
DROP TABLE IF EXISTS temp.rpcroute_refusal;
CREATE TEMP TABLE rpcroute_refusal (reason);
CREATE TEMP TRIGGER rpcroute_refuse BEFORE INSERT ON rpcroute_refusal WHEN NEW.reason IS NOT 2
BEGIN
  SELECT CASE NEW.reason
    WHEN 'none' THEN RAISE(ABORT, 'no rpcroute tables in this database: run sql/schema.sql first')
    WHEN 1 THEN RAISE(ABORT, 'this database is of schema_version 1: run sql/migrate_1_to_2.sql first')
    WHEN 'settings' THEN RAISE(ABORT, 'rpc_settings: probe_n and max_spend_gwei_per_day must be numbers of 0 or more, and signer must not be NULL; sql/schema.sql puts missing rows back')
    WHEN 'providers' THEN RAISE(ABORT, 'rpc_providers has no enabled row on an EVM test chain (rpc_settings.probe_chain, when that is set): probe transactions are not sent on a mainnet')
    WHEN 'chains' THEN RAISE(ABORT, 'several test chains have enabled providers: say which in rpc_settings.probe_chain')
    ELSE RAISE(ABORT, 'the schema_version of this database is unknown here: a newer rpcroute made it, use the scripts of that one') END;
END;
INSERT INTO temp.rpcroute_refusal SELECT 'none' WHERE NOT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE name = 'rpc_settings');
INSERT INTO temp.rpcroute_refusal VALUES ((SELECT value FROM main.rpc_settings WHERE key = 'schema_version'));

DROP TABLE IF EXISTS temp.rpcroute_setting;
CREATE TEMP TABLE rpcroute_setting AS
SELECT max(value) FILTER (WHERE key = 'probe_n') AS probe_n,
       max(value) FILTER (WHERE key = 'probe_chain') AS probe_chain,
       max(value) FILTER (WHERE key = 'signer') AS signer,
       max(value) FILTER (WHERE key = 'max_spend_gwei_per_day') AS max_spend_gwei_per_day
  FROM main.rpc_settings;
INSERT INTO temp.rpcroute_refusal
SELECT 'settings' FROM temp.rpcroute_setting
 WHERE signer IS NULL OR typeof(probe_n) NOT IN ('integer', 'real') OR probe_n < 0
    OR typeof(max_spend_gwei_per_day) NOT IN ('integer', 'real') OR max_spend_gwei_per_day < 0;

-- The chain.
DROP TABLE IF EXISTS temp.rpcroute_plan;
CREATE TEMP TABLE rpcroute_plan AS
SELECT DISTINCT p.chain, s.probe_n, s.signer
  FROM temp.rpcroute_setting s
  JOIN main.rpc_chains c ON c.kind = 'evm' AND c.is_mainnet = 0 AND c.chain = coalesce(s.probe_chain, c.chain)
  JOIN main.rpc_providers p ON p.chain = c.chain AND p.enabled = 1;
INSERT INTO temp.rpcroute_refusal SELECT 'providers' WHERE NOT EXISTS (SELECT 1 FROM temp.rpcroute_plan);
INSERT INTO temp.rpcroute_refusal SELECT 'chains' FROM temp.rpcroute_plan GROUP BY true HAVING count(*) > 1;

-- What sending reads, out of the way of other writers. An interrupted run may have left its copies.
DROP TABLE IF EXISTS temp.rpcroute_settings;
DROP TABLE IF EXISTS temp.rpcroute_chains;
DROP TABLE IF EXISTS temp.rpcroute_providers;
DROP TABLE IF EXISTS temp.rpcroute_question;
DROP TABLE IF EXISTS temp.rpcroute_probe;
DROP TABLE IF EXISTS temp.rpcroute_sender;
DROP TABLE IF EXISTS temp.rpcroute_waiter;
CREATE TEMP TABLE rpcroute_settings AS SELECT * FROM main.rpc_settings;
CREATE TEMP TABLE rpcroute_chains AS SELECT * FROM main.rpc_chains;
CREATE TEMP TABLE rpcroute_providers AS
SELECT * FROM main.rpc_providers WHERE enabled = 1 AND chain = (SELECT chain FROM temp.rpcroute_plan);
CREATE VIRTUAL TABLE temp.rpcroute_question USING rpc_call(copies);
CREATE VIRTUAL TABLE temp.rpcroute_probe USING tx_probe(copies);
CREATE VIRTUAL TABLE temp.rpcroute_sender USING tx_send(copies);
CREATE VIRTUAL TABLE temp.rpcroute_waiter USING tx_wait(copies);

-- Whatever is not resolved and can be looked up: a hash that is none, in an imported row, stops nobody. It is named there.
DROP VIEW IF EXISTS temp.rpcroute_open;
CREATE TEMP VIEW rpcroute_open AS
SELECT tx_id, provider_id, tx_hash, iif(raw GLOB '0x*' AND substr(raw, 3) NOT GLOB '*[^0-9a-fA-F]*', raw, NULL) AS raw,
       nonce, iif(typeof(timestamp) IN ('integer', 'real'), timestamp, NULL) AS timestamp, state
  FROM main.tx_outcomes
 WHERE chain = (SELECT chain FROM temp.rpcroute_plan) AND state IN ('prepared', 'pending')
   AND typeof(tx_hash) = 'text' AND length(tx_hash) = 66 AND tx_hash GLOB '0x*'
   AND substr(tx_hash, 3) NOT GLOB '*[^0-9a-fA-F]*';
UPDATE main.tx_outcomes SET error_class = 'config', error = 'tx_hash is no hash: nobody can be asked for it'
 WHERE chain = (SELECT chain FROM temp.rpcroute_plan) AND state IN ('prepared', 'pending') AND tx_hash IS NOT NULL
   AND error IS NULL AND tx_id NOT IN (SELECT tx_id FROM temp.rpcroute_open);

-- What an earlier run left unresolved comes first, and nothing new is drawn while there is such: a later nonce would wait
-- for the earlier one.
DROP TABLE IF EXISTS temp.rpcroute_turn;
CREATE TEMP TABLE rpcroute_turn AS
SELECT chain, probe_n, signer FROM temp.rpcroute_plan
 WHERE (SELECT count(*) FROM temp.rpcroute_refusal WHERE reason IS 2) = 1  -- not only with -bail
   AND (SELECT count(*) FROM temp.rpcroute_plan) = 1
   AND NOT EXISTS (SELECT 1 FROM temp.rpcroute_open);

-- What the day's money is counted up to: the chain's own time, as half of its providers have it at least, wherever our
-- clock is ahead of it. A clock that jumps a day would open the purse again.
DROP TABLE IF EXISTS temp.rpcroute_latest;
CREATE TEMP TABLE rpcroute_latest (timestamp TEXT);
INSERT INTO temp.rpcroute_latest
SELECT result ->> '$.timestamp' FROM temp.rpcroute_question
 WHERE provider_id IN (SELECT p.provider_id FROM temp.rpcroute_providers p JOIN temp.rpcroute_turn t ON t.chain = p.chain)
   AND method = 'eth_getBlockByNumber' AND params = '["latest",false]' AND ok = 1;
DROP TABLE IF EXISTS temp.rpcroute_clock;
CREATE TEMP TABLE rpcroute_clock AS
SELECT min(wall, coalesce(chain, wall)) AS now
  FROM (SELECT (julianday('now') - 2440587.5) * 86400 AS wall,
               (SELECT median(block_lag('0x0', timestamp)) FROM temp.rpcroute_latest
                 WHERE timestamp GLOB '0x[0-9a-fA-F]*' AND timestamp NOT GLOB '0x*[^0-9a-fA-F]*'
                   AND length(timestamp) <= 17) AS chain);

-- The money left. A transaction counts as its receipt says, but for no more than it can cost; until there is a receipt,
-- and where there never was, as the most it can cost; where that is not known either, or is no number, as the dearest
-- that is known of, or as all there is. It counts for a day, and while it is unresolved.
DROP VIEW IF EXISTS temp.rpcroute_purse;
CREATE TEMP VIEW rpcroute_purse AS
WITH cost AS (
  SELECT state, max(timestamp, min(coalesce(block_timestamp, timestamp), c.now)) AS moment,
         coalesce(min(receipt_gwei, most_gwei), receipt_gwei, most_gwei) AS gwei, most_gwei
    FROM (SELECT state, timestamp, block_timestamp,
                 iif(typeof(gas_used) = 'integer' AND gas_used > 0
                     AND typeof(effective_gas_price) = 'integer' AND effective_gas_price > 0,
                     1.0 * gas_used * effective_gas_price / 1e9, NULL) AS receipt_gwei,
                 iif(typeof(max_cost_gwei) IN ('integer', 'real'), max_cost_gwei, NULL) AS most_gwei
            FROM main.tx_outcomes)
   CROSS JOIN temp.rpcroute_clock c)
SELECT max(0.0, s.max_spend_gwei_per_day - (
         SELECT total(coalesce(gwei, (SELECT max(gwei) FROM (SELECT gwei FROM cost UNION ALL SELECT most_gwei FROM cost)),
                               s.max_spend_gwei_per_day))
           FROM cost
          WHERE state <> 'rejected' AND (state IN ('prepared', 'pending') OR moment > c.now - 86400))) AS gwei
  FROM temp.rpcroute_setting s CROSS JOIN temp.rpcroute_clock c;

-- Drawn, numbered and signed with a key of ours, and written down before anything leaves. The node prepares nothing: it
-- signs when it sends, so that signer 'node', or 'auto' without a key in the environment, gives no rows here.
DROP TABLE IF EXISTS temp.rpcroute_budget;
CREATE TEMP TABLE rpcroute_budget AS SELECT gwei FROM temp.rpcroute_purse;
DROP TABLE IF EXISTS temp.rpcroute_prepared;
CREATE TEMP TABLE rpcroute_prepared AS  -- where this fails, so does what comes behind it: it is not the node's turn then
SELECT * FROM temp.rpcroute_probe
 WHERE chain IN (SELECT chain FROM temp.rpcroute_turn WHERE signer <> 'node') AND send = 0
   AND n = (SELECT probe_n FROM temp.rpcroute_plan)
   AND signer = (SELECT signer FROM temp.rpcroute_plan) AND max_spend_gwei = (SELECT gwei FROM temp.rpcroute_budget);
-- Written down is what the purse still holds: the other run of two at once may have taken from it meanwhile.
INSERT INTO main.tx_outcomes (timestamp, provider_id, chain, region, tx_hash, raw, nonce, propensity, state, error_class,
                              error, max_cost_gwei)
SELECT timestamp, provider_id, chain, region, tx_hash, raw, nonce, propensity, state, error_class, error, max_cost_gwei
  FROM (SELECT *, total(max_cost_gwei) OVER (ORDER BY nonce) AS gwei_so_far FROM temp.rpcroute_prepared)
 WHERE gwei_so_far <= (SELECT gwei FROM temp.rpcroute_purse)
 ORDER BY nonce;

-- Whatever is unresolved now. Bytes that are out already are looked up rather than sent again; those without bytes (the
-- node's) can only be waited for.
DROP TABLE IF EXISTS temp.rpcroute_unresolved;
CREATE TEMP TABLE rpcroute_unresolved (place INTEGER PRIMARY KEY, tx_id INTEGER, sendable INTEGER, what TEXT);
INSERT INTO temp.rpcroute_unresolved (tx_id, sendable, what)
SELECT tx_id, raw IS NOT NULL AND state = 'prepared',  -- what is pending has left
       json_array(json_object('provider_id', provider_id, 'tx_hash', tx_hash, 'raw', raw, 'timestamp', timestamp))
  FROM temp.rpcroute_open
 WHERE (SELECT count(*) FROM temp.rpcroute_refusal WHERE reason IS 2) = 1
 ORDER BY nonce, tx_id;

-- How far this run is: `done` of its `all_of` transactions, in steps of `size`. Without anything unresolved and without
-- anything prepared it is the node's turn to sign.
DROP TABLE IF EXISTS temp.rpcroute_progress;
CREATE TEMP TABLE rpcroute_progress AS
SELECT 0 AS done, 1 AS size, n.node, iif(n.node, p.probe_n, (SELECT count(*) FROM temp.rpcroute_unresolved)) AS all_of
  FROM temp.rpcroute_plan p
 CROSS JOIN (SELECT EXISTS (SELECT 1 FROM temp.rpcroute_turn
                             WHERE signer = 'node' OR signer = 'auto'
                               AND NOT EXISTS (SELECT 1 FROM temp.rpcroute_prepared)) AS node) n;

-- A step: the next `size` transactions, each on its way and through before the next one leaves. What comes goes into a
-- TEMP table, so that nothing in the database is locked meanwhile.
DROP TABLE IF EXISTS temp.rpcroute_outcome;
CREATE TEMP TABLE rpcroute_outcome AS SELECT CAST(NULL AS INTEGER) AS tx_id, * FROM temp.rpcroute_probe WHERE false;
DROP TABLE IF EXISTS temp.rpcroute_step;
CREATE TEMP TABLE rpcroute_step (taken);
CREATE TEMP TRIGGER rpcroute_take_step AFTER INSERT ON rpcroute_step
BEGIN
  -- Drawn, signed and sent by the node. Who was left out of the draw is told once.
  INSERT INTO rpcroute_outcome
  SELECT NULL, * FROM temp.rpcroute_probe
   WHERE chain IN (SELECT t.chain FROM temp.rpcroute_turn t JOIN temp.rpcroute_progress p ON p.node AND p.done < p.all_of)
     AND n = (SELECT max(1, min(size, all_of - done)) FROM temp.rpcroute_progress)
     AND signer = 'node' AND max_spend_gwei = (SELECT gwei FROM temp.rpcroute_budget)
     AND (propensity IS NOT NULL OR (SELECT done FROM temp.rpcroute_progress) = 0);
  -- Sent by us, or by an earlier run.
  INSERT INTO rpcroute_outcome (tx_id, raw, timestamp, overlap, state, status, duration_sec, own_receipt_sec,
                                duration_source, submit_ms, submit_head, block_number, block_timestamp, blocks_waited, gas_used,
                       effective_gas_price, error_class, error, preconfirmed_sec, max_cost_gwei)
  SELECT u.tx_id, iif(w.tx_hash IS NULL, s.raw, w.raw), coalesce(w.timestamp, s.timestamp),
         coalesce(w.overlap, s.overlap), coalesce(w.state, s.state), w.status, coalesce(w.duration_sec, s.duration_sec),
         w.own_receipt_sec,
         w.duration_source, coalesce(w.submit_ms, s.submit_ms), coalesce(w.submit_head, s.submit_head), w.block_number,
         w.block_timestamp, w.blocks_waited, w.gas_used, w.effective_gas_price,
         iif(w.tx_hash IS NULL, s.error_class, w.error_class), iif(w.tx_hash IS NULL, s.error, w.error),
         coalesce(w.preconfirmed_sec, s.preconfirmed_sec), coalesce(w.max_cost_gwei, s.max_cost_gwei)
    FROM temp.rpcroute_progress p
   CROSS JOIN temp.rpcroute_unresolved u
    LEFT JOIN temp.rpcroute_sender s ON s.transactions = iif(u.sendable, u.what, '[]')
    LEFT JOIN temp.rpcroute_waiter w
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
DROP TABLE IF EXISTS temp.rpcroute_kept;
CREATE TEMP TABLE rpcroute_kept (taken);
CREATE TEMP TRIGGER rpcroute_keep_step AFTER INSERT ON rpcroute_kept
BEGIN
  INSERT INTO tx_outcomes (timestamp, provider_id, chain, region, tx_hash, raw, nonce, overlap, propensity, state, status,
                           duration_sec, own_receipt_sec, duration_source, submit_ms, submit_head, block_number,
                           block_timestamp, blocks_waited, gas_used, effective_gas_price, error_class, error,
                           preconfirmed_sec, max_cost_gwei)
  SELECT timestamp, provider_id, chain, region, tx_hash, raw, nonce, coalesce(overlap, 0), propensity, state, status,
         duration_sec, own_receipt_sec, duration_source, submit_ms, submit_head, block_number, block_timestamp,
         blocks_waited, gas_used, effective_gas_price, error_class, error, preconfirmed_sec, max_cost_gwei
    FROM temp.rpcroute_outcome
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
    FROM temp.rpcroute_outcome o
   WHERE o.tx_id = tx_outcomes.tx_id AND tx_outcomes.state IN ('prepared', 'pending');
  UPDATE rpcroute_progress
     SET all_of = iif(node AND NOT EXISTS (SELECT 1 FROM temp.rpcroute_outcome WHERE propensity IS NOT NULL), 0, all_of),
         done = done + size, size = 1 + (done + size) / 4;
  DELETE FROM rpcroute_outcome;
  UPDATE rpcroute_budget SET gwei = (SELECT gwei FROM temp.rpcroute_purse)
   WHERE (SELECT node AND done < all_of FROM temp.rpcroute_progress);
END;

-- A statement that fails, or is interrupted, is taken back whole: the durations it knew are lost, and the next run finds
-- out the rest. So there are many steps, each of one transaction and a quarter of those before it; plain SQL has no loop.
-- The last one takes whatever is left of a run of a hundred or more.
INSERT INTO temp.rpcroute_step VALUES (1); INSERT INTO temp.rpcroute_kept VALUES (1);
INSERT INTO temp.rpcroute_step VALUES (1); INSERT INTO temp.rpcroute_kept VALUES (1);
INSERT INTO temp.rpcroute_step VALUES (1); INSERT INTO temp.rpcroute_kept VALUES (1);
INSERT INTO temp.rpcroute_step VALUES (1); INSERT INTO temp.rpcroute_kept VALUES (1);
INSERT INTO temp.rpcroute_step VALUES (1); INSERT INTO temp.rpcroute_kept VALUES (1);
INSERT INTO temp.rpcroute_step VALUES (1); INSERT INTO temp.rpcroute_kept VALUES (1);
INSERT INTO temp.rpcroute_step VALUES (1); INSERT INTO temp.rpcroute_kept VALUES (1);
INSERT INTO temp.rpcroute_step VALUES (1); INSERT INTO temp.rpcroute_kept VALUES (1);
INSERT INTO temp.rpcroute_step VALUES (1); INSERT INTO temp.rpcroute_kept VALUES (1);
INSERT INTO temp.rpcroute_step VALUES (1); INSERT INTO temp.rpcroute_kept VALUES (1);
INSERT INTO temp.rpcroute_step VALUES (1); INSERT INTO temp.rpcroute_kept VALUES (1);
INSERT INTO temp.rpcroute_step VALUES (1); INSERT INTO temp.rpcroute_kept VALUES (1);
INSERT INTO temp.rpcroute_step VALUES (1); INSERT INTO temp.rpcroute_kept VALUES (1);
INSERT INTO temp.rpcroute_step VALUES (1); INSERT INTO temp.rpcroute_kept VALUES (1);
INSERT INTO temp.rpcroute_step VALUES (1); INSERT INTO temp.rpcroute_kept VALUES (1);
INSERT INTO temp.rpcroute_step VALUES (1); INSERT INTO temp.rpcroute_kept VALUES (1);
UPDATE temp.rpcroute_progress SET size = max(1, all_of - done);
INSERT INTO temp.rpcroute_step VALUES (1); INSERT INTO temp.rpcroute_kept VALUES (1);

DROP TABLE temp.rpcroute_kept;
DROP TABLE temp.rpcroute_step;
DROP TABLE temp.rpcroute_outcome;
DROP TABLE temp.rpcroute_progress;
DROP TABLE temp.rpcroute_unresolved;
DROP TABLE temp.rpcroute_prepared;
DROP TABLE temp.rpcroute_budget;
DROP VIEW temp.rpcroute_purse;
DROP VIEW temp.rpcroute_open;
DROP TABLE temp.rpcroute_clock;
DROP TABLE temp.rpcroute_latest;
DROP TABLE temp.rpcroute_turn;
DROP TABLE temp.rpcroute_waiter;
DROP TABLE temp.rpcroute_sender;
DROP TABLE temp.rpcroute_probe;
DROP TABLE temp.rpcroute_question;
DROP TABLE temp.rpcroute_providers;
DROP TABLE temp.rpcroute_chains;
DROP TABLE temp.rpcroute_settings;
DROP TABLE temp.rpcroute_plan;
DROP TABLE temp.rpcroute_setting;
DROP TABLE temp.rpcroute_refusal;
