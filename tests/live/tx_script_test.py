"""sql/probe_tx.sql against a devnet: what it spends, whom it keeps waiting, and what it leaves behind."""

import collections
import contextlib
import os
import sqlite3
import tempfile
import threading
import unittest

from devnet import Devnet
from ethereum import address_of
from nodes import script
from transactions import between, fleet_database, key_text, keys_in_environment, new_key, own_chain_id, rows

GAS = 21000
WORST_GWEI = GAS * (2 * 1 + 1)  # twice the base fee and a tip of one gwei


class Script(unittest.TestCase):
    def setUp(self):
        self.fleet = self.use(Devnet(["a", "b", "c"], chain_id=own_chain_id(), slot_ms=60, fund_all=True))
        self.path = os.path.join(self.use(tempfile.TemporaryDirectory()), "rpc.db")
        self.key = new_key()
        self.signer = self.use(keys_in_environment(self.key))

    def use(self, manager):
        value = manager.__enter__()
        self.addCleanup(manager.__exit__, None, None, None)
        return value

    def database(self, urls=None, **settings):
        database = fleet_database(urls or self.fleet.urls, self.fleet.chain_id, path=self.path, **settings)
        self.addCleanup(database.close)
        return database

    def truth(self):
        return self.fleet.control("/truth/transactions")

    def outcomes(self, database):
        return rows(database, "SELECT * FROM tx_outcomes ORDER BY tx_id")

    def test_it_keeps_what_became_of_each_and_cleans_up_behind_itself(self):
        database = self.database(probe_n=2)
        before = rows(database, "SELECT name FROM temp.sqlite_schema")
        for runs in (1, 2):
            script(database, "probe_tx")
            found = self.outcomes(database)
            self.assertEqual([row["state"] for row in found], ["confirmed"] * 2 * runs)
            self.assertEqual([row["nonce"] for row in found], list(range(2 * runs)))
        self.assertEqual({row["duration_source"] for row in found}, {"receipt"})
        self.assertEqual({row["overlap"] for row in found}, {0})
        self.assertEqual({row["from"] for row in self.truth()}, {address_of(self.key)})
        self.assertEqual(rows(database, "SELECT name FROM temp.sqlite_schema"), before)

    def test_nothing_is_locked_while_providers_are_waited_for(self):
        written = []
        one_at_a_time = threading.Lock()

        def write(method, params):
            with one_at_a_time, contextlib.closing(sqlite3.connect(self.path, timeout=0, isolation_level=None)) as other:
                other.execute("UPDATE rpc_settings SET meaning = ? WHERE key = 'probe_n'", (method,))
                written.append(method)

        urls = {name: self.use(between(url, coming=write)) for name, url in self.fleet.urls.items()}
        script(self.database(urls), "probe_tx")
        self.assertIn("eth_sendRawTransaction", written)
        self.assertIn("eth_getTransactionReceipt", written)

    def test_bytes_are_in_the_database_before_they_leave(self):
        found = []

        def look(method, params):
            if method == "eth_sendRawTransaction":
                with sqlite3.connect(self.path) as other:
                    found.append((params[0], other.execute("SELECT raw, state FROM tx_outcomes").fetchall()))

        urls = {name: self.use(between(url, coming=look)) for name, url in self.fleet.urls.items()}
        script(self.database(urls), "probe_tx")
        (raw, stored), = found
        self.assertEqual(stored, [(raw, "prepared")])

    def test_the_day_s_money_is_counted_at_worst_case_and_then_nothing_is_sent(self):
        database = self.database(probe_n=2, max_spend_gwei_per_day=3 * WORST_GWEI)
        script(database, "probe_tx")
        spent = sum(row["gas_used"] * row["effective_gas_price"] for row in self.outcomes(database)) / 1e9
        self.assertEqual(spent, 2 * GAS * 2)
        script(database, "probe_tx")
        # What is left pays for one at worst case.
        states = collections.Counter((row["state"], row["error_class"]) for row in self.outcomes(database))
        self.assertEqual(states, {("confirmed", None): 3, ("rejected", "spend_limit"): 1})
        self.assertEqual(len(self.truth()), 3)

    def test_money_spent_before_a_day_ago_is_not_counted(self):
        database = self.database(max_spend_gwei_per_day=WORST_GWEI)
        script(database, "probe_tx")
        database.execute("UPDATE tx_outcomes SET timestamp = timestamp - 86401")
        script(database, "probe_tx")
        script(database, "probe_tx")
        self.assertEqual([row["state"] for row in self.outcomes(database)], ["confirmed", "confirmed", "rejected"])

    def test_the_node_signs_where_there_is_no_key(self):
        del os.environ["RPCROUTE_KEY"]
        database = self.database(probe_n=2)
        script(database, "probe_tx")
        self.assertEqual([row["state"] for row in self.outcomes(database)], ["confirmed"] * 2)
        self.assertLessEqual({row["from"] for row in self.truth()},
                             {account["address"] for account in self.fleet.control("/accounts")})

    def test_a_key_file_signs(self):
        key = new_key()
        path = os.path.join(os.path.dirname(self.path), "key")
        with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
            file.write(key_text(key))
        script(self.database(signer="file:" + path), "probe_tx")
        self.assertEqual({row["from"] for row in self.truth()}, {address_of(key)})

    def test_a_bad_key_file_is_an_error_and_nothing_is_sent(self):
        database = self.database(signer="file:/nonexistent")
        with self.assertRaisesRegex(sqlite3.OperationalError, "key file cannot be opened"):
            script(database, "probe_tx")
        self.assertEqual((self.truth(), self.outcomes(database)), ([], []))

    def test_a_provider_that_dies_between_drawing_and_sending_delays_the_others_only(self):
        """Its transaction waits for the next run; those behind it are not sent, and nobody is charged for it."""
        dies = ["eth_getTransactionByHash"]  # the first question about what was prepared

        def refuse(method, params):
            if method in dies:
                dies.remove(method)
                self.fleet.fault("a", "refuse")

        urls = self.fleet.urls | {"b": self.use(between(self.fleet.urls["b"], coming=refuse))}
        database = self.database(urls)
        # As the script prepares them, the first for the one that dies.
        for provider, n in (("a", 1), ("b", 3)):
            database.execute("INSERT INTO tx_outcomes (timestamp, provider_id, chain, region, tx_hash, raw, nonce, state) "
                             "SELECT timestamp, provider_id, chain, region, tx_hash, raw, nonce, state FROM tx_probe "
                             "WHERE send = 0 AND provider_id = ? AND n = ?", (provider, n))
        script(database, "probe_tx")
        found = self.outcomes(database)
        self.assertEqual([row["state"] for row in found], ["prepared"] + ["rejected"] * 3)
        self.assertEqual([row["error_class"] for row in found], ["connect"] + ["nonce"] * 3)
        self.assertEqual(self.truth(), [])
        self.fleet.change("a", faults=[])
        for _ in range(2):
            script(database, "probe_tx")
        self.assertEqual(collections.Counter(row["state"] for row in self.outcomes(database)),
                         {"confirmed": 2, "rejected": 3})
        self.assertEqual([t["nonce"] for t in self.truth()], [0, 1])

    def test_what_cannot_be_probed_is_refused_in_words(self):
        database = self.database()
        database.execute("UPDATE rpc_providers SET enabled = 0")
        with self.assertRaisesRegex(sqlite3.Error, "no enabled row on an EVM test chain"):
            script(database, "probe_tx")
        database.execute("UPDATE rpc_providers SET enabled = 1")
        database.execute("UPDATE rpc_chains SET is_mainnet = 1 WHERE chain = 'devnet'")
        with self.assertRaisesRegex(sqlite3.Error, "not sent on a mainnet"):
            script(database, "probe_tx")
        database.execute("UPDATE rpc_chains SET is_mainnet = 0 WHERE chain = 'devnet'")
        database.execute("INSERT INTO rpc_chains (chain, kind, chain_id, is_mainnet) VALUES ('other', 'evm', 5, 0)")
        database.execute("INSERT INTO rpc_providers (provider_id, chain, url) VALUES ('o', 'other', 'http://127.0.0.1:9')")
        with self.assertRaisesRegex(sqlite3.Error, "several test chains"):
            script(database, "probe_tx")
        self.assertEqual((self.truth(), self.outcomes(database)), ([], []))
        database.execute("UPDATE rpc_settings SET value = 'devnet' WHERE key = 'probe_chain'")
        script(database, "probe_tx")
        self.assertEqual([row["state"] for row in self.outcomes(database)], ["confirmed"])


if __name__ == "__main__":
    unittest.main()
