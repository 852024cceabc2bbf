"""Heights as providers really answer them: what a poll makes of each, and what becomes of the honest ones beside them."""

import json
import os
import sys
import unittest

from devnet import Devnet
from nodes import connect, script

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "clients"))
from support import CountingServer, inline  # noqa: E402

HEIGHT = 1000
FIRST = HEIGHT - 63  # 64 blocks exist at the start


def fleet_of(*names, **more):
    return Devnet(list(names), slot_ms=0, first_block=FIRST, **more)


def database_for(fleet):
    database = connect()
    script(database, "schema")
    database.execute("UPDATE rpc_chains SET chain_id = ? WHERE chain = 'devnet'", (fleet.chain_id,))
    database.executemany("INSERT INTO rpc_providers (provider_id, chain, url, ws_url) VALUES (?, 'devnet', ?, ?)",
                         [(p["provider_id"], p["url"], p["ws_url"]) for p in fleet.ready["providers"]])
    database.execute("INSERT INTO route_targets (chain, policy) VALUES ('devnet', 'ping')")
    database.execute("UPDATE rpc_settings SET value = 60000 WHERE key IN ('route_deadline_ms', 'timeout_ms')")
    return database


def health(database, column):
    return dict(database.execute(f"SELECT provider_id, {column} FROM provider_health"))


def decision(database):
    script(database, "route")
    return database.execute("SELECT outcome, provider_id, reasons FROM route_decisions ORDER BY decision_id DESC LIMIT 1"
                            ).fetchone()


def exclusions(database):
    return dict(database.execute("SELECT provider_id, exclusion FROM route_candidates WHERE decision_id = "
                                 "(SELECT max(decision_id) FROM route_decisions)"))


class Encodings(unittest.TestCase):
    """Lenient on input, never guessing."""

    CASES = [('"0x7"', 7), ('"0x00a1"', 161), ('"0xA1"', 161), ('7', 7), ('0', 0), ('"0x0"', 0),
             ('"0x7fffffffffffffff"', 2**63 - 1), ('9223372036854775807', 2**63 - 1),
             ('"0x"', None), ('"0xZZ"', None), ('""', None), ('null', None), ('12.5', None), ('1e3', None),
             ('" 0x1"', None), ('"0x1 "', None), ('"7"', None), ('-1', None), ('"-0x1"', None), ('true', None),
             ('[]', None), ('{}', None), ('["0x1"]', None), ('"0xffffffffffffffff"', None), ('18446744073709551615', None),
             ('"0x8000000000000000"', None), ('9223372036854775808', None), ('"0x1\\u0000"', None), ('"٣"', None)]

    def test_a_height_is_read_exactly_or_not_at_all(self):
        with CountingServer() as server:
            database = connect()
            for server.result, height in self.CASES:
                with self.subTest(server.result):
                    row = database.execute("SELECT ok, block_number, error_class, typeof(block_number) FROM rpc_probe(?)",
                                           (inline(a=server.url),)).fetchone()
                    self.assertEqual(row, (0, None, "malformed", "null") if height is None else
                                     (1, height, None, "integer"))

    def test_a_null_result_beside_an_error_is_the_error(self):
        with fleet_of("a") as fleet:
            fleet.fault("a", "respond", body='{"jsonrpc":"2.0","id":null,"result":null,"error":{"code":-32000,'
                                             '"message":"header not found"}}')
            row = connect().execute("SELECT error_class, error_kind FROM rpc_probe(?)",
                                    (json.dumps([{"provider_id": "a", "url": fleet.urls["a"]}]),)).fetchone()
            self.assertEqual(row, ("rpc", "missing_data"))

    def test_a_solana_node_that_does_not_know_how_far_it_is_behind_is_unhealthy(self):
        with fleet_of({"provider_id": "a", "kind": "solana"}) as fleet:
            for data in ('{"numSlotsBehind":null}', '{"numSlotsBehind":213}', '{}', 'null'):
                fleet.fault("a", "respond", body='{"jsonrpc":"2.0","id":null,"error":{"code":-32005,'
                                                 '"message":"Node is unhealthy","data":%s}}' % data)
                rows = connect().execute(
                    "SELECT ok, error_class, error_kind, block_number FROM rpc_probe(?) WHERE method IN ('getHealth', 'getSlot')",
                    (json.dumps([{"provider_id": "a", "kind": "solana", "url": fleet.urls["a"]}]),)).fetchall()
                self.assertEqual(rows, [(0, "rpc", "unhealthy", None)] * 2, data)

    def test_a_slot_is_read_from_the_context_of_an_answer(self):
        with fleet_of({"provider_id": "a", "kind": "solana"}) as fleet:
            rows = connect().execute(
                "SELECT method, ok, block_number FROM rpc_probe(?) WHERE method IN ('getSlot', 'getLatestBlockhash', "
                "'getBalance', 'getTokenAccountsByOwner') ORDER BY 1",
                (json.dumps([{"provider_id": "a", "kind": "solana", "url": fleet.urls["a"]}]),)).fetchall()
            self.assertEqual([row[:2] for row in rows], [(method, 1) for method in (
                "getBalance", "getLatestBlockhash", "getSlot", "getTokenAccountsByOwner")])
            self.assertEqual({height for *_, height in rows}, {969})


