-- Makes a database of schema_version 1 one of version 2. Then run sql/schema.sql, which makes what is altogether new.
--
--   cat sql/migrate_1_to_2.sql sql/schema.sql | sqlite3 -bail -cmd '.timeout 5000' rpc.db
--
-- Plain SQL for SQLite 3.38 or later, without the extension; like schema.sql it prints the journal mode that it set. Every
-- row stays, and whatever else the file holds; a database of version 2 is left as it is. All is one
-- transaction: killed at any instant, the database is whole, of the one version or of the other. What CREATE … IF NOT
-- EXISTS would not replace is changed here, the rest is schema.sql's: a table gets its new columns, a view or trigger
-- that is not what it was would be dropped.
-- New in version 2: tx_outcomes.preconfirmed_sec and max_cost_gwei, NULL in the rows of version 1, rpc_chains.genesis_hash
-- and stale_head_sec, and what judging writes into rpc_metrics: the next script that needs states judges all rows once.
-- Gone are JSON functions from CHECKs and triggers.

-- A refusal is a message from RAISE, which takes only a literal and only inside a trigger.
DROP TABLE IF EXISTS temp.rpcroute_refusal;
CREATE TEMP TABLE rpcroute_refusal (reason);
CREATE TEMP TRIGGER rpcroute_refuse BEFORE INSERT ON rpcroute_refusal WHEN NEW.reason IS NOT 2
BEGIN
  SELECT CASE NEW.reason
    WHEN 'none' THEN RAISE(ABORT, 'no rpcroute tables in this database: run sql/schema.sql, there is nothing to migrate')
    WHEN 1 THEN RAISE(ABORT, 'schema_version is still 1: a database in memory cannot be migrated, VACUUM INTO a file first')
    ELSE RAISE(ABORT, 'the schema_version of this database is unknown here: a newer rpcroute made it, use the scripts of that one') END;
END;
INSERT INTO temp.rpcroute_refusal
SELECT 'none' WHERE (SELECT count(*) FROM main.sqlite_schema WHERE name IN ('rpc_settings', 'tx_outcomes')) < 2;
INSERT INTO temp.rpcroute_refusal
SELECT value FROM (SELECT max(value) AS value FROM main.rpc_settings WHERE key = 'schema_version') WHERE value IS NOT 1;

-- ALTER TABLE knows no IF. So what it alters has a name of its own, which is this file once more where there is something
-- to do, and an empty database where there is not. The two handles must not wait for each other: from here on the first
-- is left alone, and the file is in WAL mode as schema.sql has it, since a check of the new columns reads through both.
ATTACH coalesce((SELECT d.file FROM main.rpc_settings s JOIN pragma_database_list d ON d.name = 'main'
                  WHERE s.key = 'schema_version' AND s.value = 1), ':memory:') AS migrating;
PRAGMA migrating.journal_mode = WAL;
CREATE TABLE IF NOT EXISTS migrating.rpc_settings (key, value);
CREATE TABLE IF NOT EXISTS migrating.tx_outcomes (tx_id);
CREATE TABLE IF NOT EXISTS migrating.rpc_chains (chain, block_time_ms);
CREATE TABLE IF NOT EXISTS migrating.rpc_metrics (metric_id);

BEGIN;

ALTER TABLE migrating.tx_outcomes ADD COLUMN preconfirmed_sec REAL CHECK (preconfirmed_sec >= 0);
ALTER TABLE migrating.tx_outcomes ADD COLUMN max_cost_gwei REAL CHECK (max_cost_gwei >= 0);
ALTER TABLE migrating.rpc_chains ADD COLUMN genesis_hash TEXT;
ALTER TABLE migrating.rpc_chains ADD COLUMN stale_head_sec REAL DEFAULT -1
      CHECK (stale_head_sec >= 0 OR stale_head_sec = -1);
UPDATE migrating.rpc_chains
   SET genesis_hash = CASE chain WHEN 'solana-mainnet' THEN '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d'
                                 WHEN 'solana-devnet' THEN 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG'
                                 WHEN 'solana-testnet' THEN '4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY' END,
       stale_head_sec = CASE WHEN chain <> 'devnet' THEN max(120, block_time_ms / 20.0) END;
DROP TRIGGER IF EXISTS migrating.rpc_models_new;
PRAGMA writable_schema = ON;  -- as SQLite's page about ALTER TABLE has it for a CHECK that is to go
UPDATE migrating.sqlite_schema
   SET sql = replace(replace(replace(replace(sql, ' CHECK (features IS NULL OR json_valid(features))', ''),
                                     ' CHECK (params IS NULL OR json_valid(params))', ''),
                             ' CHECK (metrics IS NULL OR json_valid(metrics))', ''),
                     ' CHECK (json_type(reasons) = ''array'')', '')
 WHERE type = 'table' AND name IN ('rpc_models', 'route_decisions');
PRAGMA writable_schema = OFF;
ALTER TABLE migrating.rpc_metrics ADD COLUMN head INTEGER;
ALTER TABLE migrating.rpc_metrics ADD COLUMN lag_raw INTEGER;
ALTER TABLE migrating.rpc_metrics ADD COLUMN lag_credit REAL;
ALTER TABLE migrating.rpc_metrics ADD COLUMN lag INTEGER;
ALTER TABLE migrating.rpc_metrics ADD COLUMN lag_sec REAL;
ALTER TABLE migrating.rpc_metrics ADD COLUMN exclusion TEXT;
ALTER TABLE migrating.rpc_metrics ADD COLUMN samples INTEGER;
ALTER TABLE migrating.rpc_metrics ADD COLUMN known_at REAL;
DROP INDEX IF EXISTS migrating.rpc_metrics_cycle;  -- part of rpc_metrics_round now
UPDATE migrating.rpc_settings SET value = 2  -- an error, even in a client that went on, where a column is missing
 WHERE key = 'schema_version'
   AND NOT EXISTS (SELECT preconfirmed_sec, max_cost_gwei FROM migrating.tx_outcomes WHERE false)
   AND NOT EXISTS (SELECT genesis_hash, stale_head_sec FROM migrating.rpc_chains WHERE false)
   AND NOT EXISTS (SELECT 1 FROM migrating.sqlite_schema WHERE sql LIKE '%json_valid%' AND name = 'rpc_models')
   AND NOT EXISTS (SELECT head, lag_raw, lag_credit, lag, lag_sec, exclusion, samples, known_at
                     FROM migrating.rpc_metrics WHERE false);

COMMIT;

DETACH migrating;

INSERT INTO temp.rpcroute_refusal VALUES ((SELECT value FROM main.rpc_settings WHERE key = 'schema_version'));
DROP TABLE temp.rpcroute_refusal;
