"""A fleet of simulated providers, watched for some seconds: what was measured is what was so. And while providers are
waited for, others can write."""

import os
import sys
import tempfile
import threading
import time
import unittest

from devnet import Devnet, wait_for
from nodes import connect, script

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "clients"))
from support import CountingServer  # noqa: E402

SLOT_MS = 500
WATCHED_SEC = 20
ROUNDS = 100  # at least, on however busy a machine

FLEET = [
    {"provider_id": "steady", "latency": {"median_ms": 15, "sigma": 0.3}},
    {"provider_id": "faulty", "latency": {"median_ms": 10, "sigma": 0.3}, "error_rate": 0.05},
    {"provider_id": "laggard", "latency": {"median_ms": 8, "sigma": 0.5},
     "lag": {"share": 0.5, "burst_slots": 4, "max": 4}},
    {"provider_id": "sometimes", "latency": {"median_ms": 25, "sigma": 0.3},
     "lag": {"share": 0.2, "burst_slots": 3, "max": 8}},
]

# What alignment does with a round: the head that another operator confirms, and how far each is from it.
MEASURED = """
SELECT m.cycle_id, m.provider_id, m.timestamp, m.block_number,
       block_lag(m.block_number, h.head, h.max_ahead)
  FROM rpc_metrics m
  JOIN (SELECT m.cycle_id, c.head_max_ahead AS max_ahead,
               chain_head(m.block_number, c.head_max_ahead, p.operator) AS head
          FROM rpc_metrics m JOIN rpc_providers p USING (provider_id) JOIN rpc_chains c ON c.chain = m.chain
         GROUP BY m.cycle_id) h USING (cycle_id)
 WHERE m.ok ORDER BY m.timestamp"""


def database_for(urls, path, chain_id):
    database = connect(path)
    script(database, "schema")
    database.execute("UPDATE rpc_chains SET chain_id = ?, block_time_ms = ?, head_max_ahead = NULL WHERE chain = 'devnet'",
                     (chain_id, SLOT_MS))
    database.executemany("INSERT INTO rpc_providers (provider_id, chain, url) VALUES (?, 'devnet', ?)", urls.items())
    return database


class Watched(unittest.TestCase):
    """One run for all: a collector and a prober side by side, then everything is compared with the fleet's own log."""

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        path = os.path.join(directory.name, "rpc.db")
        with Devnet(FLEET, slot_ms=SLOT_MS, seed=3) as fleet:
            cls.database = database_for(fleet.urls, path, fleet.chain_id)
            cls.addClassCleanup(cls.database.close)
            cls.database.execute("UPDATE rpc_settings SET value = 'node' WHERE key = 'signer'")
            done = threading.Event()
            prober = threading.Thread(target=cls.probe, args=(path, done))
            prober.start()
            until = time.monotonic() + WATCHED_SEC
            rounds = 0
            while time.monotonic() < until or rounds < ROUNDS:
                script(cls.database, "collect")
                rounds += 1
            done.set()
            prober.join()
            cls.by_provider = {}
            for line in fleet.control("/truth/heights"):
                if line["method"] == "eth_blockNumber":
                    cls.by_provider.setdefault(line["provider"], []).append(line)
            cls.transactions = {line["hash"]: line for line in fleet.control("/truth/transactions")}
            cls.blocks = cls.blocks_of(fleet)

    @staticmethod
    def probe(path, done):
        database = connect(path)
        while not done.is_set():
            script(database, "probe_tx")
        database.close()

    @classmethod
    def blocks_of(cls, fleet):
        """{hash: height} as the chain itself tells it, read block by block."""
        found = {}
        for number in {line["block"] for line in cls.transactions.values() if line["block"]}:
            block = fleet.call("steady", "eth_getBlockByNumber", hex(number), False)
            found.update({tx_hash: number for tx_hash in block["transactions"]})
        return found

    def truth_of(self, provider, timestamp, height):
        """The fleet's line about this answer: of those with this height, the one nearest in time."""
        return min((line for line in self.by_provider[provider] if line["reported"] == height),
                   key=lambda line: abs(line["answered"] - timestamp))

    def test_measured_lag_is_the_logged_lag(self):
        """The lag at a moment of the round: when a block lands between two of its requests, before it or after."""
        rounds = {}
        for cycle, provider, timestamp, height, lag in self.database.execute(MEASURED):
            rounds.setdefault(cycle, []).append((lag, self.truth_of(provider, timestamp, height)))
        measured = [(lag, truth["view"], {other["head"] for _, other in together})
                    for together in rounds.values() for lag, truth in together]
        agree = sum(lag in {head - view for head in heads} for lag, view, heads in measured)
        self.assertGreaterEqual(agree / len(measured), 0.99, f"{agree} of {len(measured)}")
        lagging = sum(view < max(heads) for _, view, heads in measured)
        self.assertGreater(lagging, len(measured) / 20, "there was something to measure")

    def test_every_transaction_was_included_where_the_chain_has_it(self):
        rows = self.database.execute("SELECT tx_hash, provider_id, state, block_number, blocks_waited FROM tx_outcomes "
                                     "WHERE tx_hash IS NOT NULL").fetchall()
        self.assertGreaterEqual(len(rows), 4)
        self.assertEqual({state for _, _, state, *_ in rows}, {"confirmed"})
        for tx_hash, provider, _, block, waited in rows:
            truth = self.transactions[tx_hash]
            self.assertEqual((provider, block), (truth["provider"], truth["block"]))
            self.assertEqual(block, self.blocks[tx_hash])
            self.assertGreater(waited, 0)
        self.assertEqual({row[0] for row in rows}, set(self.transactions), "sent and not recorded")

    def test_failed_observations_are_rows_too(self):
        classes = {error_class for error_class, in self.database.execute(
            "SELECT DISTINCT error_class FROM rpc_metrics WHERE NOT ok AND provider_id = 'faulty'")}
        self.assertLessEqual(classes, {"http", "connect"})
        self.assertTrue(classes)
        self.assertEqual(self.database.execute("SELECT count(*) FROM rpc_metrics GROUP BY cycle_id HAVING count(*) <> 4")
                         .fetchall(), [])


