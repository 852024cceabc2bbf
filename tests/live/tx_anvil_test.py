"""What may become of a transaction on a real chain: dropped, reorganised away, never taken, on a chain it must not be
sent to."""

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import unittest

from ethereum import address_of, sign
from nodes import anvil, rpc
from transactions import (GWEI, between, fleet_database, fund, keys_in_environment, known, new_key, own_chain_id,
                          reference, rows, sent)


class OneNode(unittest.TestCase):
    """A node that makes no blocks by itself, a key with money, and a provider in front of which one can stand."""

    options = ("--no-mining",)

    def setUp(self):
        self.chain_id = own_chain_id()
        self.url, self.process = self.use(anvil("--chain-id", str(self.chain_id), *self.options))
        self.key = new_key()
        fund(self.url, self.key)
        self.use(keys_in_environment(self.key))
        self.happened = set()

    def use(self, manager):
        value = manager.__enter__()
        self.addCleanup(manager.__exit__, None, None, None)
        return value

    def database(self, urls=None, **settings):
        database = fleet_database(urls or {"a": self.url}, self.chain_id, **settings)
        self.addCleanup(database.close)
        return database

    def first_time(self, name):
        return name not in self.happened and not self.happened.add(name)


class Fates(OneNode):
    def test_one_that_is_dropped_is_charged_its_limit_and_its_number_is_used_by_the_next(self):
        def drop(method, params, answer):
            if method == "eth_sendRawTransaction" and self.first_time("drop"):
                rpc(self.url, "anvil_dropTransaction", answer["result"])

        database = self.database({"a": self.use(between(self.url, drop)), "b": self.url})
        lost, = rows(database, "SELECT * FROM tx_probe WHERE timeout_sec = 1 AND provider_id = 'a'")
        self.assertEqual((lost["state"], lost["duration_sec"], lost["duration_source"], lost["raw"]),
                         ("timeout", 1, None, None))
        self.assertGreater(lost["submit_ms"], 0)
        self.assertFalse(known(self.url, lost["tx_hash"]))
        rpc(self.url, "evm_setIntervalMining", 1)
        following, = rows(database, "SELECT * FROM tx_probe")
        self.assertEqual((following["state"], following["nonce"]), ("confirmed", lost["nonce"]))

    def test_one_that_still_waits_at_its_limit_is_charged_too_and_keeps_its_number(self):
        database = self.database()
        slow, = rows(database, "SELECT * FROM tx_probe WHERE timeout_sec = 0.3")
        self.assertEqual((slow["state"], slow["duration_sec"]), ("timeout", 0.3))
        following, = rows(database, "SELECT * FROM tx_probe WHERE wait = 0")
        self.assertEqual((following["nonce"], following["overlap"]), (slow["nonce"] + 1, 1))
        rpc(self.url, "evm_mine")
        self.assertEqual(sent(self.url, self.key), 2)

    def test_a_block_that_is_reorganised_away_is_followed_to_the_last_one(self):
        raw = []

        def reorganise(method, params, answer):
            if method == "eth_sendRawTransaction":
                raw.append(params[0])
                rpc(self.url, "evm_mine")
            elif method == "eth_getTransactionReceipt" and answer["result"] and self.first_time("reorganised"):
                self.first_block = answer["result"]
                rpc(self.url, "anvil_reorg", 1, [])
            elif method == "eth_getTransactionReceipt" and "reorganised" in self.happened and self.first_time("again"):
                self.assertIsNone(answer["result"])
                if not known(self.url, self.first_block["transactionHash"]):
                    rpc(self.url, "eth_sendRawTransaction", raw[0])
                rpc(self.url, "anvil_mine", hex(3))

        row, = rows(self.database({"a": self.use(between(self.url, reorganise))}), "SELECT * FROM tx_probe")
        self.assertEqual(row["state"], "confirmed")
        receipt = rpc(self.url, "eth_getTransactionReceipt", row["tx_hash"])
        self.assertEqual(row["block_number"], int(receipt["blockNumber"], 16))
        self.assertGreater(row["block_number"], int(self.first_block["blockNumber"], 16))
        block = rpc(self.url, "eth_getBlockByNumber", receipt["blockNumber"], False)
        self.assertEqual(row["block_timestamp"], int(block["timestamp"], 16))
        self.assertEqual(sent(self.url, self.key), 1)

    def test_the_providers_own_lag_is_not_confirmation_time(self):
        looks = []

        def hide(method, params, answer):
            if method == "eth_sendRawTransaction":
                rpc(self.url, "evm_mine")
            elif method == "eth_getTransactionReceipt" and answer["result"]:
                looks.append(answer)
                if len(looks) < 10:
                    answer["result"] = None

        database = self.database({"a": self.use(between(self.url, hide)), "b": self.url})
        row, = rows(database, "SELECT * FROM tx_probe WHERE provider_id = 'a'")
        self.assertEqual(row["state"], "confirmed")
        self.assertGreaterEqual(row["own_receipt_sec"] - row["duration_sec"], 7 * 0.02)

    def test_an_interrupted_wait_ends_at_once_and_the_next_probe_takes_the_next_number(self):
        def interrupt(method, params, answer):
            if method == "eth_sendRawTransaction":
                self.happened.add("sent")
            elif method == "eth_getTransactionReceipt" and "sent" in self.happened:
                database.interrupt()

        database = self.database({"a": self.use(between(self.url, interrupt))})
        with self.assertRaisesRegex(sqlite3.OperationalError, "interrupted"):
            rows(database, "SELECT * FROM tx_probe")
        self.assertEqual((sent(self.url, self.key, "pending"), sent(self.url, self.key)), (1, 0))
        database.execute("UPDATE rpc_providers SET url = ?", (self.url,))
        following, = rows(database, "SELECT * FROM tx_probe WHERE wait = 0")
        self.assertEqual((following["nonce"], following["overlap"]), (1, 1))

    def test_what_this_process_sent_is_timed_by_its_clock(self):
        database = self.database({"a": self.use(between(
            self.url, lambda method, *_: method == "eth_getTransactionReceipt" and self.first_time("look") and
            rpc(self.url, "evm_mine")))})
        pending, = rows(database, "SELECT * FROM tx_probe WHERE wait = 0")
        self.assertEqual((pending["state"], pending["duration_sec"]), ("pending", None))
        resolved, = rows(database, "SELECT * FROM tx_wait(?)", reference(pending))
        self.assertEqual((resolved["state"], resolved["duration_source"]), ("confirmed", "receipt"))
        self.assertGreater(resolved["duration_sec"], 0)
        self.assertEqual((resolved["timestamp"], resolved["propensity"], resolved["submit_ms"]),
                         (pending["timestamp"], pending["propensity"], pending["submit_ms"]))

    def test_what_another_process_sent_is_dated_by_its_block(self):
        sender = (f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n"
                  "from transactions import *\n"
                  f"database = fleet_database({{'a': {self.url!r}}}, {self.chain_id})\n"
                  "print(json.dumps(rows(database, 'SELECT * FROM tx_probe WHERE wait = 0')[0]))")
        pending = json.loads(subprocess.run([sys.executable, "-c", sender], check=True, stdout=subprocess.PIPE).stdout)
        rpc(self.url, "evm_mine")
        resolved, = rows(self.database(), "SELECT * FROM tx_wait(?)", reference(pending))
        self.assertEqual((resolved["state"], resolved["duration_source"], resolved["duration_sec"]),
                         ("confirmed", "block", None))
        block = rpc(self.url, "eth_getBlockByNumber", hex(resolved["block_number"]), False)
        self.assertEqual(resolved["block_timestamp"], int(block["timestamp"], 16))
        self.assertAlmostEqual(resolved["timestamp"], pending["timestamp"], places=3)

    def test_whatever_is_answered_one_that_the_node_took_is_no_rejection(self):
        answers = [(-32603, "upstream failed"), (-32000, "replacement transaction underpriced"),
                   (-32000, "nonce too low: next nonce 1, tx nonce 0"), (-32000, "already known"),
                   (-32000, "insufficient funds for gas * price + value"), (-32005, "rate limit exceeded")]
        for number, (code, message) in enumerate(answers):
            def spoil(method, params, answer):
                if method == "eth_sendRawTransaction":
                    rpc(self.url, "evm_mine")
                    answer["error"] = {"code": code, "message": message}
                    del answer["result"]

            with self.subTest(message), between(self.url, spoil) as url, \
                    contextlib.closing(fleet_database({"a": url}, self.chain_id)) as database:
                row, = rows(database, "SELECT * FROM tx_probe")
                self.assertEqual((row["state"], row["error_class"], row["nonce"]), ("confirmed", None, number))
                self.assertEqual(sent(self.url, self.key), number + 1)

    def test_one_that_is_replaced_by_another_client_is_charged_its_limit(self):
        def replace(method, params, answer):
            if method == "eth_sendRawTransaction":
                raw, _ = sign(self.key, self.chain_id, 0, address_of(self.key), tip=50 * GWEI, max_fee=90 * GWEI)
                rpc(self.url, "eth_sendRawTransaction", raw)
                rpc(self.url, "evm_mine")

        database = self.database({"a": self.use(between(self.url, replace))})
        row, = rows(database, "SELECT * FROM tx_probe WHERE timeout_sec = 0.5")
        self.assertEqual((row["state"], row["duration_sec"]), ("timeout", 0.5))
        following, = rows(database, "SELECT * FROM tx_probe WHERE send = 0")
        self.assertEqual((following["nonce"], sent(self.url, self.key)), (1, 1))


