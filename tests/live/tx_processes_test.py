"""Several processes send with one key at the same time: no number is used twice, none is left out."""

import collections
import contextlib
import json
import os
import sqlite3
import subprocess
import tempfile
import unittest

from devnet import Devnet, wait_for
from nodes import EXTENSION
from transactions import fleet_database, keys_in_environment, new_key, own_chain_id, reference

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sql", "probe_tx.sql")
PROCESSES = 4
PATIENCE_SEC = 120


class Processes(unittest.TestCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.fleet = self.stack.enter_context(Devnet(["a", "b", "c"], chain_id=own_chain_id(), slot_ms=100, fund_all=True))
        self.directory = self.stack.enter_context(tempfile.TemporaryDirectory())
        self.stack.enter_context(keys_in_environment(new_key()))

    def database(self, name, **settings):
        path = os.path.join(self.directory, name)
        fleet_database(self.fleet.urls, self.fleet.chain_id, path=path, **settings).close()
        return path

    def run_at_once(self, paths, sql):
        """The same statements in a shell for each database; what each printed."""
        shells = [subprocess.Popen(["sqlite3", "-bail", "-json", "-cmd", ".timeout 10000", "-cmd", f".load {EXTENSION}", path],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                  for path in paths]
        for shell in shells:  # all are up before the first one reads what to do
            shell.stdin.write(sql)
            shell.stdin.close()
            shell.stdin = None
        ends = [shell.communicate(timeout=PATIENCE_SEC) for shell in shells]
        self.assertEqual([errors for _, errors in ends], [""] * len(paths))
        return [output for output, _ in ends]

    def shell(self, path):
        """A shell to talk with."""
        shell = subprocess.Popen(["sqlite3", "-bail", "-json", "-cmd", f".load {EXTENSION}", path], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True, bufsize=1)
        self.addCleanup(shell.wait)
        self.addCleanup(shell.stdout.close)
        self.addCleanup(shell.stdin.close)
        self.addCleanup(shell.kill)
        return shell

    def ask(self, shell, sql):
        print(sql, file=shell.stdin, flush=True)

    def answer(self, shell):
        """The rows of a statement that gives one."""
        return json.loads(shell.stdout.readline())[0]

    def started_behind(self, shell):
        """Lets a second shell probe; it has asked for the account's count, and waits for the first shell."""
        self.fleet.control("/counts/reset", {})
        second = self.shell(self.database("second.db"))
        self.ask(second, "SELECT * FROM tx_probe;")
        wait_for(lambda: sum(count.get("eth_getTransactionCount", 0) for count in self.fleet.control("/counts").values()))
        self.fleet.mine(3)
        self.assertEqual(self.fleet.control("/truth/transactions"), [])
        return second

    def outcomes(self, path):
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.row_factory = sqlite3.Row
            return [dict(row) for row in database.execute("SELECT * FROM tx_outcomes")]

    def assert_numbers_are_whole(self, found):
        truth = self.fleet.control("/truth/transactions")
        self.assertEqual(sorted(t["nonce"] for t in truth), list(range(len(truth))))
        self.assertEqual({t["accepted"] for t in truth}, {True})
        self.assertEqual(collections.Counter(row["tx_hash"] for row in found),
                         collections.Counter(t["hash"] for t in truth))
        self.assertEqual({row["state"] for row in found}, {"confirmed"})
        numbers = {t["hash"]: (t["nonce"], t["block"]) for t in truth}
        self.assertEqual({row["tx_hash"]: (row["nonce"], row["block_number"]) for row in found}, numbers)

    def test_a_number_that_another_process_has_prepared_is_waited_for(self):
        first = self.shell(self.database("first.db"))
        self.ask(first, "SELECT * FROM tx_probe WHERE send = 0;")
        prepared = self.answer(first)
        second = self.started_behind(first)
        self.ask(first, f"SELECT * FROM tx_send('{reference(prepared)}');")
        self.assertEqual((self.answer(first)["state"], prepared["nonce"]), ("pending", 0))
        row = self.answer(second)
        self.assertEqual((row["state"], row["nonce"]), ("confirmed", 1))

    def test_a_number_whose_process_ends_is_used_by_the_next(self):
        first = self.shell(self.database("first.db"))
        self.ask(first, "SELECT * FROM tx_probe WHERE send = 0;")
        prepared = self.answer(first)
        second = self.started_behind(first)
        first.kill()
        row = self.answer(second)
        self.assertEqual((row["state"], row["nonce"], prepared["nonce"]), ("confirmed", 0, 0))

    def test_probes_of_different_processes_never_collide(self):
        paths = [self.database(f"{i}.db") for i in range(PROCESSES)]
        printed = self.run_at_once(paths, "SELECT * FROM tx_probe WHERE n = 10;")
        found = [row for output in printed for row in json.loads(output)]
        self.assertEqual(len(found), 10 * PROCESSES)
        self.assert_numbers_are_whole(found)
        # They were under way together, and each row tells so.
        self.assertGreater(max(row["overlap"] for row in found), 0)
        self.assertLess(max(row["overlap"] for row in found), PROCESSES)

    def test_scripts_with_databases_of_their_own_never_collide(self):
        paths = [self.database(f"{i}.db", probe_n=3) for i in range(PROCESSES)]
        with open(SCRIPT, encoding="utf-8") as script:
            self.run_at_once(paths, script.read())
        self.assert_numbers_are_whole([row for path in paths for row in self.outcomes(path)])

    def test_scripts_on_one_database_resolve_each_row_once(self):
        path = self.database("rpc.db", probe_n=3)
        with open(SCRIPT, encoding="utf-8") as script:
            self.run_at_once([path] * PROCESSES, script.read())
        found = self.outcomes(path)
        self.assertGreaterEqual(len(found), 3)
        self.assert_numbers_are_whole(found)


if __name__ == "__main__":
    unittest.main()
