-- Judges the rounds of rpc_metrics that are not judged yet: the head, and how far behind it each provider was, at one
-- moment. Scripts that need that do it by themselves; this one is for who only wants to look.
--
--   sqlite3 -bail -cmd '.timeout 5000' rpc.db < sql/judge.sql
--
-- Plain SQL for SQLite 3.38 or later, without the extension; what judging is stands in schema.sql, at rpc_judging. All
-- over again, after a change of operators or limits:  UPDATE rpc_metrics SET known_at = NULL, exclusion = NULL,
-- samples = NULL;  DELETE FROM rpc_rounds;

-- A refusal is a message from RAISE, which takes only a literal and only inside a trigger.
DROP TABLE IF EXISTS temp.rpcroute_refusal;
CREATE TEMP TABLE rpcroute_refusal (reason);
CREATE TEMP TRIGGER rpcroute_refuse BEFORE INSERT ON rpcroute_refusal WHEN NEW.reason IS NOT 2
BEGIN
  SELECT CASE NEW.reason
    WHEN 'none' THEN RAISE(ABORT, 'no rpcroute tables in this database: run sql/schema.sql first')
    WHEN 1 THEN RAISE(ABORT, 'this database is of schema_version 1: run sql/migrate_1_to_2.sql first')
    ELSE RAISE(ABORT, 'the schema_version of this database is unknown here: a newer rpcroute made it, use the scripts of that one') END;
END;
INSERT INTO temp.rpcroute_refusal SELECT 'none' WHERE NOT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE name = 'rpc_settings');
INSERT INTO temp.rpcroute_refusal VALUES ((SELECT value FROM main.rpc_settings WHERE key = 'schema_version'));

INSERT INTO main.rpc_judging DEFAULT VALUES;

DROP TABLE temp.rpcroute_refusal;
