-- Asks every enabled provider for its height, all at once, and keeps what came: one round of rpc_metrics.
--
--   sqlite3 -bail -cmd '.timeout 5000' -cmd '.load ./rpcroute' rpc.db < sql/collect.sql
--
-- While providers are waited for, nothing in the database is locked: what polling reads is copied to TEMP tables, and
-- a TEMP virtual table polls by these copies into another; one statement writes.

-- A refusal is a message from RAISE, which takes only a literal and only inside a trigger.
DROP TABLE IF EXISTS temp.rpcroute_refusal;
CREATE TEMP TABLE rpcroute_refusal (reason);
CREATE TEMP TRIGGER rpcroute_refuse BEFORE INSERT ON rpcroute_refusal WHEN NEW.reason IS NOT 2
BEGIN
  SELECT CASE NEW.reason
    WHEN 'none' THEN RAISE(ABORT, 'no rpcroute tables in this database: run sql/schema.sql first')
    WHEN 1 THEN RAISE(ABORT, 'this database is of schema_version 1: run sql/migrate_1_to_2.sql first')
    WHEN 'providers' THEN RAISE(ABORT, 'rpc_providers has no enabled row: INSERT your endpoints first, as in examples/providers.sql')
    ELSE RAISE(ABORT, 'the schema_version of this database is unknown here: a newer rpcroute made it, use the scripts of that one') END;
END;
INSERT INTO temp.rpcroute_refusal SELECT 'none' WHERE NOT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE name = 'rpc_settings');
INSERT INTO temp.rpcroute_refusal VALUES ((SELECT value FROM main.rpc_settings WHERE key = 'schema_version'));
INSERT INTO temp.rpcroute_refusal SELECT 'providers' WHERE NOT EXISTS (SELECT 1 FROM main.rpc_providers WHERE enabled = 1);

-- What polling reads, out of the way of other writers. An interrupted run may have left its copies.
DROP TABLE IF EXISTS temp.rpcroute_settings;
DROP TABLE IF EXISTS temp.rpcroute_chains;
DROP TABLE IF EXISTS temp.rpcroute_providers;
DROP TABLE IF EXISTS temp.rpcroute_poll;
DROP TABLE IF EXISTS temp.rpcroute_polled;
CREATE TEMP TABLE rpcroute_settings AS SELECT * FROM main.rpc_settings;
CREATE TEMP TABLE rpcroute_chains AS SELECT * FROM main.rpc_chains;
CREATE TEMP TABLE rpcroute_providers AS SELECT * FROM main.rpc_providers WHERE enabled = 1;

-- What to ask: heights, and where somebody was not asked for identity_sec who he is, that too, of all in the same round.
DROP TABLE IF EXISTS temp.rpcroute_asked;
CREATE TEMP TABLE rpcroute_asked AS
SELECT DISTINCT height_method AS method FROM temp.rpcroute_chains
 UNION ALL
SELECT question.column1 FROM (VALUES ('eth_chainId'), ('eth_getBlockByNumber'), ('getGenesisHash')) question
 WHERE EXISTS (
       SELECT 1
         FROM (SELECT (julianday('now') - 2440587.5) * 86400 AS now,
                      (SELECT value FROM temp.rpcroute_settings WHERE key = 'identity_sec') AS identity_sec)
        CROSS JOIN temp.rpcroute_providers p
        WHERE NOT EXISTS (SELECT 1 FROM main.rpc_identity i
                           WHERE i.provider_id = p.provider_id AND i.timestamp BETWEEN now - identity_sec AND now));

-- The poll: as long as the slowest answer, timeout_ms at most. CREATE TABLE … AS SELECT would lock the database meanwhile.
CREATE VIRTUAL TABLE temp.rpcroute_poll USING rpc_probe(copies);
CREATE TEMP TABLE rpcroute_polled AS SELECT * FROM temp.rpcroute_poll WHERE false;
INSERT INTO temp.rpcroute_polled
SELECT * FROM temp.rpcroute_poll
 WHERE method IN (SELECT method FROM temp.rpcroute_asked);

DROP TABLE temp.rpcroute_poll;
DROP TABLE temp.rpcroute_asked;
DROP TABLE temp.rpcroute_providers;
DROP TABLE temp.rpcroute_chains;
DROP TABLE temp.rpcroute_settings;

-- One INSERT takes the write lock, draws the round's number and writes: whole or not at all, and two collectors never
-- draw the same number. block_lag stays 0; alignment computes the lag that counts.
INSERT INTO main.rpc_metrics (cycle_id, timestamp, provider_id, chain, region, method, sample, ok, latency_ms, setup_ms,
                              total_ms, first_message_ms, block_number, block_lag, http_status, error_class, error_kind,
                              error, retry_after_sec, response_bytes)
SELECT (SELECT coalesce(max(cycle_id), 0) + 1 FROM main.rpc_metrics), timestamp, provider_id, chain, region, method,
       sample, ok, latency_ms, setup_ms, total_ms, first_message_ms, block_number, 0, http_status, error_class,
       error_kind, error, retry_after_sec, response_bytes
  FROM temp.rpcroute_polled
 WHERE method NOT IN ('eth_chainId', 'eth_getBlockByNumber', 'getGenesisHash')
 ORDER BY timestamp;

-- One row for each who was asked who he is. What he failed in first of all is another chain.
INSERT INTO main.rpc_identity (timestamp, provider_id, chain, region, ok, chain_id, genesis_hash, block_number,
                               head_timestamp, error_class, error_kind, error)
SELECT max(timestamp), provider_id, chain, region, min(ok), max(chain_id), max(genesis_hash), max(block_number),
       max(block_timestamp), max(error_class) FILTER (WHERE place = 1), max(error_kind) FILTER (WHERE place = 1),
       max(error) FILTER (WHERE place = 1)
  FROM (SELECT *, row_number() OVER (PARTITION BY provider_id ORDER BY ok, error_kind IS NOT 'wrong_chain', method) AS place
          FROM temp.rpcroute_polled WHERE method IN ('eth_chainId', 'eth_getBlockByNumber', 'getGenesisHash'))
 GROUP BY provider_id;

DROP TABLE temp.rpcroute_polled;
DROP TABLE temp.rpcroute_refusal;
