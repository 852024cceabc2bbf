#!/usr/bin/env python3
"""sql/schema.sql through Python's executescript, without the extension: defaults, guards and the views for people."""
import pathlib
import sqlite3
import time
import unittest

SCHEMA = (pathlib.Path(__file__).resolve().parents[2] / "sql" / "schema.sql").read_text()


class Schema(unittest.TestCase):
    def setUp(self):
        self.database = sqlite3.connect(":memory:", isolation_level=None)
        self.addCleanup(self.database.close)
        self.database.executescript(SCHEMA)

    def rows(self, sql, *values):
        return self.database.execute(sql, values).fetchall()

    def providers(self, *names, chain="devnet"):
        for name in names:
            self.rows("INSERT INTO rpc_providers (provider_id, chain, url) VALUES (?, ?, '')", name, chain)

    def poll(self, provider, height, cycle=1, ago=0, error=None):
        self.rows("INSERT INTO rpc_metrics (cycle_id, timestamp, provider_id, ok, latency_ms, block_number, "
                  "error_class) VALUES (?, ?, ?, ?, ?, ?, ?)", cycle, time.time() - ago, provider, error is None,
                  None if error else 9.5, height, error)

    def health(self, column="state"):
        return dict(self.rows(f"SELECT provider_id, {column} FROM provider_health"))

    def test_running_it_again_keeps_what_is_there(self):
        self.providers("a")
        self.rows("UPDATE rpc_settings SET value = 7 WHERE key = 'tolerance_sec'")
        self.database.executescript(SCHEMA)
        self.assertEqual(self.rows("SELECT value FROM rpc_settings WHERE key = 'tolerance_sec'"), [(7,)])
        self.assertEqual(len(self.rows("SELECT * FROM rpc_providers")), 1)

    def test_another_version_is_refused_by_what_to_do_about_it_and_nothing_changes(self):
        for version, said in ((1, "schema_version 1.*sql/migrate_1_to_2.sql"), (3, "newer rpcroute"),
                              ("1.5", "schema_version"), ("next", "schema_version"), (None, "schema_version")):
            self.rows("UPDATE rpc_settings SET value = ? WHERE key = 'schema_version'", version)
            self.refuses(said)

    def test_tables_without_a_version_are_not_given_one(self):
        self.rows("DELETE FROM rpc_settings WHERE key = 'schema_version'")
        self.refuses("schema_version")

    def refuses(self, said):
        self.rows("DROP TABLE IF EXISTS route_targets")
        before = self.rows("SELECT * FROM rpc_settings")
        with self.assertRaisesRegex(sqlite3.Error, said):
            self.database.executescript(SCHEMA)
        self.assertFalse(self.database.in_transaction)
        self.assertEqual(self.rows("SELECT name FROM sqlite_schema WHERE name = 'route_targets'"), [])
        self.assertEqual(self.rows("SELECT * FROM rpc_settings"), before)

    def test_a_number_typed_as_text_stays_comparable(self):
        self.rows("UPDATE rpc_settings SET value = '0.5' WHERE key = 'test_fraction'")
        self.assertEqual(self.rows("SELECT value < 0.6 FROM rpc_settings WHERE key = 'test_fraction'"), [(1,)])

    def test_a_chain_gets_twenty_minutes_of_blocks_as_its_limit_unless_it_says_otherwise(self):
        self.rows("INSERT INTO rpc_chains (chain, block_time_ms) VALUES "
                  "('slow', 60000), ('middle', 12000), ('quick', 100)")
        self.rows("INSERT INTO rpc_chains (chain, head_max_ahead) VALUES ('own', 5)")
        limits = dict(self.rows("SELECT chain, head_max_ahead FROM rpc_chains"))
        self.assertEqual([limits[c] for c in ("slow", "middle", "quick", "own")], [32, 100, 512, 5])
        self.rows("UPDATE rpc_chains SET block_time_ms = 5000, head_max_ahead = NULL WHERE chain = 'own'")
        self.assertEqual(self.rows("SELECT head_max_ahead FROM rpc_chains WHERE chain = 'own'"), [(240,)])

    def test_a_head_is_stale_after_fifty_blocks_or_two_minutes_unless_the_chain_says_otherwise(self):
        self.rows("INSERT INTO rpc_chains (chain, block_time_ms) VALUES ('slow', 60000), ('quick', 100)")
        self.rows("INSERT INTO rpc_chains (chain, stale_head_sec) VALUES ('own', 30), ('never', NULL)")
        stale = dict(self.rows("SELECT chain, stale_head_sec FROM rpc_chains"))
        self.assertEqual([stale[c] for c in ("slow", "quick", "own", "never", "devnet")], [3000, 120, 30, None, None])
        self.rows("UPDATE rpc_chains SET block_time_ms = 12000, stale_head_sec = -1 WHERE chain = 'never'")
        self.assertEqual(self.rows("SELECT stale_head_sec FROM rpc_chains WHERE chain = 'never'"), [(600,)])

    def test_chain_id_1_cannot_be_called_a_test_network(self):
        with self.assertRaises(sqlite3.IntegrityError):
            self.rows("INSERT INTO rpc_chains (chain, chain_id, is_mainnet) VALUES ('mine', 1, 0)")

    def test_a_provider_is_its_own_operator_unless_it_says_otherwise(self):
        self.providers("a")
        self.rows("INSERT INTO rpc_providers (provider_id, chain, operator) VALUES ('b', 'devnet', 'acme')")
        self.assertEqual(self.rows("SELECT operator FROM rpc_providers ORDER BY 1"), [("a",), ("acme",)])

    def test_one_model_is_active_and_going_back_is_one_update(self):
        self.rows("INSERT INTO rpc_models (model, content, active) VALUES ('old', '{}', 0), ('new', '{}', 1)")
        with self.assertRaises(sqlite3.IntegrityError):
            self.rows("INSERT INTO rpc_models (model, content, active) VALUES ('third', '{}', 1)")
        for update in ("active = 1 WHERE model = 'old'", "active = (model = 'new')", "active = (model = 'old')"):
            self.rows("UPDATE rpc_models SET " + update)
            self.assertEqual(len(self.rows("SELECT model FROM rpc_models WHERE active")), 1, update)
        self.assertEqual(self.rows("SELECT model FROM rpc_models WHERE active"), [("old",)])

    def test_rows_that_contradict_themselves_are_refused(self):
        for sql in ("INSERT INTO rpc_metrics (timestamp, provider_id, ok) VALUES (1, 'a', 2)",
                    "INSERT INTO tx_outcomes (timestamp, provider_id, state) VALUES (1, 'a', 'lost')",
                    "INSERT INTO tx_outcomes (provider_id, state) VALUES ('a', 'pending')",
                    "INSERT INTO tx_outcomes (timestamp, provider_id, propensity) VALUES (1, 'a', 0)",
                    "INSERT INTO tx_outcomes (timestamp, provider_id, preconfirmed_sec) VALUES (1, 'a', -0.1)",
                    "INSERT INTO tx_outcomes (timestamp, provider_id, max_cost_gwei) VALUES (1, 'a', -1)",
                    "INSERT INTO route_decisions (timestamp, chain, workload, region, outcome, policy) "
                    "VALUES (1, 'devnet', 'transfer', 'local', 'READY', 'smart')",
                    "INSERT INTO route_candidates (decision_id, provider_id, eligible) VALUES (1, 'a', 0)"):
            with self.assertRaises(sqlite3.IntegrityError, msg=sql):
                self.rows(sql)

    def test_health_holds_the_height_observations_alone_each_with_its_rowid(self):
        self.providers("a")
        self.providers("s", chain="solana-devnet")
        self.rows("INSERT INTO rpc_metrics (timestamp, provider_id, chain, region, method) VALUES "
                  "(1, 'a', 'devnet', 'x', 'eth_blockNumber'), (2, 'a', 'devnet', 'x', 'eth_chainId'), "
                  "(3, 'a', 'devnet', 'x', 'ws'), (4, 's', NULL, 'y', 'getSlot'), (5, 's', NULL, 'y', 'getBalance'), "
                  "(6, 'stranger', NULL, 'y', 'eth_blockNumber')")
        self.assertEqual(self.rows("SELECT rowid, timestamp, path FROM rpc_health ORDER BY 1"),
                         [(1, 1, "a\x1fx"), (4, 4, "s\x1fy"), (6, 6, "stranger\x1fy")])

    def test_provider_health_tells_lagging_failing_stale_and_unseen_apart(self):
        self.providers("ahead", "behind", "broken", "old", "never", "off")
        self.rows("UPDATE rpc_providers SET enabled = 0 WHERE provider_id = 'off'")
        self.poll("old", 50, cycle=0, ago=2000)
        for provider, height in (("ahead", 100), ("behind", 97), ("broken", 100)):
            self.poll(provider, height)
        self.poll("broken", None, cycle=2, error="timeout")
        self.assertEqual(self.health(), {"ahead": "ok", "behind": "lagging", "broken": "failing", "old": "stale",
                                         "never": "unseen", "off": "disabled"})
        self.assertEqual(self.health("lag_blocks")["behind"], 3)
        self.assertEqual(self.health("lag_sec")["behind"], 3.0)
        self.assertEqual(self.health("success_share")["broken"], 0.5)
        self.assertEqual(self.health("error_class")["broken"], "timeout")

    def test_one_impossible_height_does_not_make_the_others_look_behind(self):
        self.providers("a", "b", "wrong-chain")
        for provider, height in (("a", 100), ("b", 99), ("wrong-chain", 20_000_000)):
            self.poll(provider, height)
        self.assertEqual(self.health(), {"a": "ok", "b": "ok", "wrong-chain": "uncorroborated"})
        self.assertEqual(self.health("lag_blocks"), {"a": 0, "b": 1, "wrong-chain": None})

    def test_two_endpoints_of_one_operator_do_not_witness_for_each_other(self):
        self.providers("a", "b")
        self.rows("UPDATE rpc_providers SET operator = 'acme'")
        self.poll("a", 100)
        self.poll("b", 90)
        self.assertEqual(self.health(), {"a": "uncorroborated", "b": "uncorroborated"})

    def test_imported_heights_without_a_cycle_are_compared_within_the_window(self):
        self.providers("a", "b", "long-ago")
        self.poll("long-ago", 500, cycle=None, ago=300)
        self.poll("a", 100, cycle=None, ago=20)
        self.poll("b", 98, cycle=None, ago=10)
        self.assertEqual(self.health("lag_blocks")["b"], 2)
        self.assertEqual(self.health()["b"], "lagging")

    def test_route_latest_is_the_last_decision_of_each_target_with_its_url(self):
        self.providers("a")
        self.rows("INSERT INTO route_targets (chain) VALUES ('devnet'), ('base')")
        for moment, outcome, provider in ((1, "READY", "a"), (3, "ABSTAIN", None), (2, "READY", "a")):
            self.rows("INSERT INTO route_decisions (timestamp, chain, workload, region, outcome, provider_id, policy) "
                      "VALUES (?, 'devnet', 'transfer', 'local', ?, ?, 'smart')", moment, outcome, provider)
        self.assertEqual(self.rows("SELECT chain, timestamp, outcome, url FROM route_latest"),
                         [("devnet", 3, "ABSTAIN", None)])
        self.rows("DELETE FROM route_decisions WHERE timestamp = 3")
        self.assertEqual(self.rows("SELECT timestamp, provider_id, url FROM route_latest"), [(2, "a", "")])


if __name__ == "__main__":
    unittest.main()