class Company(unittest.TestCase):
    """Two honest providers and one that is not."""

    def assert_honest_ones_are_ready(self, database):
        lags = health(database, "lag_blocks")
        self.assertEqual((lags["a"], lags["b"]), (0, 0))
        self.assertEqual([health(database, "state")[name] for name in "ab"], ["ok", "ok"])
        self.assertEqual(decision(database)[0], "READY")
        self.assertIn(decision(database)[1], ("a", "b"))

    def test_a_false_height_makes_nobody_else_look_behind_and_is_never_chosen(self):
        for fault in ("height_other_chain", "max_uint64", "height_zero", "null_result", "empty_quantity", "rpc_error"):
            with self.subTest(fault), fleet_of("a", "b", "c") as fleet:
                database = database_for(fleet)
                fields = {"message": "no", "methods": ["eth_blockNumber"]} if fault == "rpc_error" else {}
                fleet.fault("c", fault, **fields)
                script(database, "collect")
                self.assert_honest_ones_are_ready(database)
                self.assertNotEqual(health(database, "state")["c"], "ok")
                self.assertIsNone(health(database, "lag_blocks")["c"])
                self.assertIsNotNone(exclusions(database)["c"])

    def test_two_that_contradict_each_other_are_no_reference(self):
        with fleet_of("a", "b") as fleet:
            fleet.fault("b", "height_other_chain")
            database = database_for(fleet)
            script(database, "collect")
            self.assertEqual(set(health(database, "lag_blocks").values()) - {0}, {None})
            self.assertEqual(decision(database)[:2], ("ABSTAIN", None))

    def test_one_false_answer_pins_nothing(self):
        with fleet_of("a", "b") as fleet:
            database = database_for(fleet)
            for fault in ([], [], ["height_other_chain"], []):
                fleet.change("a", faults=[{"name": name} for name in fault])
                fleet.mine()
                script(database, "collect")
            self.assertEqual(health(database, "lag_blocks"), {"a": 0, "b": 0})
            self.assertEqual(decision(database)[0], "READY")

    def test_a_single_zero_says_nothing_and_is_forgotten_with_the_next_height(self):
        with fleet_of("a", "b", "c") as fleet:
            database = database_for(fleet)
            fleet.fault("a", "height_zero")
            script(database, "collect")
            self.assertEqual(health(database, "lag_blocks"), {"a": None, "b": 0, "c": 0})
            fleet.change("a", faults=[])
            script(database, "collect")
            self.assertEqual(health(database, "lag_blocks"), {"a": 0, "b": 0, "c": 0})

    def test_a_provider_that_lags_is_not_chosen_though_it_answers_first(self):
        with fleet_of("a", "b", "c") as fleet:
            database = database_for(fleet)
            for name, delay in (("a", 60), ("b", 90), ("c", 0)):
                fleet.change(name, latency_ms=delay)
            fleet.change("c", lag=60)
            script(database, "collect")
            self.assertEqual(health(database, "lag_blocks"), {"a": 0, "b": 0, "c": 60})
            self.assertEqual(health(database, "state")["c"], "lagging")

    def test_a_chain_that_stands_still_is_nobodys_fault(self):
        with fleet_of("a", "b", "c") as fleet:
            database = database_for(fleet)
            for _ in range(3):
                script(database, "collect")
            self.assertEqual(set(health(database, "lag_blocks").values()), {0})
            self.assertEqual(set(health(database, "state").values()), {"ok"})

    def test_two_that_stopped_long_ago_do_not_pass_for_the_head(self):
        with fleet_of("a", "b", "c", "d") as fleet:
            database = database_for(fleet)
            for name in "cd":
                fleet.fault(name, "height_other_chain", by=500_000)
            self.assertIn(decision(database)[1], ("c", "d"))
            self.assertEqual([exclusions(database)[name] for name in "ab"], ["far_behind"] * 2)


class Streams(unittest.TestCase):
    def test_a_silent_stream_is_told_apart_from_a_chain_that_stands_still_by_the_height_beside_it(self):
        with fleet_of("a") as fleet:
            fleet.fault("a", "ws_silent")
            database = database_for(fleet)
            heights = []
            for _ in range(2):
                rows = dict(database.execute("SELECT method, block_number FROM rpc_probe WHERE "
                                             "method IN ('ws', 'eth_blockNumber') AND timeout_ms = 1500").fetchall())
                self.assertIsNone(rows["ws"])
                heights.append(rows["eth_blockNumber"])
                fleet.mine()
            self.assertEqual(heights, [HEIGHT, HEIGHT + 1])


if __name__ == "__main__":
    unittest.main()
