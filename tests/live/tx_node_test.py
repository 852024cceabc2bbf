"""tx_probe, tx_send and tx_wait against real nodes, anvil and hardhat 2: what is sent, how often, and how each refuses."""

import contextlib
import sqlite3
import unittest

from devnet import Devnet
from ethereum import address_of, sign
from hardhat import hardhat
from nodes import anvil, cast, rpc
from transactions import (FIRST_KEY, GWEI, fleet_database, fund, keys_in_environment, known, new_key, own_chain_id,
                          reference, rows, sent)

# Each reads the table in a way that SQLite may scan more than once.
RESCANS = {
    "left join": "SELECT p.tx_hash FROM (VALUES (1), (2), (3)) v LEFT JOIN tx_probe p ON p.state <> 'prepared'",
    "right side of a comparison": "SELECT p.tx_hash FROM (VALUES (1), (2)) v JOIN tx_probe p ON p.nonce >= v.column1 - 9",
    "or": "SELECT tx_hash FROM tx_probe WHERE state = 'confirmed' OR nonce < 0 OR tx_hash > ''",
    "in": "SELECT p.tx_hash FROM (VALUES ('confirmed'), ('pending')) v JOIN tx_probe p ON p.state IN (v.column1, 'timeout')",
    "correlated subquery": "SELECT (SELECT p.tx_hash FROM tx_probe p WHERE p.nonce >= v.column1 - 9) FROM (VALUES (1), (2)) v",
    "exists": "SELECT v.column1 FROM (VALUES (1), (2)) v WHERE EXISTS (SELECT 1 FROM tx_probe p WHERE p.nonce > -v.column1)",
    "in a subquery": "SELECT column1 FROM (VALUES (1), (2)) WHERE 'confirmed' IN (SELECT state FROM tx_probe)",
    "limit": "SELECT p.tx_hash FROM (VALUES (1), (2), (3)) v CROSS JOIN tx_probe p LIMIT 2",
    "full join": "SELECT p.tx_hash FROM (VALUES (1), (-1)) v FULL JOIN tx_probe p ON p.nonce = v.column1",
    "common table twice": "WITH p AS (SELECT tx_hash FROM tx_probe) SELECT a.tx_hash FROM p a JOIN p b ON a.tx_hash = b.tx_hash",
    "common table inlined twice": "WITH p AS NOT MATERIALIZED (SELECT tx_hash FROM tx_probe) SELECT a.tx_hash FROM p a, p b",
    "union": "SELECT tx_hash FROM tx_probe UNION ALL SELECT tx_hash FROM tx_probe",
    "self join": "SELECT a.tx_hash FROM tx_probe a JOIN tx_probe b ON a.tx_hash = b.tx_hash",
    "order and window": "SELECT tx_hash, count(*) OVER () FROM tx_probe ORDER BY nonce DESC",
}