class Refusals(OneNode):
    options = ()

    def assert_refused(self, database, error_class, sql="SELECT * FROM tx_probe", *arguments):
        found = rows(database, sql, *arguments)
        self.assertTrue(found)
        for row in found:
            self.assertEqual((row["state"], row["error_class"], row["duration_sec"]), ("rejected", error_class, None))
            self.assertTrue(row["error"])
        self.assertEqual(sent(self.url, self.key, "pending"), 0)
        return found


class NothingSent(Refusals):
    def test_when_every_provider_is_dead_each_draw_says_why(self):
        self.process.kill()
        self.process.wait()
        database = self.database({name: self.url for name in "abc"})
        found = rows(database, "SELECT * FROM tx_probe WHERE n = 3")
        self.assertEqual([(row["state"], row["error_class"], row["tx_hash"]) for row in found],
                         [("rejected", "connect", None)] * 3)
        self.assertEqual(found[0]["propensity"], 1 / 3)

    def test_without_providers_there_are_no_rows(self):
        database = self.database()
        database.execute("UPDATE rpc_providers SET enabled = 0")
        self.assertEqual(rows(database, "SELECT * FROM tx_probe"), [])

    def test_a_chain_marked_as_a_mainnet_is_refused(self):
        database = self.database()
        database.execute("UPDATE rpc_chains SET is_mainnet = 1 WHERE chain = 'devnet'")
        self.assert_refused(database, "mainnet")
        row, = rows(database, "SELECT * FROM tx_probe WHERE allow_mainnet = 1")
        self.assertEqual((row["state"], sent(self.url, self.key)), ("confirmed", 1))

    def test_a_chain_that_nothing_is_known_of_is_taken_for_a_mainnet(self):
        self.assert_refused(self.database(), "mainnet", "SELECT * FROM tx_probe(?)",
                            json.dumps([{"provider_id": "x", "url": self.url, "chain": "who-knows"}]))

    def test_a_node_of_another_chain_than_its_row_says_is_refused(self):
        database = self.database()
        database.execute("UPDATE rpc_chains SET chain_id = chain_id + 1")
        self.assert_refused(database, "wrong_chain")

    def test_several_chains_and_no_choice_is_an_error(self):
        database = self.database()
        database.execute("INSERT INTO rpc_chains (chain, kind, chain_id, is_mainnet) VALUES ('other', 'evm', 5, 0)")
        database.execute("INSERT INTO rpc_providers (provider_id, chain, url) VALUES ('o', 'other', ?)", (self.url,))
        with self.assertRaisesRegex(sqlite3.OperationalError, "several chains.*devnet.*other"):
            rows(database, "SELECT * FROM tx_probe")
        self.assertEqual(rows(database, "SELECT state FROM tx_probe WHERE chain = 'devnet'"), [{"state": "confirmed"}])


