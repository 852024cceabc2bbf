"""sql/probe_tx.sql, killed at any moment and run again: nothing is lost, sent twice or left over."""

import collections
import contextlib
import os
import random
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest

from devnet import Devnet
from nodes import EXTENSION
from transactions import between, fleet_database, keys_in_environment, new_key, own_chain_id

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sql", "probe_tx.sql")
KILLS = 50 if os.environ.get("RPCROUTE_HEAVY") else 8
PATIENCE_SEC = 120


class Crash(unittest.TestCase):
    """Three providers of a devnet, and between them and us someone who may end the process at a given call."""

    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.fleet = self.stack.enter_context(Devnet(["a", "b", "c"], chain_id=own_chain_id(), slot_ms=120, fund_all=True))
        self.lock = threading.Lock()
        self.process, self.calls, self.last_call = None, 0, None
        urls = {name: self.stack.enter_context(between(
            url, seen=lambda *_: self.count("seen"), coming=lambda *_: self.count("coming")))
            for name, url in self.fleet.urls.items()}
        self.path = os.path.join(self.stack.enter_context(tempfile.TemporaryDirectory()), "rpc.db")
        fleet_database(urls, self.fleet.chain_id, path=self.path, probe_n=3).close()
        self.signer = self.stack.enter_context(keys_in_environment(new_key()))

    def count(self, _):
        with self.lock:
            self.calls += 1
            if self.calls == self.last_call:
                self.process.kill()

    def start(self, last_call=None):
        self.calls, self.last_call = 0, last_call
        with open(SCRIPT, "rb") as script:
            self.process = subprocess.Popen(["sqlite3", "-bail", "-cmd", f".load {EXTENSION}", self.path], stdin=script,
                                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        return self.process

    def finish(self):
        """Its exit status; not 0 when it was killed."""
        _, errors = self.process.communicate(timeout=PATIENCE_SEC)
        self.assertEqual(errors, "")
        return self.process.returncode

    def run_to_the_end(self):
        self.start()
        self.assertEqual(self.finish(), 0)

    def outcomes(self):
        with contextlib.closing(sqlite3.connect(self.path)) as database:
            database.row_factory = sqlite3.Row
            return [dict(row) for row in database.execute("SELECT * FROM tx_outcomes ORDER BY tx_id")]

    def assert_all_is_accounted_for(self):
        truth = self.fleet.control("/truth/transactions")
        taken = {t["hash"]: t for t in truth if t["accepted"]}
        self.assertEqual(len(taken), len(truth), "what was sent was taken")
        self.assertEqual(sorted(t["nonce"] for t in truth), list(range(len(truth))), "no number twice, none left out")
        for t in truth:
            self.assertEqual(sum(s["answer"] == "accepted" for s in t["submissions"]), 1)
        found = self.outcomes()
        self.assertEqual(collections.Counter(row["tx_hash"] for row in found), collections.Counter(list(taken)))
        for row in found:
            self.assert_row_is_true(row, taken[row["tx_hash"]])

    def assert_row_is_true(self, row, truth):
        self.assertEqual((row["state"], row["status"], row["raw"]), ("confirmed", 1, None))
        self.assertEqual((row["nonce"], row["block_number"], row["provider_id"]),
                         (truth["nonce"], truth["block"], truth["provider"]))
        self.assertAlmostEqual(row["propensity"], 1 / 3)
        self.assertEqual(row["block_timestamp"], int(truth["block_time"]))
        if row["duration_source"] == "receipt":
            # Whatever happened between, its clock started before the bytes came, and ended after the block.
            self.assertGreater(row["duration_sec"], truth["block_time"] - truth["arrived"] - 0.005)
        else:
            self.assertEqual((row["duration_source"], row["duration_sec"]), ("block", None))

    def test_killed_anywhere_the_next_run_makes_it_whole(self):
        begun = time.monotonic()
        self.run_to_the_end()
        calls, seconds = self.calls, time.monotonic() - begun
        self.assert_all_is_accounted_for()
        moments = random.Random(4)
        killed = 0
        for round_ in range(KILLS):
            with self.subTest(round_):
                # In turn at a moment of the clock and at a call, before or after the provider has seen it.
                if round_ % 2:
                    self.start(last_call=moments.randint(1, calls))
                else:
                    self.start()
                    time.sleep(moments.uniform(0, seconds))
                    self.process.kill()
                killed += self.finish() != 0
                self.run_to_the_end()
                self.assert_all_is_accounted_for()
        self.assertGreater(killed, KILLS / 2)
        self.assertIn("block", {row["duration_source"] for row in self.outcomes()})

    def test_killed_again_and_again_the_last_run_makes_it_whole(self):
        self.run_to_the_end()
        calls, moments = self.calls, random.Random(5)
        for _ in range(KILLS):
            self.start(last_call=moments.randint(1, calls))
            self.finish()
        self.run_to_the_end()
        self.assert_all_is_accounted_for()


if __name__ == "__main__":
    unittest.main()
