"""The scripts of sql/ as guests in somebody's connection: stopped anywhere they hide, drop and change nothing of the
host's; what they make is read by every SQLite, also by one that trusts no schema."""

import contextlib
import os
import sqlite3
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "clients"))
import pipeline_test  # noqa: E402
from support import ROOT, CountingServer  # noqa: E402

SCRIPTS = sorted(path.stem for path in (ROOT / "sql").glob("*.sql") if path.stem != "export")
HOSTS_OWN = ("setting", "refusal", "refuse", "poll", "polled", "answer", "state", "judge", "decision", "plan", "step")


def statements(name):
    """The statements of a script, one by one."""
    statement = ""
    for line in (ROOT / "sql" / f"{name}.sql").read_text().splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    assert all(line.startswith("--") or not line.strip() for line in statement.splitlines()), statement


class Guests(pipeline_test.Pipeline):
    def setUp(self):
        super().setUp()
        self.server = CountingServer()
        self.addCleanup(self.server.close)
        self.history(120)
        self.rows("UPDATE rpc_providers SET url = ?", self.server.url)
        self.rows("INSERT INTO route_targets (chain, policy) VALUES ('ethereum-sepolia', 'smart')")
        self.run_script("align", "train")

    def temporary(self):
        return {name for name, in self.rows("SELECT name FROM temp.sqlite_schema WHERE name NOT LIKE 'sqlite_%'")}

    def test_a_script_stopped_anywhere_hides_nothing_and_runs_again(self):
        for name in SCRIPTS:
            with self.subTest(name):
                for statement in statements(name):
                    with contextlib.suppress(sqlite3.Error):  # what refuses leaves a script half-way, too
                        self.rows(statement)
                    self.assertEqual([made for made in self.temporary() if not made.startswith("rpcroute_")], [], statement)
                    if self.database.in_transaction:
                        continue
                    self.rows("INSERT INTO rpc_metrics (timestamp, provider_id) VALUES (1, 'host')")
                    self.assertEqual(self.value("SELECT count(*) FROM main.rpc_metrics WHERE provider_id = 'host'"), 1)
                    self.rows("DELETE FROM rpc_metrics WHERE provider_id = 'host'")
                self.assertEqual(self.temporary(), set())
                for half in (1, 2, 3):
                    for statement in list(statements(name))[:-half]:
                        with contextlib.suppress(sqlite3.Error):
                            self.rows(statement)
                    with contextlib.suppress(sqlite3.OperationalError):
                        self.rows("ROLLBACK")
                    with contextlib.suppress(sqlite3.IntegrityError, sqlite3.OperationalError):
                        self.run_script(name)
                    for made in self.temporary():
                        self.assertTrue(made.startswith("rpcroute_"), made)

    def test_the_hosts_own_temporary_tables_and_its_patience_stay(self):
        for name in HOSTS_OWN:
            self.rows(f"CREATE TEMP TABLE {name} (hosts)")
            self.rows(f"INSERT INTO temp.{name} VALUES ('own')")
        self.rows("PRAGMA busy_timeout = 1234")
        for name in SCRIPTS:
            with self.subTest(name):
                with contextlib.suppress(sqlite3.IntegrityError):  # probe_tx finds nobody to send to
                    self.database.executescript(pipeline_test.script(name))
                for own in HOSTS_OWN:
                    self.assertEqual(self.rows(f"SELECT * FROM temp.{own}"), [("own",)], own)
                self.assertEqual(self.value("PRAGMA busy_timeout"), 1234)

    def test_without_trust_in_the_schema_everything_is_read_and_every_script_runs(self):
        self.database.close()
        self.database = self.connect()
        self.rows("PRAGMA trusted_schema = OFF")
        for name in ("schema", "collect", "align", "train", "evaluate", "route", "route_stored"):
            with self.subTest(name):
                self.run_script(name)
        stock = sqlite3.connect(self.path)
        stock.execute("PRAGMA trusted_schema = OFF")
        for name, in stock.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')").fetchall():
            with self.subTest(name):
                stock.execute(f'SELECT * FROM "{name}"').fetchall()
        stock.execute("INSERT INTO rpc_models (model, content) SELECT 'imported', content FROM rpc_models WHERE active = 1")
        stock.execute("INSERT INTO route_decisions (timestamp, chain, workload, region, outcome, policy) "
                      "VALUES (1, 'c', 'w', 'r', 'ABSTAIN', 'p')")
        stock.close()

    def test_an_imported_model_routes_though_nobody_named_its_features(self):
        self.rows("INSERT INTO rpc_models (model, content) SELECT 'imported', content FROM rpc_models WHERE active = 1")
        self.rows("UPDATE rpc_models SET active = 1 WHERE model = 'imported'")
        self.run_script("route_stored")
        self.assertEqual(self.rows("SELECT model, reasons LIKE '%model_unusable%' FROM route_decisions"), [("imported", 0)])

    def test_schema_runs_again_whatever_columns_were_added(self):
        tables = self.rows("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        before = {name: self.value(f'SELECT count(*) FROM "{name}"') for name, in tables}
        for name in before:
            self.rows(f'ALTER TABLE "{name}" ADD COLUMN users_own')
        self.run_script("schema")
        self.assertEqual({name: self.value(f'SELECT count(*) FROM "{name}"') for name in before}, before)


if __name__ == "__main__":
    unittest.main()