class SecondWriter(unittest.TestCase):
    """While a provider keeps a script waiting, another connection writes at once."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = os.path.join(directory.name, "rpc.db")
        self.server = CountingServer()
        self.addCleanup(self.server.close)

    def database(self, journal):
        database = database_for({"held": self.server.url, "free": "http://127.0.0.1:9"}, self.path, 31337)
        database.execute("UPDATE rpc_settings SET value = 600000 WHERE key IN ('timeout_ms', 'route_deadline_ms')")
        database.execute("INSERT INTO route_targets (chain) VALUES ('devnet')")
        self.assertEqual(database.execute(f"PRAGMA journal_mode = {journal}").fetchone()[0], journal)
        database.close()

    def assert_writable_during(self, name, journal):
        self.database(journal)
        self.server.hold()
        self.addCleanup(self.server.release)
        failures = []

        def run():
            database = connect(self.path)
            try:
                script(database, name)
            except Exception as failure:  # shown by the main thread
                failures.append(failure)
            finally:
                database.close()

        collector = threading.Thread(target=run)
        collector.start()
        wait_for(lambda: self.server.asked.is_set() or failures)
        writer = connect(self.path)
        writer.execute("PRAGMA busy_timeout = 50")
        writer.execute("UPDATE rpc_settings SET value = value WHERE key = 'region'")
        writer.execute("BEGIN EXCLUSIVE")
        writer.execute("CREATE TABLE another (x)")
        writer.execute("INSERT INTO rpc_metrics (timestamp, provider_id, ok) VALUES (1, 'free', 0)")
        writer.execute("COMMIT")
        self.assertTrue(collector.is_alive(), failures)  # it still waits
        self.server.release()
        collector.join()
        self.assertEqual(failures, [])
        return writer

    def test_collect(self):
        for journal in ("wal", "delete"):
            with self.subTest(journal):
                writer = self.assert_writable_during("collect", journal)
                self.assertEqual(writer.execute("SELECT provider_id, block_number FROM rpc_metrics WHERE cycle_id = 1 "
                                                "ORDER BY 1").fetchall(), [("free", None), ("held", 16)])
                writer.execute("DROP TABLE another")
                writer.close()
                os.unlink(self.path)

    def test_route(self):
        for journal in ("wal", "delete"):
            with self.subTest(journal):
                writer = self.assert_writable_during("route", journal)
                self.assertEqual(writer.execute("SELECT count(*) FROM route_decisions").fetchone(), (1,))
                writer.close()
                os.unlink(self.path)


if __name__ == "__main__":
    unittest.main()
