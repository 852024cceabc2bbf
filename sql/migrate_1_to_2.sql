-- Makes a database of schema_version 1 one of version 2. Then run sql/schema.sql, which makes what is altogether new.
--
--   sqlite3 -bail rpc.db < sql/migrate_1_to_2.sql && sqlite3 -bail rpc.db < sql/schema.sql
--
-- Plain SQL for SQLite 3.38 or later, without the extension; like schema.sql it prints the busy timeout and the journal
-- mode it set. Every row stays, and whatever else the file holds; a database of version 2 is left as it is. All is one
-- transaction: killed at any instant, the database is whole, of the one version or of the other. What CREATE … IF NOT
-- EXISTS would not replace is changed here, the rest is schema.sql's: a table gets its new columns, a view or trigger
-- that is not what it was would be dropped.
-- New in version 2: tx_outcomes.preconfirmed_sec and max_cost_gwei, NULL in the rows of version 1, rpc_chains.genesis_hash
-- and stale_head_sec, and what judging writes into rpc_metrics: the next script that needs states judges all rows once.

PRAGMA busy_timeout = 5000;

-- A refusal is a message from RAISE, which takes only a literal and only inside a trigger.
DROP TABLE IF EXISTS temp.refusal;
CREATE TEMP TABLE refusal (reason);
CREATE TEMP TRIGGER refuse BEFORE INSERT ON refusal WHEN NEW.reason IS NOT 2
BEGIN
  SELECT CASE NEW.reason
    WHEN 'none' THEN RAISE(ABORT, 'no rpcroute tables in this database: run sql/schema.sql, there is nothing to migrate')
    WHEN 1 THEN RAISE(ABORT, 'schema_version is still 1: a database in memory cannot be migrated, VACUUM INTO a file first')
    ELSE RAISE(ABORT, 'the schema_version of this database is unknown here: a newer rpcroute made it, use the scripts of that one') END;
END;
INSERT INTO refusal
SELECT 'none' WHERE (SELECT count(*) FROM main.sqlite_schema WHERE name IN ('rpc_settings', 'tx_outcomes')) < 2;
INSERT INTO refusal
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
   AND NOT EXISTS (SELECT head, lag_raw, lag_credit, lag, lag_sec, exclusion, samples, known_at
                     FROM migrating.rpc_metrics WHERE false);

COMMIT;

DETACH migrating;

INSERT INTO refusal VALUES ((SELECT value FROM main.rpc_settings WHERE key = 'schema_version'));
DROP TABLE temp.refusal;
