"""sql/probe_tx.sql against a devnet: what it spends, whom it keeps waiting, and what it leaves behind."""

import collections
import contextlib
import itertools
import os
import sqlite3
import tempfile
import threading
import time
import unittest

import nodes
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

    def affordable(self, database, *earlier):
        """Whether one more is sent, after these rows; the day's money is twice the worst case of one."""
        database.execute("DELETE FROM tx_outcomes")
        for row in earlier:
            row = {"provider_id": "a", "chain": "devnet", "timestamp": time.time(), **row}
            database.execute(f"INSERT INTO tx_outcomes ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                             [*row.values()])
        script(database, "probe_tx")
        last = self.outcomes(database)[-1]
        self.assertIn((last["state"], last["error_class"]), [("confirmed", None), ("rejected", "spend_limit")])
        return last["state"] == "confirmed"

    def test_what_a_transaction_counts_as(self):
        """Neither is waited for: they have no hash."""
        limit = 2 * WORST_GWEI
        long_ago = time.time() - 3 * 86400
        price = limit * 10**9 // GAS  # at which one takes it all
        database = self.database(max_spend_gwei_per_day=limit)
        unknown = {"state": "timeout"}
        for allowed, what, *earlier in (
                (True, "nothing was spent"),
                (True, "what the receipt says", {"gas_used": GAS, "effective_gas_price": 10**9, "max_cost_gwei": limit}),
                (False, "a reverted one paid", {"state": "reverted", "gas_used": GAS, "effective_gas_price": price}),
                (True, "a rejected one did not", {"state": "rejected", "max_cost_gwei": limit}),
                (False, "a lost one may have", {"state": "timeout", "max_cost_gwei": limit}),
                (True, "a day is over", {"state": "timeout", "max_cost_gwei": limit, "timestamp": long_ago}),
                (False, "nobody knows yet", {"state": "pending", "max_cost_gwei": limit, "timestamp": long_ago}),
                (False, "it may yet leave", {"state": "prepared", "max_cost_gwei": limit, "timestamp": None}),
                (False, "a receipt without its price", {"state": "confirmed", "gas_used": GAS, "max_cost_gwei": limit}),
                (False, "nothing is known", unknown),
                (True, "nothing is known of what is over", unknown | {"timestamp": long_ago}),
                (True, "as the dearest, which was cheap", unknown,
                 {"gas_used": GAS, "effective_gas_price": 10**9, "timestamp": long_ago}),
                (False, "as the dearest by its receipt", unknown,
                 {"gas_used": GAS, "effective_gas_price": price, "timestamp": long_ago}),
                (False, "as the dearest at worst case", unknown, {"state": "rejected", "max_cost_gwei": limit}),
                (False, "a block's time that a node made up opens nothing",
                 {"gas_used": GAS, "effective_gas_price": price, "block_timestamp": int(long_ago)}),
                (True, "no more than it can cost, whatever a receipt claims",
                 {"gas_used": GAS, "effective_gas_price": price, "max_cost_gwei": 1}),
                (False, "a text is no price", {"state": "timeout", "max_cost_gwei": "nothing"}),
                (False, "nor is one in a receipt", {"gas_used": "x", "effective_gas_price": "0x1", "max_cost_gwei": limit}),
                (False, "written by a clock that was ahead", {"max_cost_gwei": limit, "timestamp": time.time() + 9e6})):
            with self.subTest(what):
                self.assertEqual(self.affordable(database, *earlier), allowed)

    def test_a_clock_that_jumps_a_day_ahead_does_not_open_the_purse(self):
        """Seen from such a clock, the chain's time is a day behind."""
        said = {}

        def tell(provider):
            def change(method, params, answer):
                if method == "eth_getBlockByNumber" and answer.get("result") and provider in said:
                    answer["result"]["timestamp"] = said[provider]
            return change

        urls = {name: self.use(between(url, seen=tell(name))) for name, url in self.fleet.urls.items()}
        database = self.database(urls, max_spend_gwei_per_day=2 * WORST_GWEI)
        spent = {"max_cost_gwei": 2 * WORST_GWEI, "timestamp": time.time() - 90000}
        behind, ahead = hex(int(time.time() - 86400)), hex(int(time.time() + 86400))
        for answers, allowed in (({}, True), (dict.fromkeys("abc", behind), False), (dict.fromkeys("ab", behind), False),
                                 (dict.fromkeys("a", behind), True), (dict.fromkeys("abc", ahead), True),
                                 ({"a": behind, "b": "0x", "c": None}, False), ({"a": behind, "b": "x"}, False),
                                 ({"a": "0x" + "f" * 20, "b": 12, "c": "0xg"}, True)):
            with self.subTest(answers):
                said.clear()
                said.update(answers)
                self.assertEqual(self.affordable(database, spent), allowed)

    def test_two_runs_at_once_spend_the_day_s_money_once(self):
        """The other run writes down what it spends after this one has looked into the purse."""
        def spend(method, params):
            if method == "eth_getTransactionCount" and not spent:
                spent.append(method)
                with contextlib.closing(sqlite3.connect(self.path, isolation_level=None)) as other:
                    other.execute("INSERT INTO tx_outcomes (provider_id, chain, timestamp, state, max_cost_gwei) "
                                  "VALUES ('a', 'devnet', ?, 'pending', ?)", (time.time(), 2 * WORST_GWEI))

        spent = []
        urls = {name: self.use(between(url, coming=spend)) for name, url in self.fleet.urls.items()}
        script(self.database(urls, probe_n=2, max_spend_gwei_per_day=3 * WORST_GWEI), "probe_tx")
        self.assertEqual(len(self.truth()), 1)

    def test_an_imported_row_that_nobody_can_look_up_stops_nobody_and_says_so(self):
        database = self.database()
        odd = [("0x12", None), ("no hash", "0x00"), ("0x" + "g" * 64, None), (b"blob", None)]
        database.executemany("INSERT INTO tx_outcomes (provider_id, chain, timestamp, state, tx_hash, raw, max_cost_gwei) "
                             "VALUES ('a', 'devnet', 1, 'pending', ?, ?, 1)", odd)
        script(database, "probe_tx")
        found = self.outcomes(database)
        self.assertEqual([row["state"] for row in found], ["pending"] * len(odd) + ["confirmed"])
        self.assertEqual({row["error"] for row in found[:-1]}, {"tx_hash is no hash: nobody can be asked for it"})

    def test_a_limit_that_is_no_number_is_refused(self):
        database = self.database()
        for limit in ("abc", -1, None):
            with self.subTest(limit):
                database.execute("UPDATE rpc_settings SET value = ? WHERE key = 'max_spend_gwei_per_day'", (limit,))
                with self.assertRaisesRegex(sqlite3.IntegrityError, "max_spend_gwei_per_day must be numbers of 0 or more"):
                    script(database, "probe_tx")
        self.assertEqual(self.truth(), [])

    def test_the_most_it_can_cost_is_known_before_it_leaves_and_stays(self):
        found = []

        def look(method, params):
            if method == "eth_sendRawTransaction":
                with contextlib.closing(sqlite3.connect(self.path)) as other:
                    found.extend(other.execute("SELECT state, max_cost_gwei FROM tx_outcomes"))

        urls = {name: self.use(between(url, coming=look)) for name, url in self.fleet.urls.items()}
        database = self.database(urls)
        script(database, "probe_tx")
        self.assertEqual(found, [("prepared", WORST_GWEI)])
        self.assertEqual([(row["state"], row["max_cost_gwei"]) for row in self.outcomes(database)],
                         [("confirmed", WORST_GWEI)])

    def interrupted(self, method_of_sending, at, **settings):
        """What an interrupt leaves that comes with the broadcast of that number. The next run ends it."""
        calls = itertools.count(1)

        def interrupt(method, params):
            if method == method_of_sending and next(calls) == at:
                database.interrupt()

        urls = {name: self.use(between(url, coming=interrupt)) for name, url in self.fleet.urls.items()}
        database = self.database(urls, **settings)
        with self.assertRaisesRegex(sqlite3.OperationalError, "interrupt"):
            script(database, "probe_tx")
        return self.outcomes(database)

    def test_what_was_known_before_an_interrupt_is_kept(self):
        found = self.interrupted("eth_sendRawTransaction", 4, probe_n=6)
        self.assertEqual([row["state"] for row in found], ["confirmed"] * 3 + ["prepared"] * 3)
        self.assertEqual([row["duration_source"] for row in found], ["receipt"] * 3 + [None] * 3)
        database = nodes.connect(self.path)
        self.addCleanup(database.close)
        database.row_factory = sqlite3.Row
        script(database, "probe_tx")
        again = self.outcomes(database)
        self.assertEqual(again[:3], found[:3])
        self.assertEqual([(row["state"], row["tx_hash"]) for row in again],
                         [("confirmed", row["tx_hash"]) for row in found])
        self.assertEqual([t["nonce"] for t in self.truth()], list(range(6)))

    def test_what_the_node_had_sent_before_an_interrupt_is_kept(self):
        del os.environ["RPCROUTE_KEY"]
        found = self.interrupted("eth_sendTransaction", 3, probe_n=5, max_spend_gwei_per_day=9 * WORST_GWEI)
        self.assertEqual([(row["state"], row["duration_source"]) for row in found], [("confirmed", "receipt")] * 2)

    def test_a_node_spends_no_more_in_many_steps_than_in_one(self):
        del os.environ["RPCROUTE_KEY"]
        database = self.database(probe_n=7, max_spend_gwei_per_day=3 * WORST_GWEI)
        script(database, "probe_tx")
        states = collections.Counter((row["state"], row["error_class"]) for row in self.outcomes(database))
        # Two of three cost what their receipts say: that leaves the worst case of a fourth.
        self.assertEqual(states, {("confirmed", None): 4, ("rejected", "spend_limit"): 3})

    def test_more_than_there_are_steps_for_are_resolved_all_the_same(self):
        self.fleet = self.use(Devnet(["a", "b"], chain_id=own_chain_id(), slot_ms=10, fund_all=True))
        database = self.database(probe_n=130, poll_ms=10, max_spend_gwei_per_day=200 * WORST_GWEI)
        script(database, "probe_tx")
        self.assertEqual([(row["state"], row["nonce"], row["overlap"]) for row in self.outcomes(database)],
                         [("confirmed", nonce, 0) for nonce in range(130)])

    def test_what_nobody_could_be_asked_about_is_unobserved_and_counts_at_worst_case(self):
        del os.environ["RPCROUTE_KEY"]

        def silence(method, params, answer):
            if method == "eth_sendTransaction":
                for provider in self.fleet.urls:
                    self.fleet.fault(provider, "refuse")

        urls = {name: self.use(between(url, seen=silence)) for name, url in self.fleet.urls.items()}
        database = self.database(urls, tx_timeout_sec=1, timeout_ms=500, max_spend_gwei_per_day=2 * WORST_GWEI - 1)
        script(database, "probe_tx")
        for provider in self.fleet.urls:
            self.fleet.change(provider, faults=[])
        row, = self.outcomes(database)
        self.assertEqual((row["state"], row["error_class"], row["duration_sec"], row["max_cost_gwei"]),
                         ("timeout", "unobserved", None, WORST_GWEI))
        script(database, "probe_tx")
        script(database, "align")
        self.assertEqual([row["error_class"] for row in self.outcomes(database)], ["unobserved", "spend_limit"])
        self.assertEqual(rows(database, "SELECT * FROM alignment_report WHERE n > 0"),
                         [{"reason": "rejected", "n": 1}, {"reason": "unobserved", "n": 1}])

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
