"""Probe transactions where descriptors are few, and in a host that forks while it waits."""

import contextlib
import os
import resource
import subprocess
import tempfile
import unittest

from devnet import Devnet
from nodes import EXTENSION, connect
from transactions import between, fleet_database, keys_in_environment, new_key, own_chain_id, rows

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sql", "probe_tx.sql")
PATIENCE_SEC = 120


class Limits(unittest.TestCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.fleet = self.stack.enter_context(Devnet(["a", "b"], chain_id=own_chain_id(), slot_ms=40, fund_all=True))
        self.path = os.path.join(self.stack.enter_context(tempfile.TemporaryDirectory()), "rpc.db")
        self.stack.enter_context(keys_in_environment(new_key()))

    def shell(self, sql, descriptors=None):
        limit = None if descriptors is None else lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
        return subprocess.run(["sqlite3", "-bail", "-json", "-cmd", f".load {EXTENSION}", self.path], input=sql, text=True,
                              capture_output=True, timeout=PATIENCE_SEC, preexec_fn=limit, check=False)

    def test_a_long_run_of_the_script_needs_few_descriptors(self):
        fleet_database(self.fleet.urls, self.fleet.chain_id, path=self.path, probe_n=40).close()
        with open(SCRIPT, encoding="utf-8") as script:
            run = self.shell(script.read(), descriptors=48)
        self.assertEqual(run.stderr, "")
        with contextlib.closing(connect(self.path)) as database:
            found = database.execute("SELECT state, count(*) FROM tx_outcomes GROUP BY 1").fetchall()
        self.assertEqual(found, [("confirmed", 40)])
        self.assertEqual(sorted(t["nonce"] for t in self.fleet.control("/truth/transactions")), list(range(40)))

    def test_a_child_forked_while_a_transaction_is_on_its_way_keeps_nothing_locked(self):
        children = []
        reader, writer = os.pipe()

        def fork(method, params):
            if method == "eth_sendRawTransaction" and not children:
                child = os.fork()
                if child == 0:
                    os.close(writer)
                    os.read(reader, 1)  # until the test lets it end
                    os._exit(0)
                children.append(child)

        url = self.stack.enter_context(between(self.fleet.urls["a"], coming=fork))
        with contextlib.closing(fleet_database({"a": url}, self.fleet.chain_id, path=self.path)) as database:
            first, = rows(database, "SELECT state, nonce FROM tx_probe")
        try:
            self.assertEqual(len(children), 1)
            self.assertEqual(first, {"state": "confirmed", "nonce": 0})
            # Were the account locked by the child, the number would be waited for until the limit, and refused.
            with contextlib.closing(connect(self.path)) as database:
                database.execute("UPDATE rpc_providers SET url = ?", (self.fleet.urls["a"],))
            run = self.shell("SELECT state, nonce FROM tx_probe WHERE timeout_sec = 20")
            self.assertEqual(run.stdout.strip(), '[{"state":"confirmed","nonce":1}]', run.stderr)
        finally:
            os.close(writer)
            os.close(reader)
            for child in children:
                os.waitpid(child, 0)


if __name__ == "__main__":
    unittest.main()
