#!/usr/bin/env python3
"""sql/migrate_1_to_2.sql: a database that version 1's own scripts filled becomes what version 2 makes anew."""
import contextlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

from support import ROOT, load, script

from devnet import Devnet

OLD = (ROOT / "tests" / "clients" / "fixtures" / "version_1.sql").read_text()
MIGRATION = (ROOT / "sql" / "migrate_1_to_2.sql").read_text()
SCHEMA = (ROOT / "sql" / "schema.sql").read_text()
CHAIN_ID = 700000001  # of the fixture
USERS_OWN = {"campaign", "my_setting", "my_notes", "my_view", "my_index"}


def normal(sql):
    """Without comments, which a table keeps as it was made with them, and without differences in white space."""
    return re.sub(r"\s*([(),])\s*", r"\1", " ".join(re.sub(r"--.*", "", sql).split()))


def statements(sql):
    """One by one."""
    held = ""
    for line in sql.splitlines(keepends=True):
        held += line
        if sqlite3.complete_statement(held):
            yield held
            held = ""


class Migration(unittest.TestCase):
    """Each test has a directory for its databases."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def open(self, path):
        database = sqlite3.connect(path, isolation_level=None)
        self.addCleanup(database.close)
        return database

    def made(self, name, sql, mode="wal"):
        database = self.open(os.path.join(self.directory, name))
        database.executescript(sql)
        database.execute(f"PRAGMA journal_mode = {mode}").fetchall()
        return database

    def rows(self, database, sql):
        return database.execute(sql).fetchall()

    def schema(self, database):
        return {(kind, name): normal(sql) for kind, name, sql in self.rows(
            database, "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL")}

    def tables(self, database):
        return [name for name, in self.rows(database, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")]

    def content(self, database):
        """All rows, by the names of their columns."""
        found = {}
        for table in self.tables(database):
            cursor = database.execute(f"SELECT rowid, * FROM {table} ORDER BY 1" if table != "policy_choices" and
                                      table != "routing_states" else f"SELECT * FROM {table}")
            names = [column[0] for column in cursor.description]
            found[table] = [dict(zip(names, row)) for row in cursor]
        return found

    def version(self, database):
        return self.rows(database, "SELECT value FROM rpc_settings WHERE key = 'schema_version'")[0][0]

    def test_every_row_stays_and_the_rest_is_what_a_new_database_has(self):
        new = self.made("new.db", SCHEMA)
        for mode in ("wal", "delete"):
            with self.subTest(mode):
                old = self.made(f"{mode}.db", OLD, mode)
                before = self.content(old)
                old.executescript(MIGRATION)
                after = self.content(old)
                self.assertEqual(self.version(old), 2)
                next(row for row in before["rpc_settings"] if row["key"] == "schema_version")["value"] = 2
                for row in before["tx_outcomes"]:
                    row.update(preconfirmed_sec=None, max_cost_gwei=None)
                self.assertEqual(len({row["genesis_hash"] for row in after["rpc_chains"] if row["kind"] == "solana"}), 3)
                stale = {row["chain"]: row["stale_head_sec"] for row in after["rpc_chains"]}
                self.assertEqual([stale[c] for c in ("ethereum-mainnet", "arbitrum-one", "devnet")], [600, 120, None])
                for row in after["rpc_chains"]:
                    del row["genesis_hash"], row["stale_head_sec"]
                for row in before["rpc_metrics"]:
                    row.update(dict.fromkeys(("head", "lag_raw", "lag_credit", "lag", "lag_sec", "exclusion", "samples",
                                              "known_at")))
                self.assertEqual(after, before)
                old.executescript(SCHEMA)
                found, wanted = self.schema(old), self.schema(new)
                results = {"training_set", "routing_states", "alignment_report", "evaluation", "split_leakage",
                           "routing_value", "policy_choices", "strategy_divergence", "provider_summary", "importance"}
                extra = {name for _, name in found.keys() - wanted.keys()}
                self.assertEqual(extra - results, USERS_OWN - {"campaign", "my_setting"})
                self.assertIn("campaign TEXT,", found["table", "tx_outcomes"])
                found["table", "tx_outcomes"] = found["table", "tx_outcomes"].replace("campaign TEXT,", "")
                self.assertEqual({name: found[name] for name in wanted}, wanted)
                meanings = "SELECT key, meaning FROM rpc_settings WHERE key <> 'my_setting' ORDER BY 1"
                self.assertEqual(self.rows(old, meanings), self.rows(new, meanings))
                self.assertEqual(len(self.rows(old, "SELECT * FROM my_view")), len(before["tx_outcomes"]))
                self.assertEqual(self.rows(old, "PRAGMA integrity_check"), [("ok",)])

    def test_running_it_again_changes_nothing_and_says_nothing(self):
        old = self.made("old.db", OLD)
        for before in (None, "migrated", "new"):
            database = self.made("new.db", SCHEMA, "delete") if before == "new" else old
            if before is None:
                database.executescript(MIGRATION)
            dump = list(database.iterdump())
            database.executescript(MIGRATION)
            self.assertEqual(list(database.iterdump()), dump)
            self.assertEqual(self.rows(database, "SELECT name FROM temp.sqlite_schema"), [])
            self.assertNotIn("migrating", [name for _, name, _ in self.rows(database, "PRAGMA database_list")])
        self.assertEqual(self.rows(database, "PRAGMA journal_mode"), [("delete",)])

    def test_no_or_another_version_is_refused_and_nothing_changes(self):
        for said, sql in (("sql/schema.sql", "SELECT 1"), ("sql/schema.sql", "CREATE TABLE rpc_settings (key, value)"),
                          ("newer rpcroute", SCHEMA + "UPDATE rpc_settings SET value = 3 WHERE key = 'schema_version'"),
                          ("schema_version", SCHEMA + "DELETE FROM rpc_settings WHERE key = 'schema_version'")):
            database = self.open(":memory:")
            database.executescript(sql)
            dump = list(database.iterdump())
            with self.assertRaisesRegex(sqlite3.Error, said):
                database.executescript(MIGRATION)
            self.assertFalse(database.in_transaction)
            self.assertEqual(list(database.iterdump()), dump)

    def test_a_database_in_memory_is_told_that_it_stays_what_it_was(self):
        database = self.open(":memory:")
        database.executescript(OLD)
        with self.assertRaisesRegex(sqlite3.Error, "still 1.*VACUUM INTO"):
            database.executescript(MIGRATION)
        self.assertEqual(self.version(database), 1)

    def test_killed_after_any_statement_it_is_whole_and_the_next_run_ends_it(self):
        parts = list(statements(MIGRATION))
        code = ("import os, sqlite3, sys; d = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
                "for s in sys.argv[2:]: d.execute(s).fetchall()\n"
                "os.kill(os.getpid(), 9)")
        versions = []
        for mode in ("wal", "delete"):
            for count in range(1, len(parts) + 1):
                with self.subTest(mode, statements=count):
                    path = os.path.join(self.directory, f"{mode}{count}.db")
                    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
                        database.executescript(OLD)
                        database.execute(f"PRAGMA journal_mode = {mode}").fetchall()
                        dump = list(database.iterdump())
                    killed = subprocess.run([sys.executable, "-c", code, path, *parts[:count]], check=False)
                    self.assertEqual(killed.returncode, -9)
                    database = self.open(path)
                    versions.append(self.version(database))
                    if versions[-1] == 1:
                        self.assertEqual(list(database.iterdump()), dump)
                    database.executescript(MIGRATION)
                    columns = [row[1] for row in self.rows(database, "PRAGMA table_info(tx_outcomes)")]
                    self.assertEqual((self.version(database), columns[-2:]), (2, ["preconfirmed_sec", "max_cost_gwei"]))
        self.assertEqual(set(versions), {1, 2})

    @unittest.skipUnless(shutil.which("sqlite3"), "the sqlite3 shell is not installed")
    def test_the_stock_shell_reads_it(self):
        path = os.path.join(self.directory, "shell.db")
        subprocess.run(["sqlite3", path], input=OLD, text=True, check=True)
        for sql in (MIGRATION, SCHEMA):
            ran = subprocess.run(["sqlite3", "-bail", path], input=sql, text=True, capture_output=True, check=False)
            self.assertEqual((ran.returncode, ran.stderr, ran.stdout), (0, "", "wal\n"))

    def test_another_writer_keeps_it_waiting_but_does_not_break_it(self):
        old = self.made("old.db", OLD)
        other = self.open(os.path.join(self.directory, "old.db"))
        other.execute("BEGIN IMMEDIATE")
        old.execute("PRAGMA busy_timeout = 50")
        with self.assertRaisesRegex(sqlite3.OperationalError, "locked"):
            old.executescript(MIGRATION)
        self.assertEqual(self.version(other), 1)
        other.execute("ROLLBACK")
        old.close()
        other.executescript(MIGRATION)
        self.assertEqual(self.version(other), 2)

    def test_every_script_runs_on_it(self):
        database = self.made("old.db", OLD)
        load(database)
        database.executescript(MIGRATION + SCHEMA)
        with Devnet(["a", "b", "c"], chain_id=CHAIN_ID, slot_ms=60, fund_all=True) as fleet, \
                unittest.mock.patch.dict(os.environ):
            os.environ.pop("RPCROUTE_KEY", None)
            for name, url in fleet.urls.items():
                database.execute("UPDATE rpc_providers SET url = ? WHERE provider_id = ?", (url, name))
            # The chain that the unresolved ones were sent on is gone.
            database.execute("UPDATE rpc_settings SET value = 1 WHERE key = 'tx_timeout_sec'")
            for name in ("collect", "probe_tx", "probe_tx", "align", "train", "evaluate", "route", "route_stored"):
                with self.subTest(name):
                    script(database, name)
        self.assertEqual(self.rows(database, "SELECT count(*) FROM tx_outcomes WHERE state IN ('prepared', 'pending')"),
                         [(0,)])
        self.assertEqual(self.rows(database, "SELECT sum(n) FROM alignment_report"),
                         self.rows(database, "SELECT count(*) FROM tx_outcomes"))
        self.assertEqual(self.rows(database, "SELECT outcome FROM route_decisions ORDER BY decision_id DESC LIMIT 2"),
                         [("READY",), ("READY",)])


if __name__ == "__main__":
    unittest.main()