class Mainnet(Refusals):
    """Chain id 1, whatever a table says of it."""

    def setUp(self):
        super().setUp()
        self.process.kill()
        self.url, self.process = self.use(anvil("--chain-id", "1"))
        fund(self.url, self.key)

    def database_of_chain(self, chain_id):
        """The schema does not let 1 be a test chain; a table of the user's own would."""
        database = self.database()
        database.execute("CREATE TEMP TABLE rpc_chains AS SELECT * FROM main.rpc_chains")
        database.execute("UPDATE temp.rpc_chains SET chain_id = ?, is_mainnet = 0 WHERE chain = 'devnet'", (chain_id,))
        return database

    def test_it_is_refused_by_its_id(self):
        database = self.database_of_chain(1)
        self.assert_refused(database, "mainnet")
        row, = rows(database, "SELECT * FROM tx_probe WHERE allow_mainnet = 1")
        self.assertEqual((row["state"], sent(self.url, self.key)), ("confirmed", 1))

    def test_it_is_refused_behind_the_url_of_a_test_chain(self):
        self.assert_refused(self.database_of_chain(self.chain_id), "wrong_chain")

    def test_it_is_refused_behind_a_test_chain_of_unknown_id(self):
        self.assert_refused(self.database_of_chain(None), "mainnet")


class BeforeLondon(OneNode):
    options = ("--hardfork", "berlin")

    def test_a_chain_without_a_base_fee_is_refused_in_words(self):
        with self.assertRaisesRegex(sqlite3.OperationalError, "no base fee"):
            rows(self.database(), "SELECT * FROM tx_probe")
        self.assertEqual(sent(self.url, self.key, "pending"), 0)


if __name__ == "__main__":
    unittest.main()