class Node:
    """The cases. `start(chain_id, automine)` is the node's own."""

    @classmethod
    def setUpClass(cls):
        cls.chain_id = own_chain_id()
        cls.stack = contextlib.ExitStack()
        cls.url, _ = cls.stack.enter_context(cls.start(cls.chain_id, automine=True))

    @classmethod
    def tearDownClass(cls):
        cls.stack.close()

    def use(self, manager):
        value = manager.__enter__()
        self.addCleanup(manager.__exit__, None, None, None)
        return value

    def with_keys(self, count=1, url=None):
        """New keys with money; also the signer that names them."""
        keys = [new_key() for _ in range(count)]
        for key in keys:
            fund(url or self.url, key)
        return keys, self.use(keys_in_environment(*keys))

    def database(self, url=None, names="abc", **settings):
        database = fleet_database({name: url or self.url for name in names}, self.chain_id, **settings)
        self.addCleanup(database.close)
        return database

    def slow_node(self):
        """A node of this class that makes no blocks by itself, and a database in front of it."""
        url, _ = self.use(self.start(self.chain_id, automine=False))
        return url, self.database(url)

    def test_every_transaction_is_found_by_its_hash_and_the_number_goes_up_by_as_many(self):
        self.use(keys_in_environment(FIRST_KEY))
        before = sent(self.url, FIRST_KEY)
        found = rows(self.database(), "SELECT * FROM tx_probe WHERE n = 20")
        self.assertEqual([row["state"] for row in found], ["confirmed"] * 20)
        self.assertEqual([row["nonce"] for row in found], list(range(before, before + 20)))
        self.assertEqual(sent(self.url, FIRST_KEY), before + 20)
        self.assertEqual(len({row["provider_id"] for row in found}), 3)
        for row in found:
            transaction = rpc(self.url, "eth_getTransactionByHash", row["tx_hash"])
            self.assertEqual((transaction["from"], transaction["to"], int(transaction["value"], 16)),
                             (address_of(FIRST_KEY), address_of(FIRST_KEY), 0))
            self.assertEqual(int(transaction["blockNumber"], 16), row["block_number"])
            self.assertAlmostEqual(row["propensity"], 1 / 3)
            self.assertIsNone(row["raw"])
        self.assertEqual(len({(rpc(self.url, "eth_getTransactionByHash", row["tx_hash"])["maxFeePerGas"])
                              for row in found}), 1)

    def test_another_client_finds_it_by_its_hash(self):
        self.with_keys()
        row, = rows(self.database(), "SELECT * FROM tx_probe")
        self.assertEqual(cast("tx", row["tx_hash"], "blockNumber", "--rpc-url", self.url), str(row["block_number"]))
        self.assertEqual(cast("receipt", row["tx_hash"], "gasUsed", "--rpc-url", self.url), "21000")

    def test_many_probes_are_spread_over_the_keys_without_a_gap(self):
        keys, signer = self.with_keys(4)
        found = rows(self.database(), "SELECT * FROM tx_probe WHERE n = 20 AND signer = ?", signer)
        self.assertEqual([row["state"] for row in found], ["confirmed"] * 20)
        self.assertEqual({row["overlap"] for row in found}, {0})
        counts = {address_of(key): sent(self.url, key) for key in keys}
        self.assertEqual(sum(counts.values()), 20)
        self.assertNotIn(0, counts.values())
        numbers = {}
        for row in found:
            transaction = rpc(self.url, "eth_getTransactionByHash", row["tx_hash"])
            numbers.setdefault(transaction["from"], []).append(row["nonce"])
        self.assertEqual({who: sorted(of) for who, of in numbers.items()},
                         {who: list(range(count)) for who, count in counts.items()})

    def test_the_node_signs_for_its_own_account(self):
        account = rpc(self.url, "eth_accounts")[0]
        count = lambda: int(rpc(self.url, "eth_getTransactionCount", account, "latest"), 16)
        before = count()
        found = rows(self.database(), "SELECT * FROM tx_probe WHERE n = 3 AND signer = 'node'")
        self.assertEqual([(row["state"], row["nonce"]) for row in found],
                         [("confirmed", number) for number in range(before, before + 3)])
        self.assertEqual(count(), before + 3)
        for row in found:
            transaction = rpc(self.url, "eth_getTransactionByHash", row["tx_hash"])
            self.assertEqual((transaction["from"], transaction["to"], int(transaction["nonce"], 16)),
                             (account, account, row["nonce"]))

    def test_a_statement_that_scans_again_sends_nothing_again(self):
        database = self.database()
        for shape, sql in RESCANS.items():
            with self.subTest(shape):
                (key,), _ = self.with_keys()
                self.assertTrue(rows(database, sql))
                self.assertEqual(sent(self.url, key), 1)

    def test_a_limit_ends_a_scan_of_many_without_sending_the_rest(self):
        (key,), _ = self.with_keys()
        self.assertEqual(len(rows(self.database(), "SELECT 1 FROM tx_probe WHERE n = 9 LIMIT 2")), 2)
        self.assertEqual(sent(self.url, key), 2)

    def test_each_execution_sends_anew(self):
        (key,), _ = self.with_keys()
        database = self.database()
        for _ in range(3):
            rows(database, "SELECT state FROM tx_probe")
        self.assertEqual(sent(self.url, key), 3)

    def test_other_arguments_in_the_same_statement_are_an_error_before_more_is_sent(self):
        for sql in ("SELECT 1 FROM tx_probe a, tx_probe b WHERE b.poll_ms = 30",
                    "SELECT 1 FROM tx_probe a, tx_probe b WHERE a.n = 1 AND b.n = 2",
                    "SELECT 1 FROM (VALUES (1), (2)) v JOIN tx_probe p ON p.n = v.column1"):
            with self.subTest(sql):
                (key,), _ = self.with_keys()
                with self.assertRaisesRegex(sqlite3.OperationalError, "one set of arguments"):
                    rows(self.database(), sql)
                self.assertLessEqual(sent(self.url, key), 1)

    def test_a_forced_provider_has_no_propensity(self):
        self.with_keys()
        found = rows(self.database(), "SELECT * FROM tx_probe WHERE n = 3 AND provider_id = 'b'")
        self.assertEqual([(row["provider_id"], row["propensity"]) for row in found], [("b", None)] * 3)

    def test_draws_are_the_same_under_one_seed(self):
        self.with_keys()
        database = self.database()
        draw = lambda seed: [row["provider_id"] for row in rows(
            database, "SELECT provider_id FROM tx_probe WHERE n = 12 AND send = 0 AND seed = ?", seed)]
        self.assertEqual(draw(7), draw(7))
        self.assertNotEqual(draw(7), draw(8))

    def test_a_provider_on_another_chain_is_left_out_and_the_rest_are_used(self):
        other, _ = self.use(anvil("--chain-id", str(self.chain_id + 1)))
        (key,), _ = self.with_keys()
        database = self.database(names="abcd")
        database.execute("UPDATE rpc_providers SET url = ? WHERE provider_id = 'c'", (other,))
        found = rows(database, "SELECT * FROM tx_probe WHERE n = 9")
        self.assertEqual([row["state"] for row in found], ["confirmed"] * 9 + ["rejected"])
        self.assertNotIn("c", {row["provider_id"] for row in found[:9]})
        self.assertEqual((found[9]["provider_id"], found[9]["error_class"]), ("c", "wrong_chain"))
        self.assertIn(str(self.chain_id + 1), found[9]["error"])
        self.assertAlmostEqual(found[0]["propensity"], 1 / 3)
        self.assertEqual((sent(self.url, key), sent(other, key)), (9, 0))

    def test_a_budget_below_one_transaction_sends_nothing(self):
        (key,), _ = self.with_keys()
        found = rows(self.database(), "SELECT * FROM tx_probe WHERE n = 2 AND max_spend_gwei = 20999 "
                                      "AND max_fee_gwei = 1 AND priority_fee_gwei = 1")
        self.assertEqual([(row["state"], row["error_class"]) for row in found], [("rejected", "spend_limit")] * 2)
        self.assertEqual(sent(self.url, key), 0)

    def test_a_budget_counts_every_transaction_at_worst_case(self):
        (key,), _ = self.with_keys()
        found = rows(self.database(), "SELECT * FROM tx_probe WHERE n = 3 AND max_spend_gwei = 21000 * 5 * 2 + 20999 "
                                      "AND max_fee_gwei = 5 AND priority_fee_gwei = 1")
        self.assertEqual([row["state"] for row in found], ["confirmed", "confirmed", "rejected"])
        self.assertEqual(found[2]["error_class"], "spend_limit")
        self.assertEqual(sent(self.url, key), 2)

    def test_an_account_without_money_is_told_and_nothing_is_sent(self):
        key = new_key()
        self.use(keys_in_environment(key))
        row, = rows(self.database(), "SELECT * FROM tx_probe")
        self.assertEqual((row["state"], row["error_class"], row["duration_sec"]), ("rejected", "funds", None))
        self.assertIn(address_of(key), row["error"])
        self.assertEqual(sent(self.url, key, "pending"), 0)

    def test_what_was_prepared_and_left_lying_takes_no_number(self):
        (key,), _ = self.with_keys()
        database = self.database()
        self.assertEqual([row["nonce"] for row in rows(database, "SELECT * FROM tx_probe WHERE send = 0 AND n = 3")],
                         [0, 1, 2])
        row, = rows(database, "SELECT * FROM tx_probe")
        self.assertEqual((row["state"], row["nonce"], sent(self.url, key)), ("confirmed", 0, 1))

    def test_bytes_behind_others_that_were_not_sent_are_not_sent_either(self):
        (key,), _ = self.with_keys()
        database = self.database()
        first, second = rows(database, "SELECT * FROM tx_probe WHERE send = 0 AND n = 2")
        rows(database, "SELECT * FROM tx_send(?)", reference({**first, "provider_id": "gone"}))
        row, = rows(database, "SELECT * FROM tx_send(?)", reference(second))
        self.assertEqual((row["state"], row["error_class"], row["raw"]), ("rejected", "nonce", None))
        self.assertEqual(sent(self.url, key, "pending"), 0)

    def test_prepared_bytes_are_sent_once_however_often_they_are_handed_in(self):
        (key,), _ = self.with_keys()
        database = self.database()
        prepared, = rows(database, "SELECT * FROM tx_probe WHERE send = 0")
        self.assertEqual((prepared["state"], prepared["nonce"], known(self.url, prepared["tx_hash"])),
                         ("prepared", 0, False))
        for _ in range(3):
            row, = rows(database, "SELECT * FROM tx_send(?)", reference(prepared))
            self.assertEqual((row["state"], row["tx_hash"]), ("pending", prepared["tx_hash"]))
        resolved, = rows(database, "SELECT * FROM tx_wait(?)", reference(prepared))
        self.assertEqual((resolved["state"], resolved["status"], resolved["raw"]), ("confirmed", 1, None))
        self.assertEqual(sent(self.url, key), 1)

    # Replacing: the number is taken by another transaction before ours arrives.

    def rivals(self, ours_gwei, theirs_gwei):
        """Prepares ours, lets another client send theirs with the same number, sends ours."""
        url, database = self.slow_node()
        (key,), _ = self.with_keys(url=url)
        ours, = rows(database, "SELECT * FROM tx_probe WHERE send = 0 AND max_fee_gwei = ? AND priority_fee_gwei = ?",
                     ours_gwei, ours_gwei)
        raw, theirs = sign(key, self.chain_id, ours["nonce"], address_of(key), tip=int(theirs_gwei * GWEI),
                           max_fee=int(theirs_gwei * GWEI))
        self.assertEqual(rpc(url, "eth_sendRawTransaction", raw), theirs)
        return url, database, key, ours, theirs

    def test_a_replacement_that_pays_no_more_is_refused_as_underpriced(self):
        url, database, key, ours, theirs = self.rivals(10, 10.5)
        row, = rows(database, "SELECT * FROM tx_send(?)", reference(ours))
        self.assertEqual((row["state"], row["error_class"]), ("rejected", "underpriced"))
        self.assertRegex(row["error"].lower(), "replacement transaction underpriced")
        rpc(url, "evm_mine")
        self.assertEqual((known(url, theirs), known(url, ours["tx_hash"]), sent(url, key)), (True, False, 1))

    def test_a_replacement_that_pays_an_eighth_more_is_taken(self):
        url, database, key, ours, theirs = self.rivals(11.25, 10)
        row, = rows(database, "SELECT * FROM tx_send(?)", reference(ours))
        self.assertEqual((row["state"], row["error"]), ("pending", None))
        rpc(url, "evm_mine")
        self.assertEqual((known(url, theirs), known(url, ours["tx_hash"]), sent(url, key)), (False, True, 1))

    def test_a_number_that_another_transaction_has_used_is_refused_and_the_next_probe_goes_on(self):
        url, database, key, ours, theirs = self.rivals(10, 10.5)
        rpc(url, "evm_mine")
        row, = rows(database, "SELECT * FROM tx_send(?)", reference(ours))
        self.assertEqual((row["state"], row["error_class"]), ("rejected", "nonce"))
        following, = rows(database, "SELECT * FROM tx_probe WHERE wait = 0")
        self.assertEqual((following["state"], following["nonce"]), ("pending", 1))

    def test_money_that_went_away_after_signing_is_a_refusal(self):
        (key,), _ = self.with_keys()
        database = self.database()
        prepared, = rows(database, "SELECT * FROM tx_probe WHERE send = 0")
        fund(self.url, key, ether=0)
        row, = rows(database, "SELECT * FROM tx_send(?)", reference(prepared))
        self.assertEqual((row["state"], row["error_class"], row["raw"]), ("rejected", "funds", None))

    def test_a_fee_below_the_base_fee_is_an_error_before_anything_is_sent(self):
        (key,), _ = self.with_keys()
        with self.assertRaisesRegex(sqlite3.OperationalError, "max_fee_gwei is below the chain's base fee"):
            rows(self.database(), "SELECT * FROM tx_probe WHERE max_fee_gwei = 0.000001 AND priority_fee_gwei = 0")
        self.assertEqual(sent(self.url, key, "pending"), 0)

    # The node's own words, said by a provider of which nothing else is known.

    def words(self):
        """What the node answers in each situation, as (expected state, expected class) → error object."""
        (key,), _ = self.with_keys()
        pool, _ = self.use(self.start(self.chain_id, automine=False))
        fund(pool, key)

        def refusal(url, nonce, signer=key, tip=GWEI, max_fee=4 * GWEI, chain_id=self.chain_id, **fields):
            raw, _ = sign(signer, chain_id, nonce, address_of(signer), tip=tip, max_fee=max_fee, **fields)
            try:
                rpc(url, "eth_sendRawTransaction", raw)
            except RuntimeError as error:
                return error.args[0]
            return None

        for url in (pool, self.url):
            self.assertIsNone(refusal(url, 0))
        return {
            "known in the pool": ("pending", None, refusal(pool, 0)),
            "known in a block": ("rejected", "nonce", refusal(self.url, 0)),
            "replacement": ("rejected", "underpriced", refusal(pool, 0, gas=22000)),
            "number used": ("rejected", "nonce", refusal(self.url, 0, max_fee=9 * GWEI)),
            "no money": ("rejected", "funds", refusal(self.url, 0, new_key())),
            "another chain": ("rejected", "wrong_chain", refusal(self.url, 1, chain_id=self.chain_id + 1)),
            "below the base fee": ("rejected", "underpriced", refusal(self.url, 1, tip=1, max_fee=2)),
            "too little gas": ("rejected", "rpc", refusal(self.url, 1, gas=20000)),
        }

    def test_the_nodes_words_are_classified_right_whoever_says_them(self):
        words = self.words()
        with Devnet(["a"], chain_id=self.chain_id + 2, slot_ms=0, fund_all=True) as fleet:
            database = fleet_database(fleet.urls, fleet.chain_id)
            for situation, (state, error_class, error) in words.items():
                with self.subTest(situation, error=error), keys_in_environment(new_key()):
                    fleet.fault("a", "rpc_error", methods=["eth_sendRawTransaction"], code=error["code"],
                                message=error["message"])
                    row, = rows(database, "SELECT * FROM tx_probe WHERE wait = 0")
                    self.assertEqual((row["state"], row["error_class"]), (state, error_class))


class Anvil(Node, unittest.TestCase):
    @staticmethod
    def start(chain_id, automine):
        return anvil("--chain-id", str(chain_id), *([] if automine else ["--no-mining"]))


class Hardhat(Node, unittest.TestCase):
    start = staticmethod(hardhat)


if __name__ == "__main__":
    unittest.main()
