"""The extension against real anvil nodes, with cast and plain HTTP as independent witnesses."""

import json
import os
import secrets
import subprocess
import sys
import unittest

from nodes import EXTENSION, anvil, cast, connect, rpc, script


def one(database, sql, *arguments):
    return database.execute(sql, arguments).fetchone()


def in_another_process(sql, argument, url, chain_id):
    """The row of a process that did not send what it resolves, and so cannot time it."""
    program = ("import json, sys; from nodes import connect; "
               "sql, argument, providers = sys.argv[1:]; "
               "row = connect().execute(sql.replace('(?)', '(?, ?)'), (argument, providers)).fetchone(); "
               "print(json.dumps(row))")
    providers = json.dumps([{"provider_id": "a", "url": url, "chain_id": chain_id, "is_mainnet": False}])
    done = subprocess.run([sys.executable, "-c", program, sql, argument, providers], check=True, capture_output=True,
                          text=True, cwd=os.path.dirname(os.path.abspath(__file__)),
                          env={**os.environ, "RPCROUTE_EXTENSION": os.path.abspath(EXTENSION)})
    return json.loads(done.stdout)


class ThreeNodes(unittest.TestCase):
    def test_each_height_is_the_nodes_own(self):
        with anvil() as (a, _), anvil() as (b, _), anvil() as (c, _):
            for url, blocks in ((a, 5), (b, 17), (c, 300)):
                rpc(url, "anvil_mine", hex(blocks))
            providers = json.dumps([{"provider_id": name, "url": url} for name, url in zip("abc", (a, b, c))])
            rows = connect().execute("SELECT provider_id, ok, block_number FROM rpc_probe(?) ORDER BY 1", (providers,))
            self.assertEqual(rows.fetchall(), [("a", 1, 5), ("b", 1, 17), ("c", 1, 300)])
            self.assertEqual(cast("block-number", "--rpc-url", b), "17")

    def test_a_stopped_node_is_a_row_not_an_error(self):
        with anvil() as (url, process):
            providers = json.dumps([{"provider_id": "a", "url": url}])
            database = connect()
            self.assertEqual(one(database, "SELECT ok, error_class FROM rpc_probe(?)", providers), (1, None))
            process.kill()
            process.wait()
            self.assertEqual(one(database, "SELECT ok, error_class, block_number FROM rpc_probe(?)", providers),
                             (0, "connect", None))

    def test_a_second_poll_finds_the_connection_warm(self):
        with anvil() as (url, _):
            providers = json.dumps([{"provider_id": "a", "url": url}])
            database = connect()
            self.assertGreater(one(database, "SELECT setup_ms FROM rpc_probe(?)", providers)[0], 0)
            self.assertEqual(one(database, "SELECT setup_ms FROM rpc_probe(?)", providers)[0], 0)


class Probing(unittest.TestCase):
    """Three names for one node: all providers of one chain."""

    def setUp(self):
        # A chain of its own for each test: the machine remembers, by chain id, which numbers an account has used.
        self.chain_id = 1_000_000 + secrets.randbelow(1 << 40)
        self.url, _ = self.enterContext(anvil("--block-time", "1", "--chain-id", str(self.chain_id)))
        self.database = connect()
        script(self.database, "schema")
        self.database.execute("UPDATE rpc_chains SET chain_id = ? WHERE chain = 'devnet'", (self.chain_id,))
        self.database.executemany("INSERT INTO rpc_providers (provider_id, chain, url) VALUES (?, 'devnet', ?)",
                                  [(name, self.url) for name in ("a", "b", "c")])
        self.account = rpc(self.url, "eth_accounts")[0]

    def enterContext(self, manager):  # unittest has it from Python 3.11 on
        value = manager.__enter__()
        self.addCleanup(manager.__exit__, None, None, None)
        return value

    def sent(self):
        return int(rpc(self.url, "eth_getTransactionCount", self.account, "latest"), 16)

    def test_a_probe_is_found_by_its_hash_with_another_client(self):
        row = one(self.database, "SELECT tx_hash, state, status, duration_sec, propensity, block_number, provider_id "
                                 "FROM tx_probe WHERE signer = 'node'")
        self.assertEqual(row[1:3], ("confirmed", 1))
        self.assertGreater(row[3], 0)
        self.assertAlmostEqual(row[4], 1 / 3)
        self.assertEqual(cast("tx", row[0], "blockNumber", "--rpc-url", self.url), str(row[5]))
        self.assertEqual(self.sent(), 1)

    def test_a_join_against_three_rows_sends_once(self):
        rows = self.database.execute(
            "SELECT v.column1, p.tx_hash FROM (VALUES (1), (2), (3)) v LEFT JOIN tx_probe p ON p.signer = 'node'")
        self.assertEqual(len({row[1] for row in rows.fetchall()}), 1)
        self.assertEqual(self.sent(), 1)

    def test_a_probe_not_waited_for_is_pending_and_resolved_later(self):
        state, tx_hash, at = one(self.database, "SELECT state, tx_hash, timestamp FROM tx_probe "
                                                "WHERE wait = 0 AND signer = 'node'")
        self.assertEqual(state, "pending")
        sent = json.dumps([{"provider_id": "a", "tx_hash": tx_hash, "timestamp": at}])
        resolve = "SELECT state, duration_source, duration_sec IS NULL FROM tx_wait(?)"
        # Whoever sent it can time it, unless it was through before the first look.
        self.assertIn(one(self.database, resolve, sent), [("confirmed", "receipt", 0), ("confirmed", "block", 1)])
        self.assertEqual(in_another_process(resolve, sent, self.url, self.chain_id), ["confirmed", "block", 1])


if __name__ == "__main__":
    unittest.main()
