"""Polls of real nodes, beside what cast says of them: heights, other reads, WebSocket evidence, digests across clients."""

import json
import unittest

from hardhat import hardhat
from nodes import anvil, cast, connect, rpc


def polled(database, providers, columns, where="1"):
    return database.execute(f"SELECT {columns} FROM rpc_probe(?) WHERE {where} ORDER BY provider_id, method, sample",
                            (json.dumps(providers),)).fetchall()


class Clients(unittest.TestCase):
    """anvil and hardhat, at different heights."""

    @classmethod
    def setUpClass(cls):
        cls.anvil, _ = cls.enterClassContext(anvil())
        cls.hardhat, _ = cls.enterClassContext(hardhat())
        rpc(cls.anvil, "anvil_mine", "0x7")
        rpc(cls.hardhat, "hardhat_mine", "0x2f")
        cls.providers = [{"provider_id": "anvil", "url": cls.anvil, "ws_url": cls.anvil.replace("http", "ws")},
                         {"provider_id": "hardhat", "url": cls.hardhat, "ws_url": cls.hardhat.replace("http", "ws")}]
        cls.database = connect()

    def test_heights_are_what_cast_says(self):
        expected = [(name, int(cast("block-number", "--rpc-url", url)))
                    for name, url in (("anvil", self.anvil), ("hardhat", self.hardhat))]
        self.assertEqual(expected, [("anvil", 7), ("hardhat", 47)])
        for mode in ("parallel", "sequential"):
            self.assertEqual(polled(self.database, self.providers, "provider_id, block_number", f"mode = '{mode}'"),
                             expected)

    def test_every_read_of_the_seed_answers_and_a_block_carries_its_height(self):
        methods = "'eth_blockNumber', 'eth_chainId', 'eth_syncing', 'eth_getBlockByNumber', 'eth_getBalance'"
        rows = polled(self.database, self.providers, "provider_id, method, ok, block_number, error",
                      f"method IN ({methods})")
        self.assertEqual(len(rows), 10)
        for name, method, ok, height, error in rows:
            self.assertEqual(ok, 1, (name, method, error))
            with_height = method in ("eth_blockNumber", "eth_getBlockByNumber")
            self.assertEqual(height, {"anvil": 7, "hardhat": 47}[name] if with_height else None, (name, method))

    def test_an_unknown_method_is_unsupported_however_the_client_says_it(self):
        rows = polled(self.database, self.providers, "provider_id, error_class, error_kind", "method = 'eth_getHeaderByNumber'")
        for name, error_class, kind in rows:
            self.assertEqual((error_class, kind), ("rpc", "unsupported"), name)

    def test_a_later_poll_goes_over_the_warm_connection(self):
        polled(self.database, self.providers, "ok")
        self.assertEqual(polled(self.database, self.providers, "setup_ms"), [(0.0,), (0.0,)])

    def test_balances_of_one_account_have_one_digest_across_clients(self):
        account = rpc(self.anvil, "eth_accounts")[0]
        rows = self.database.execute("SELECT provider_id, ok, digest FROM rpc_call('eth_getBalance', ?, ?)",
                                     (json.dumps([account, "latest"]), json.dumps(self.providers))).fetchall()
        self.assertEqual([row[1] for row in rows], [1, 1])
        self.assertEqual(len({digest for *_, digest in rows}), 1)


class Heads(unittest.TestCase):
    def test_a_stream_of_anvil_gives_the_time_to_connect_and_to_the_first_head(self):
        with anvil("--block-time", "1") as (url, _):
            providers = [{"provider_id": "a", "url": url, "ws_url": url.replace("http", "ws")}]
            (ok, latency, first, total, height, status), = polled(
                connect(), providers, "ok, latency_ms, first_message_ms, total_ms, block_number, http_status",
                "method = 'ws' AND timeout_ms = 20000")
            self.assertEqual((ok, status), (1, 101))
            self.assertGreater(latency, 0)
            self.assertGreater(first, 0)
            self.assertGreaterEqual(total, latency)
            self.assertGreaterEqual(int(cast("block-number", "--rpc-url", url)), height)
            self.assertGreater(height, 0)

    def test_a_node_that_makes_no_block_sends_no_head_and_keeps_the_time_to_connect(self):
        with anvil() as (url, _):
            providers = [{"provider_id": "a", "url": url, "ws_url": url.replace("http", "ws")}]
            (ok, error_class, kind, connected), = polled(
                connect(), providers, "ok, error_class, error_kind, latency_ms > 0", "method = 'ws' AND timeout_ms = 2000")
            self.assertEqual((ok, error_class, kind, connected), (0, "timeout", "no_head", 1))

    def test_heights_and_heads_are_asked_for_in_one_round(self):
        with anvil("--block-time", "1") as (url, _):
            providers = [{"provider_id": "a", "url": url, "ws_url": url.replace("http", "ws")}]
            rows = polled(connect(), providers, "method, ok", "method IN ('ws', 'eth_blockNumber') AND timeout_ms = 20000")
            self.assertEqual(rows, [("eth_blockNumber", 1), ("ws", 1)])


if __name__ == "__main__":
    unittest.main()
