"""Which chain providers are on, and how old their heads are: asked within the rounds of collect.sql, once in identity_sec."""

import unittest

from devnet import Devnet
from nodes import connect, script

CHAIN_ID = 424242


class Identity(unittest.TestCase):
    def setUp(self):
        self.fleet = Devnet(["a", "b"], slot_ms=0)
        self.addCleanup(self.fleet.stop)
        self.database = connect()
        self.addCleanup(self.database.close)
        script(self.database, "schema")
        self.database.execute("UPDATE rpc_chains SET chain_id = ? WHERE chain = 'devnet'", (self.fleet.chain_id,))
        for provider in self.fleet.ready["providers"]:
            self.database.execute("INSERT INTO rpc_providers (provider_id, chain, url) VALUES (?, 'devnet', ?)",
                                  (provider["provider_id"], provider["url"]))

    def identity(self):
        return self.database.execute("SELECT provider_id, ok, chain_id, block_number, error_class, error_kind FROM rpc_identity "
                                     "ORDER BY identity_id").fetchall()

    def age_identities(self, seconds):
        self.database.execute("UPDATE rpc_identity SET timestamp = timestamp - ?", (seconds,))

    def test_identity_is_asked_in_the_first_round_and_not_again_before_its_time(self):
        script(self.database, "collect")
        self.assertEqual([row[:3] for row in self.identity()], [("a", 1, CHAIN_ID), ("b", 1, CHAIN_ID)])
        head, timestamp = self.database.execute("SELECT block_number, head_timestamp FROM rpc_identity").fetchone()
        self.assertEqual(head, self.fleet.head())
        self.assertGreater(timestamp, 1.6e9)
        script(self.database, "collect")
        self.assertEqual(len(self.identity()), 2)
        self.age_identities(601)
        script(self.database, "collect")
        self.assertEqual(len(self.identity()), 4)

    def test_only_heights_are_observations(self):
        script(self.database, "collect")
        self.assertEqual(self.database.execute("SELECT DISTINCT method FROM rpc_metrics").fetchall(), [("eth_blockNumber",)])

    def test_a_new_provider_is_asked_at_once(self):
        self.database.execute("UPDATE rpc_providers SET enabled = 0 WHERE provider_id = 'b'")
        script(self.database, "collect")
        self.assertEqual([row[0] for row in self.identity()], ["a"])
        self.database.execute("UPDATE rpc_providers SET enabled = 1 WHERE provider_id = 'b'")
        script(self.database, "collect")
        self.assertIn("b", [row[0] for row in self.identity()])

    def test_another_chain_is_noticed_and_what_it_said_is_kept(self):
        script(self.database, "collect")
        self.fleet.fault("b", "wrong_chain_id")
        self.age_identities(601)
        script(self.database, "collect")
        provider, ok, chain_id, _, error_class, error_kind = self.identity()[-1]
        self.assertEqual((provider, ok, error_class, error_kind), ("b", 0, "config", "wrong_chain"))
        self.assertNotEqual(chain_id, CHAIN_ID)
        self.assertEqual(self.identity()[-2][:2], ("a", 1))

    def test_who_does_not_answer_is_not_asked_in_every_round(self):
        self.fleet.fault("b", "empty_200")
        script(self.database, "collect")
        self.assertEqual([(row[0], row[1], row[2]) for row in self.identity()], [("a", 1, CHAIN_ID), ("b", 0, None)])
        script(self.database, "collect")
        self.assertEqual(len(self.identity()), 2)


if __name__ == "__main__":
    unittest.main()
