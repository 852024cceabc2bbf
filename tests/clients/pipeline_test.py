#!/usr/bin/env python3
"""The pipeline's scripts through Python's executescript: alignment to the last value, training, evaluation, routing."""
import contextlib
import http.server
import json
import os
import pathlib
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXTENSION = os.environ.get("RPCROUTE_EXTENSION", str(ROOT / "build" / "rpcroute"))
DEVNET = os.environ.get("RPCROUTE_DEVNET", str(ROOT / "build" / "rpcroute-devnet"))
RESULTS = ("training_set", "alignment_report", "routing_states", "evaluation", "split_leakage", "routing_value",
           "strategy_divergence", "provider_summary", "importance", "route_decisions", "route_candidates")


def script(name):
    return (ROOT / "sql" / f"{name}.sql").read_text()


class Pipeline(unittest.TestCase):
    """A new database in a file for each test."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = os.path.join(directory.name, "rpc.db")
        self.database = self.connect()
        self.run_script("schema")

    def connect(self, extension=True):
        database = sqlite3.connect(self.path, isolation_level=None)
        self.addCleanup(database.close)
        if extension:
            database.enable_load_extension(True)
            database.load_extension(EXTENSION)
        return database

    def run_script(self, *names):
        for name in names:
            self.database.executescript(script(name))
            self.assertFalse(self.database.in_transaction)

    def rows(self, sql, *values):
        return self.database.execute(sql, values).fetchall()

    def value(self, sql, *values):
        return self.rows(sql, *values)[0][0]

    def setting(self, key, value):
        self.rows("UPDATE rpc_settings SET value = ? WHERE key = ?", value, key)

    def provider(self, name, url="", chain="ethereum-sepolia", **more):
        columns = {"provider_id": name, "chain": chain, "url": url, **more}
        self.rows(f"INSERT INTO rpc_providers ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
                  *columns.values())

    def observe(self, provider, timestamp, height, latency=10.0, cycle=None, **more):
        columns = {"provider_id": provider, "timestamp": timestamp, "block_number": height, "latency_ms": latency,
                   "cycle_id": cycle, **more}
        self.rows(f"INSERT INTO rpc_metrics ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
                  *columns.values())

    def transaction(self, provider, timestamp, duration=12.0, **more):
        columns = {"provider_id": provider, "timestamp": timestamp, "duration_sec": duration, "propensity": 0.25,
                   "status": 1, **more}
        self.rows(f"INSERT INTO tx_outcomes ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
                  *columns.values())
        return self.value("SELECT max(tx_id) FROM tx_outcomes")

    def history(self, transactions=400, seed=1):
        """Four providers polled every 30 s; lag costs 12 s a block, and the providers differ in their means."""
        draw = random.Random(seed)
        names = ("infura", "alchemy", "drpc", "publicnode")
        start = 1.75e9
        self.rows("BEGIN")
        for name in names:
            self.provider(name)
        lags = {}
        for cycle in range(transactions):
            for i, name in enumerate(names):
                lag = lags[cycle, name] = draw.choice((1, 2, 3)) if draw.random() < 0.2 else 0
                self.observe(name, start + 30 * cycle + draw.random() * 0.4, 1000 + 2 * cycle - lag,
                             100 + 20 * i + draw.expovariate(1 / 30), cycle + 1)
        for cycle in range(transactions):
            i = draw.randrange(4)
            self.transaction(names[i], start + 30 * cycle + 10,
                             4 + 8 * draw.random() + i + 12 * lags[cycle, names[i]])
        self.rows("COMMIT")


class Alignment(Pipeline):
    def reason_of(self, tx_id):
        """Alone in the database, the transaction shows its reason."""
        self.run_script("align")
        return self.value("SELECT reason FROM alignment_report WHERE n = 1")

    def features(self, tx_id, columns="latency_ms, block_lag, rolling_latency_5, mean_lag_5"):
        return self.rows(f"SELECT {columns} FROM training_set WHERE tx_id = ?", tx_id)[0]

    def test_every_reason_occurs_once_in_the_order_of_the_contract(self):
        for name in "abc":
            self.provider(name)
        for name, height in (("a", 100), ("b", 103), ("c", 103)):
            self.observe(name, 1000.0, height, cycle=1)
        self.observe("a", 2000.0, None, None, cycle=2, ok=0, error_class="timeout")
        self.observe("b", 2000.0, 200, None, cycle=2)
        self.observe("c", 2000.0, 200, cycle=2)
        self.observe("a", 3000.0, 300, cycle=3)
        self.observe("b", 3000.0, 301, cycle=3)
        self.observe("c", 3000.0, 9_000_000, cycle=3)
        self.observe("a", 4000.0, 400, cycle=4)
        self.observe("b", 4000.0, 0, cycle=4)
        self.transaction("a", 1001.0, None, state="pending", status=None)
        self.transaction("a", None, None, state="prepared", status=None)
        self.transaction("a", 1001.0, None, state="rejected", status=None)
        self.transaction("a", 1001.0, None, state="timeout", status=None, error_class="unobserved", overlap=1)
        self.transaction("a", 1001.0, 300.0, state="timeout", status=None, error_class="unobserved")
        self.transaction("a", 1001.0, None, state="timeout", status=None)
        self.transaction("a", 1001.0, state="reverted", status=0)
        self.transaction("a", 1001.0, status=0)
        self.transaction("a", 1001.0, overlap=1)
        self.transaction("a", 1001.0, None)
        self.transaction("a", 1000.0)        # strictly before: the observation at the same moment does not count
        self.transaction("a", 1900.0 + 1)    # 901 s after the only one
        self.transaction("a", 2001.0)        # its last poll failed
        self.transaction("b", 2001.0)        # its last poll has no latency
        self.transaction("c", 3001.0)        # another chain's height
        self.transaction("a", 4001.0)        # nobody to compare with: b answered 0
        self.transaction("b", 4001.0)        # 0 is no height
        matched = self.transaction("a", 3001.0)
        late = self.transaction("a", 1900.0)  # exactly tolerance_sec after its observation
        self.run_script("align")
        self.assertEqual(self.rows("SELECT * FROM alignment_report"), [
            ("pending", 2), ("rejected", 1), ("unobserved", 3), ("failed_tx", 2), ("overlapping", 1),
            ("duration_missing", 1), ("no_observation_in_window", 2), ("observation_failed", 1), ("latency_missing", 1),
            ("implausible_height", 1), ("block_lag_missing", 2), ("matched", 2)])
        self.assertEqual(self.value("SELECT sum(n) FROM alignment_report"),
                         self.value("SELECT count(*) FROM tx_outcomes"))
        self.assertEqual(self.rows("SELECT tx_id FROM training_set ORDER BY tx_id"), [(matched,), (late,)])
        self.assertEqual(self.features(late, "latency_ms, block_lag"), (10.0, 3))
        self.assertEqual(self.features(matched, "block_lag"), (1,))

    def test_the_head_is_that_of_the_round_as_far_as_it_was_known_at_the_broadcast(self):
        for name in "abc":
            self.provider(name)
        self.observe("a", 1000.1, 100, 10.0, cycle=1)
        self.observe("b", 1000.2, 103, 20.0, cycle=1)
        self.observe("c", 1000.3, 103, 30.0, cycle=1)
        self.observe("a", 1030.1, 105, 16.0, cycle=2)
        self.observe("b", 1030.2, 105, 26.0, cycle=2)
        self.observe("c", 1030.9, 106, 36.0, cycle=2)
        first = self.transaction("a", 1010.0)
        during = self.transaction("b", 1030.5)
        after = self.transaction("a", 1031.0)
        self.run_script("align")
        self.assertEqual(self.features(first), (10.0, 3, 10.0, 3.0))
        self.assertEqual(self.features(during), (26.0, 0, 23.0, 0.0))   # c's 106 was not in yet
        self.assertEqual(self.features(after), (16.0, 1, 13.0, 2.0))

    def test_means_reach_back_five_answers_and_skip_failures(self):
        for name in "ab":
            self.provider(name)
        for cycle in range(8):
            self.observe("a", 1000.0 + cycle, 100 + cycle - (cycle % 2), 10.0 * (cycle + 1), cycle=cycle)
            self.observe("b", 1000.0 + cycle, 100 + cycle, cycle=cycle)
        self.observe("a", 1008.0, None, None, cycle=8, ok=0, error_class="timeout")
        self.observe("b", 1008.0, 108, cycle=8)
        self.observe("a", 1009.0, 109, 200.0, cycle=9)
        self.observe("b", 1009.0, 109, cycle=9)
        tx = self.transaction("a", 1009.5)
        self.run_script("align")
        # Cycles 9, 7, 6, 5, 4; those with an odd number but the last lag by one.
        self.assertEqual(self.features(tx), (200.0, 0, (200 + 80 + 70 + 60 + 50) / 5, 2 / 5))

    def test_one_operator_does_not_witness_for_itself(self):
        self.provider("a", operator="acme")
        self.provider("b", operator="acme")
        self.observe("a", 1000.0, 100, cycle=1)
        self.observe("b", 1000.0, 100, cycle=1)
        self.assertEqual(self.reason_of(self.transaction("a", 1001.0)), "block_lag_missing")

    def test_imported_observations_are_compared_within_the_window_before_the_broadcast(self):
        self.observe("x", 5000.0, 200)
        self.observe("y", 5001.0, 204)
        self.observe("y", 4900.0, 300)   # before the window
        tx = self.transaction("x", 5002.0, propensity=None)
        self.run_script("align")
        self.assertEqual(self.features(tx, "block_lag"), (4,))
        self.assertEqual(self.value("SELECT count(*) FROM routing_states"), 0)

    def test_regions_see_their_own_paths(self):
        for name in "ab":
            self.provider(name)
        for region, lag in (("here", 0), ("there", 2)):
            cycle = 1 + lag
            self.observe("a", 1000.0, 100 - lag, cycle=cycle, region=region)
            self.observe("b", 1000.0, 100, cycle=cycle, region=region)
        here = self.transaction("a", 1001.0, region="here")
        there = self.transaction("a", 1001.0, region="there")
        self.run_script("align")
        self.assertEqual((self.features(here, "block_lag"), self.features(there, "block_lag")), ((0,), (2,)))

    def test_the_split_is_by_time_and_never_through_one_moment(self):
        for name in "ab":
            self.provider(name)
            for moment in range(10):
                self.observe(name, 1000.0 + moment, 100, cycle=moment)
        for moment in (1, 2, 3, 4, 5, 6, 7, 7, 7, 8):
            self.transaction("a", 1000.5 + moment, duration=float(moment))
        self.run_script("align")
        # floor(0.8 · 10) = 8 would cut through the three at 7.
        self.assertEqual(self.rows("SELECT split, count(*), max(duration_sec) FROM training_set GROUP BY split"),
                         [("test", 4, 8.0), ("train", 6, 6.0)])
        self.assertEqual(self.rows("SELECT DISTINCT provider_mean_sec FROM training_set"), [(21 / 6,)])
        self.setting("test_fraction", 0)
        self.run_script("align")
        self.assertEqual(self.rows("SELECT DISTINCT split FROM training_set"), [("train",)])

    def test_clock_features_are_utc_and_monday_is_0_and_a_timeout_is_censored(self):
        for name in "ab":
            self.provider(name)
            self.observe(name, 1751327999.0, 100, cycle=1)
        tx = self.transaction("a", 1751328000.0, 300.0, state="timeout", status=None)  # Tuesday 2025-07-01, midnight
        self.run_script("align")
        self.assertEqual(self.features(tx, "hour_of_day, day_of_week, censored, duration_sec, propensity"),
                         (0, 1, 1, 300.0, 0.25))

    def test_routing_states_know_what_else_could_have_been_chosen(self):
        for name in "abc":
            self.provider(name)
        for cycle in range(4):
            for i, name in enumerate("abc"):
                self.observe(name, 1000.0 + cycle, 100 - i, 10.0 * (i + 1), cycle=cycle)
        for moment, name in enumerate("abca"):
            self.transaction(name, 1000.5 + moment)
        self.setting("test_fraction", 0.5)
        self.run_script("align")
        self.assertEqual(self.rows("SELECT provider_id, latency_ms, block_lag, rolling_latency_5, mean_lag_5 "
                                   "FROM routing_states WHERE tx_id = 4"),
                         [("a", 10.0, 0, 10.0, 0.0), ("b", 20.0, 1, 20.0, 1.0), ("c", 30.0, 2, 30.0, 2.0)])
        self.assertEqual(self.value("SELECT count(DISTINCT tx_id) FROM routing_states"), 2)


class Learning(Pipeline):
    def snapshot(self):
        return {table: self.rows(f"SELECT * FROM {table} ORDER BY 1, 2") for table in RESULTS + ("rpc_models",)
                if self.rows("SELECT 1 FROM sqlite_schema WHERE name = ?", table)}

    def test_the_whole_way_gives_the_same_again_and_reads_without_the_extension(self):
        self.history()
        self.run_script("align", "train", "evaluate")
        first = self.snapshot()
        self.run_script("schema", "align", "train", "evaluate")
        self.assertEqual(self.snapshot(), first)
        self.rows("INSERT INTO route_targets (chain) VALUES ('ethereum-sepolia')")
        self.run_script("route_stored")
        stock = self.connect(extension=False)
        for table in RESULTS:
            self.assertTrue(stock.execute(f"SELECT * FROM {table}").fetchall(), table)
        exported = stock.execute(script("export"))
        self.assertEqual([column[0] for column in exported.description][:3], ["duration_sec", "latency_ms", "block_lag"])
        self.assertEqual(len(exported.fetchall()), 400)

    def test_two_models_are_trained_and_the_recommended_one_is_in_charge(self):
        self.history()
        self.run_script("align", "train")
        models = {name.split("-")[0]: (name, active, json.loads(features), json.loads(params), rows, until, sha, metrics)
                  for name, active, features, params, rows, until, sha, metrics in self.rows(
                      "SELECT model, active, features, params, train_rows, train_until, sha256, metrics "
                      "FROM rpc_models")}
        self.assertEqual(set(models), {"seed", "recommended"})
        name, active, features, params, rows, until, sha, metrics = models["recommended"]
        self.assertEqual((active, models["seed"][1]), (1, 0))
        self.assertEqual(features, ["latency_ms", "block_lag", "rolling_latency_5", "mean_lag_5", "provider_mean_sec"])
        self.assertEqual((params["max_depth"], params["num_round"], params["min_child_weight"]), (3, 120, 30))
        self.assertEqual(models["seed"][3]["subsample"], 0.8)
        self.assertEqual((rows, until), self.rows(
            "SELECT count(*), max(timestamp) FROM training_set WHERE split = 'train'")[0])
        self.assertEqual(sha, self.value("SELECT rpcroute_sha256(content) FROM rpc_models WHERE model = ?", name))
        self.assertIn(sha[:8], name)
        means = dict(self.rows("SELECT DISTINCT provider_id, provider_mean_sec FROM training_set"))
        self.assertEqual(json.loads(metrics)["provider_mean_sec"],
                         {name: float(f"{mean:.15g}") for name, mean in means.items()})
        self.assertAlmostEqual(json.loads(metrics)["mae"], self.value(
            "SELECT avg(abs(predict_confirm(latency_ms, block_lag, rolling_latency_5, mean_lag_5, provider_mean_sec) "
            "- duration_sec)) FROM training_set WHERE split = 'test'"), 5)

    def test_min_child_weight_grows_with_the_rows(self):
        self.history(60)
        self.setting("train_min_child_share", 0.75)
        self.run_script("align", "train")
        self.assertEqual(self.value("SELECT params ->> 'min_child_weight' FROM rpc_models WHERE active = 1"), 36)

    def test_strategies_are_judged_on_the_same_newest_rows(self):
        self.history()
        self.run_script("align", "train", "evaluate")
        rows = {row[0]: row[1:] for row in self.rows("SELECT * FROM evaluation")}
        self.assertEqual(list(rows), ["static", "mean", "ping", "smart_retrained", "smart_production"])
        mean = self.value("SELECT avg(duration_sec) FROM training_set WHERE split = 'train' AND provider_id = 'infura'")
        errors = [abs(mean - y) for y, in self.rows("SELECT duration_sec FROM training_set WHERE split = 'test'")]
        self.assertEqual(rows["static"][0], 80)
        self.assertAlmostEqual(rows["static"][1], sum(errors) / 80)
        self.assertAlmostEqual(rows["static"][2], (sum(e * e for e in errors) / 80) ** 0.5)
        self.assertEqual(rows["static"][4], 0)
        self.assertGreater(rows["smart_retrained"][4], rows["ping"][4])
        self.assertEqual(rows["smart_production"][:5], (0, None, None, None, None))
        self.assertEqual(dict(self.rows("SELECT split, count(*) FROM split_leakage GROUP BY split")),
                         {"temporal": 4, "random": 4})
        self.assertEqual(self.rows("SELECT model LIKE 'recommended-%', round(sum(importance), 6) FROM importance "
                                   "GROUP BY model"), [(1, 1.0), (0, 1.0)])

    def test_production_is_the_model_before_and_says_nothing_about_rows_it_knows(self):
        self.history()
        self.run_script("align", "train")
        before = self.value("SELECT model FROM rpc_models WHERE active = 1")
        self.setting("train_recommended", '{"num_round":40,"max_depth":2}')
        self.run_script("train", "evaluate")
        self.assertNotEqual(self.value("SELECT model FROM rpc_models WHERE active = 1"), before)
        n, mae = self.rows("SELECT n, mae FROM evaluation WHERE strategy = 'smart_production'")[0]
        self.assertEqual(n, 80)
        self.assertAlmostEqual(mae, self.value("SELECT metrics ->> 'mae' FROM rpc_models WHERE model = ?", before), 5)
        self.rows("UPDATE rpc_models SET train_until = 1e12 WHERE model = ?", before)
        self.run_script("evaluate")
        self.assertEqual(self.rows("SELECT n, mae, note FROM evaluation WHERE strategy = 'smart_production'"),
                         [(0, None, "its train_until passes the split: it knows test rows")])
        self.rows("UPDATE rpc_models SET active = 1 WHERE model = ?", before)   # and back by one statement
        self.assertEqual(self.rows("SELECT model FROM rpc_models WHERE active = 1"), [(before,)])

    def test_an_imported_model_is_judged_and_routes_by_its_own_feature_names(self):
        self.history()
        self.run_script("align", "train")
        content = self.value("SELECT content FROM rpc_models WHERE model LIKE 'seed-%'")
        self.rows("INSERT INTO rpc_models (model, content) VALUES ('peer', ?)", content)
        self.rows("UPDATE rpc_models SET active = 1 WHERE model = 'peer'")
        self.run_script("evaluate")
        self.assertEqual(self.rows("SELECT n, note FROM evaluation WHERE strategy = 'smart_production'"),
                         [(80, "its train_until is not known: it may know test rows")])
        self.rows("INSERT INTO rpc_models (model, content) VALUES ('odd', ?)",
                  content.replace('"block_lag"', '"moon_phase"'))
        self.rows("UPDATE rpc_models SET active = 1 WHERE model = 'odd'")
        self.run_script("evaluate")
        self.assertEqual(self.rows("SELECT n, note FROM evaluation WHERE strategy = 'smart_production'"),
                         [(0, "it wants a feature that training_set does not have")])
        self.assertEqual(self.rows("SELECT n, mean_sec FROM routing_value WHERE policy = 'smart'"), [(0, None)])

    def test_policies_are_valued_by_the_transactions_that_agree_with_them(self):
        self.history()
        self.run_script("align", "train", "evaluate")
        values = {row[0]: row[1:] for row in self.rows(
            "SELECT policy, n, matched, mean_sec, median_sec, p95_sec, slow_share, ci_low, ci_high, gain_sec "
            "FROM routing_value")}
        self.assertEqual(list(values), ["static", "random", "ping", "least_lag", "guard", "smart", "best_fixed"])
        mean, n = self.rows("SELECT avg(duration_sec), count(*) FROM training_set "
                            "WHERE split = 'test' AND provider_id = 'infura'")[0]
        self.assertEqual(values["static"][:2], (80, n))
        self.assertAlmostEqual(values["static"][2], mean)
        self.assertEqual(values["random"][:2], (80, 80))
        self.assertAlmostEqual(values["random"][2],
                               self.value("SELECT avg(duration_sec) FROM training_set WHERE split = 'test'"))
        self.assertLess(values["least_lag"][2], values["random"][2])
        # 80 transactions in 30 s steps are 40 minutes: too few hours for an interval, enough minutes.
        self.assertIsNone(values["smart"][6])
        self.setting("block_sec", 120)
        self.run_script("evaluate")
        low, mean, high, gain, gain_low, gain_high = self.rows(
            "SELECT ci_low, mean_sec, ci_high, gain_sec, gain_low, gain_high FROM routing_value "
            "WHERE policy = 'least_lag'")[0]
        self.assertTrue(low < mean < high and gain_low < gain < gain_high)
        self.assertAlmostEqual(mean - low, high - mean)
        self.assertEqual(self.rows("SELECT gain_sec, gain_low, gain_high FROM routing_value WHERE policy = 'static'"),
                         [(0, 0, 0)])

    def test_the_interval_is_the_larger_of_the_plain_and_the_block_one(self):
        self.history()
        self.setting("block_sec", 240)
        self.run_script("align", "train", "evaluate")
        rows = self.rows("SELECT timestamp, duration_sec, (provider_id = 'infura') / propensity FROM training_set "
                         "WHERE split = 'test'")
        n = len(rows)
        weight = sum(w for _, _, w in rows) / n
        mean = sum(w * y for _, y, w in rows) / (n * weight)
        blocks = {}
        psi = []
        for t, y, w in rows:
            psi.append(w * (y - mean) / weight)
            blocks[int(t / 240)] = blocks.get(int(t / 240), 0) + psi[-1]
        b = len(blocks)
        z, v = 1.96, b - 1
        t = z + (z ** 3 + z) / (4 * v) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * v * v)
        half = max(z * sum(p * p for p in psi) ** 0.5 / n,
                   t * (sum(s * s for s in blocks.values()) * b / v) ** 0.5 / n)
        low, high = self.rows("SELECT ci_low, ci_high FROM routing_value WHERE policy = 'static'")[0]
        self.assertAlmostEqual(low, mean - half)
        self.assertAlmostEqual(high, mean + half)

    def test_divergence_counts_choices_and_the_summary_describes_providers(self):
        self.history()
        self.run_script("align", "train", "evaluate")
        n, differ, share = self.rows("SELECT n, differ, share FROM strategy_divergence "
                                     "WHERE policy = 'ping' AND other = 'static'")[0]
        self.assertEqual(n, 80)
        self.assertEqual(differ, self.value(
            "SELECT sum(provider_id <> 'infura') FROM (SELECT provider_id, min(latency_ms) FROM routing_states "
            "GROUP BY tx_id)"))
        self.assertEqual(share, differ / n)
        self.assertEqual(self.rows("SELECT provider_id, n, max_sec, min_lag, max_lag FROM provider_summary"), self.rows(
            "SELECT provider_id, count(*), max(duration_sec), min(block_lag), max(block_lag) FROM training_set "
            "GROUP BY 1"))


class Routing(Pipeline):
    """Decisions from stored observations: everything but the poll."""

    def setUp(self):
        super().setUp()
        for name in "abc":
            self.provider(name)
        self.target()
        self.now = time.time()

    def target(self, policy="ping", chain="ethereum-sepolia", workload="transfer", region="local"):
        self.rows("INSERT INTO route_targets (chain, workload, region, policy) VALUES (?, ?, ?, ?) "
                  "ON CONFLICT DO UPDATE SET policy = excluded.policy", chain, workload, region, policy)

    def seen(self, **states):
        """a=(height, latency_ms), … in one round just now."""
        cycle = self.value("SELECT coalesce(max(cycle_id), 0) + 1 FROM rpc_metrics")
        for name, (height, latency) in states.items():
            self.observe(name, self.now - 5 + cycle / 1000, height, latency, cycle)

    def decide(self):
        self.run_script("route_stored")
        outcome, provider, reasons = self.rows("SELECT outcome, provider_id, reasons FROM route_decisions "
                                               "ORDER BY decision_id DESC LIMIT 1")[0]
        return outcome, provider, json.loads(reasons)

    def exclusions(self):
        return dict(self.rows("SELECT provider_id, exclusion FROM route_candidates "
                              "WHERE decision_id = (SELECT max(decision_id) FROM route_decisions)"))

    def model(self, **means):
        """A model of latency, lag and the provider's mean, trained on rows where only the mean counts."""
        content = self.value("""
            WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
            SELECT train_confirm('{"features":["latency_ms","block_lag","provider_mean_sec"],"max_depth":4}',
                                 CAST(i % 20 AS REAL), i % 7 * 10.0, i % 3, CAST(i % 20 AS REAL)) FROM n""")
        self.rows("INSERT OR REPLACE INTO rpc_models (model, content, active, metrics) VALUES ('m', ?, 1, ?)", content,
                  json.dumps({"provider_mean_sec": means}))

    def test_ping_takes_the_quickest_and_a_tie_the_smaller_name(self):
        self.seen(a=(100, 30.0), b=(100, 20.0), c=(100, 20.0))
        self.assertEqual(self.decide(), ("READY", "b", ["ranked_first"]))
        self.assertEqual(self.rows("SELECT provider_id, rank FROM route_candidates ORDER BY rank"),
                         [("b", 1), ("c", 2), ("a", 3)])

    def test_nobody_with_a_false_or_missing_height_is_ever_chosen(self):
        self.seen(a=(23000000, 30.0), b=(23000001, 40.0), c=(53000000, 1.0))
        self.assertEqual(self.decide(), ("READY", "a", ["ranked_first"]))
        self.assertEqual(self.exclusions()["c"], "implausible_height")
        for height, why in ((0, "no_height"), (None, "no_height"), (22990000, "far_behind")):
            self.seen(a=(23000000, 30.0), b=(23000001, 40.0), c=(height, 1.0))
            self.assertEqual(self.decide()[1], "a")
            self.assertEqual(self.exclusions()["c"], why)

    def test_two_that_contradict_each_other_decide_nothing(self):
        self.rows("UPDATE rpc_providers SET enabled = 0 WHERE provider_id = 'c'")
        self.seen(a=(100, 30.0), b=(30000100, 20.0))
        self.assertEqual(self.decide(), ("ABSTAIN", None, ["none_eligible", "uncorroborated"]))

    def test_every_reason_is_in_the_list_that_explains_them(self):
        known = {reason for reason, in self.rows("SELECT reason FROM route_reasons")}
        text = script("route") + script("route_stored")
        for reason in known:
            self.assertIn(f"'{reason}'", text)
        self.observe("a", self.now - 1, None, None, 1, ok=0, error_class="timeout")
        self.observe("b", self.now - 1, None, None, 1, ok=0, error_class="http")
        outcome, _, reasons = self.decide()
        self.assertEqual((outcome, reasons), ("ABSTAIN", ["none_eligible", "failed", "unanswered", "unobserved"]))
        self.assertLessEqual(set(reasons), known)

    def test_old_observations_do_not_route(self):
        self.observe("a", self.now - 901, 100, cycle=1)
        self.observe("b", self.now - 901, 100, cycle=1)
        self.assertEqual(self.decide()[2], ["none_eligible", "unobserved"])

    def test_smart_without_a_model_abstains_and_says_so(self):
        self.target("smart")
        self.seen(a=(100, 30.0), b=(100, 20.0), c=(100, 10.0))
        self.assertEqual(self.decide(), ("ABSTAIN", None, ["no_active_model"]))
        self.assertEqual(self.rows("SELECT ping_provider_id FROM route_decisions"), [("c",)])
        self.rows("INSERT INTO rpc_models (model, content, active) VALUES ('blind', '{}', 1)")
        self.assertEqual(self.decide(), ("ABSTAIN", None, ["model_unusable"]))

    def test_smart_takes_the_least_prediction_and_shows_ping_beside_it(self):
        self.target("smart")
        self.model(a=15, b=5)
        self.seen(a=(100, 10.0), b=(100, 50.0), c=(100, 20.0))
        self.assertEqual(self.decide(), ("READY", "b", ["ranked_first"]))
        self.assertEqual(self.exclusions(), {"a": None, "b": None, "c": "no_prediction"})
        self.assertEqual(self.rows("SELECT ping_provider_id, model, propensity FROM route_decisions"),
                         [("a", "m", 1.0)])
        predicted, = self.rows("SELECT predicted_sec FROM route_decisions")[0]
        self.assertAlmostEqual(predicted, self.value("SELECT predict_confirm(50, 0, 5)"))

    def test_smart_leaves_its_last_choice_only_for_more_than_the_margin(self):
        self.target("smart")
        self.setting("switch_margin_sec", 2)
        self.model(a=10, b=14, c=15)
        self.seen(a=(100, 10.0), b=(100, 10.0), c=(100, 10.0))
        self.assertEqual(self.decide()[1:], ("a", ["ranked_first"]))
        self.model(a=10, b=9, c=15)
        self.assertEqual(self.decide()[1:], ("a", ["incumbent_kept"]))
        self.model(a=10, b=5, c=15)
        self.assertEqual(self.decide()[1:], ("b", ["ranked_first"]))

    def test_least_lag_and_guard_lean_on_the_best_fixed_choice(self):
        self.model(a=15, b=5, c=10)
        self.seen(a=(100, 10.0), b=(100, 50.0), c=(100, 20.0))
        for policy, reason in (("least_lag", "ranked_first"), ("guard", "fixed_kept")):
            self.target(policy)
            self.assertEqual(self.decide()[1:], ("b", [reason]))
        self.seen(a=(100, 10.0), b=(99, 50.0), c=(100, 20.0))
        self.target("least_lag")
        self.assertEqual(self.decide()[1], "a")
        self.target("guard")
        self.assertEqual(self.decide()[1:], ("b", ["fixed_kept"]))
        self.seen(a=(99, 10.0), b=(98, 50.0), c=(100, 20.0))
        self.assertEqual(self.decide()[1:], ("c", ["fixed_left"]))

    def test_static_is_its_provider_or_nothing(self):
        self.target("static")
        self.seen(a=(100, 30.0), b=(100, 20.0), c=(100, 10.0))
        self.assertEqual(self.decide()[1], "a")
        self.setting("static_provider", "b")
        self.assertEqual(self.decide()[1], "b")
        self.observe("b", self.now, None, None, 9, ok=0, error_class="connect")
        self.assertEqual(self.decide()[2], ["none_eligible", "failed", "not_fixed"])

    def test_what_needs_governance_or_providers_abstains(self):
        self.seen(a=(100, 30.0), b=(100, 20.0), c=(100, 10.0))
        self.target("score")
        self.target("ping", workload="interactive")
        self.target("ping", chain="base")
        self.run_script("route_stored")
        self.assertEqual(self.rows("SELECT chain, workload, outcome, reasons FROM route_decisions"), [
            ("base", "transfer", "ABSTAIN", '["no_provider"]'),
            ("ethereum-sepolia", "interactive", "ABSTAIN", '["workload_unavailable"]'),
            ("ethereum-sepolia", "transfer", "ABSTAIN", '["policy_unavailable"]')])

    def test_evidence_is_canonical_and_its_digest_is_checkable(self):
        self.seen(a=(100, 30.0), b=(99, 20.0), c=(100, 10.0))
        self.decide()
        evidence, digest = self.rows("SELECT evidence, evidence_sha256 FROM route_decisions")[0]
        self.assertEqual(digest, self.value("SELECT rpcroute_sha256(?)", evidence))
        read = json.loads(evidence)
        self.assertEqual(list(read), sorted(read))
        self.assertEqual([c["provider_id"] for c in read["candidates"]], ["a", "b", "c"])
        for candidate in read["candidates"]:
            self.assertEqual(list(candidate), sorted(candidate))
        self.assertEqual([c["block_lag"] for c in read["candidates"]], [0, 1, 0])

    def test_history_features_are_those_of_alignment(self):
        self.model(a=15, b=5, c=10)
        for height in range(100, 107):
            self.seen(a=(height - height % 2, 10.0 * (height - 99)), b=(height, 20.0), c=(height, 30.0))
        self.decide()
        self.transaction("a", self.now)
        self.run_script("align")
        columns = "latency_ms, block_lag, rolling_latency_5, mean_lag_5"
        self.assertEqual(self.rows(f"SELECT {columns} FROM route_candidates WHERE provider_id = 'a'"),
                         self.rows(f"SELECT {columns} FROM training_set"))

    def test_the_two_routing_scripts_decide_by_the_same_statements(self):
        mark = "-- From here on route.sql and route_stored.sql are the same"
        self.assertEqual(script("route").split(mark)[1], script("route_stored").split(mark)[1])


class Node(http.server.BaseHTTPRequestHandler):
    """A provider on loopback: answers its server's height after its server's gate opens."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked += 1
        self.server.gate.wait(20)
        height = self.server.height if request["method"] == "getSlot" else hex(self.server.height)
        body = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": height}).encode()
        with contextlib.suppress(OSError):
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_):
        pass


class Polling(Pipeline):
    def node(self, name, height, chain="ethereum-sepolia"):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Node)
        server.daemon_threads = True
        server.height, server.asked, server.gate = height, 0, threading.Event()
        server.gate.set()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.addCleanup(server.gate.set)
        self.provider(name, f"http://127.0.0.1:{server.server_port}", chain)
        return server

    def test_a_round_is_written_whole_under_one_number(self):
        self.node("a", 100)
        self.node("b", 103)
        self.provider("dead", "http://127.0.0.1:1")
        self.provider("broken", "no url at all")
        self.provider("off", "http://127.0.0.1:1", enabled=0)
        self.run_script("collect", "collect")
        self.assertEqual(self.rows("SELECT cycle_id, provider_id, ok, block_number, block_lag, error_class "
                                   "FROM rpc_metrics ORDER BY cycle_id, provider_id"),
                         [(cycle, *row) for cycle in (1, 2) for row in (
                             ("a", 1, 100, 0, None), ("b", 1, 103, 0, None), ("broken", 0, None, 0, "config"),
                             ("dead", 0, None, 0, "connect"))])
        self.assertEqual(self.rows("SELECT name FROM temp.sqlite_schema"), [])

    def test_another_writer_is_not_blocked_while_a_provider_stalls(self):
        self.setting("timeout_ms", 20000)
        self.setting("route_deadline_ms", 20000)
        self.rows("INSERT INTO route_targets (chain) VALUES ('ethereum-sepolia')")
        slow = self.node("slow", 100)
        for mode, name in (("wal", "collect"), ("wal", "route"), ("delete", "collect"), ("delete", "route")):
            with self.subTest(mode=mode, script=name):
                self.rows(f"PRAGMA journal_mode = {mode}")
                self.database.close()
                slow.asked = 0
                slow.gate.clear()
                poller = threading.Thread(target=self.run_elsewhere, args=(name,))
                poller.start()
                while slow.asked == 0 and poller.is_alive():
                    time.sleep(0.001)
                writer = sqlite3.connect(self.path, timeout=0, isolation_level=None)
                try:
                    writer.execute("INSERT INTO rpc_metrics (timestamp, provider_id) VALUES (1, 'writer')")
                    writer.execute("DELETE FROM rpc_metrics WHERE provider_id = 'writer'")
                finally:
                    writer.close()
                    slow.gate.set()
                    poller.join()
                    self.database = self.connect()
        self.assertEqual(self.value("SELECT count(*) FROM rpc_metrics"), 2)
        self.assertEqual(self.value("SELECT count(*) FROM route_decisions"), 2)

    def run_elsewhere(self, name):
        """In another thread, so with a connection of its own."""
        database = sqlite3.connect(self.path, isolation_level=None)
        database.enable_load_extension(True)
        database.load_extension(EXTENSION)
        database.executescript(script(name))
        database.close()

    def test_a_live_decision_does_not_wait_beyond_its_deadline(self):
        self.node("a", 100)
        self.node("b", 101)
        slow = self.node("slow", 101)
        slow.gate.clear()
        self.rows("INSERT INTO route_targets (chain, policy) VALUES ('ethereum-sepolia', 'least_lag')")
        self.setting("route_deadline_ms", 3000)  # enough for those that answer, however busy the machine is
        self.run_script("route")
        self.assertEqual(self.rows("SELECT outcome, provider_id, block_lag FROM route_decisions"), [("READY", "b", 0)])
        self.assertEqual(dict(self.rows("SELECT provider_id, exclusion FROM route_candidates")),
                         {"a": None, "b": None, "slow": "unanswered"})
        self.assertEqual(self.value("SELECT count(*) FROM rpc_metrics"), 0)

    def test_solana_is_asked_three_times_one_after_another(self):
        nodes = [self.node(name, 500, "solana-devnet") for name in ("a", "b")]
        self.node("other", 100)
        self.rows("INSERT INTO route_targets (chain, policy) VALUES ('solana-devnet', 'ping')")
        self.setting("route_deadline_ms", 5000)
        self.run_script("route")
        self.assertEqual([node.asked for node in nodes], [3, 3])
        self.assertEqual(self.rows("SELECT outcome FROM route_decisions"), [("READY",)])
        self.assertEqual(self.value("SELECT count(*) FROM route_candidates"), 2)


@unittest.skipUnless(os.path.exists(DEVNET), "rpcroute-devnet is not built")
class Probing(Pipeline):
    """Real sending, to a simulated chain that makes a block when it is told to."""

    ACCOUNT = "0xd41c057fd1c78805aac12b0a94a405c0461a6fbb"  # of the key 7

    def setUp(self):
        super().setUp()
        fleet = os.path.join(os.path.dirname(self.path), "fleet.json")
        pathlib.Path(fleet).write_text(json.dumps({
            "slot_ms": 0, "fund_all": True, "chain_id": random.SystemRandom().randrange(10**6, 10**12),  # no other's nonces
            "providers": [{"provider_id": name} for name in ("a", "b", "c")]}))
        devnet = subprocess.Popen([DEVNET, "serve", "--config", fleet, "--max-seconds", "300"],
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(devnet.stdout.close)
        self.addCleanup(devnet.wait)
        self.addCleanup(devnet.kill)
        ready = json.loads(devnet.stdout.readline())
        self.control = f"http://127.0.0.1:{ready['control']}"
        self.url = ready["providers"][0]["url"]
        self.rows("UPDATE rpc_chains SET chain_id = ? WHERE chain = 'devnet'", ready["chain_id"])
        for provider in ready["providers"]:
            self.provider(provider["provider_id"], provider["url"], "devnet")
        for name in ("RPCROUTE_KEY", "RPCROUTE_REGION"):
            if name in os.environ:
                self.addCleanup(os.environ.__setitem__, name, os.environ.pop(name))

    def post(self, url, body=b""):
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read()

    def ask(self, method, *params):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return json.loads(self.post(self.url, json.dumps(body).encode()))["result"]

    def sent(self):
        return int(self.ask("eth_getTransactionCount", self.ACCOUNT, "latest"), 16)

    def use_key(self):
        os.environ["RPCROUTE_KEY"] = f"0x{7:064x}"
        self.addCleanup(os.environ.pop, "RPCROUTE_KEY", None)

    def start_probe(self):
        """probe_tx.sql in a process of its own."""
        code = ("import sqlite3, sys; d = sqlite3.connect(sys.argv[1], isolation_level=None); "
                "d.enable_load_extension(True); d.load_extension(sys.argv[2]); "
                "d.executescript(open(sys.argv[3]).read())")
        process = subprocess.Popen([sys.executable, "-c", code, self.path, EXTENSION,
                                    str(ROOT / "sql" / "probe_tx.sql")])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def mine_until_done(self, process):
        while True:
            try:
                return self.assertEqual(process.wait(timeout=0.02), 0)
            except subprocess.TimeoutExpired:
                self.post(self.control + "/mine")

    def test_without_a_key_the_node_signs_and_each_waits_for_the_one_before(self):
        self.setting("probe_n", 2)
        self.mine_until_done(self.start_probe())
        self.assertEqual(self.rows("SELECT state, status, nonce, overlap, propensity, raw, duration_source, "
                                   "duration_sec > 0, gas_used FROM tx_outcomes"),
                         [("confirmed", 1, nonce, 0, 1 / 3, None, "receipt", 1, 21000) for nonce in (0, 1)])

    def test_with_a_key_the_bytes_are_written_down_before_they_leave(self):
        self.use_key()
        self.setting("probe_n", 2)
        probe = self.start_probe()
        while not (prepared := self.rows("SELECT tx_hash, raw FROM tx_outcomes")):
            self.assertIsNone(probe.poll())
        self.mine_until_done(probe)
        self.assertEqual([(tx_hash, raw[:4]) for tx_hash, raw in prepared],
                         [(tx_hash, "0x02") for tx_hash, in self.rows("SELECT tx_hash FROM tx_outcomes")])
        self.assertEqual(self.rows("SELECT state, nonce, overlap, propensity, raw, duration_source FROM tx_outcomes"),
                         [("confirmed", nonce, 0, 1 / 3, None, "receipt") for nonce in (0, 1)])
        self.assertEqual(self.sent(), 2)

    def test_killed_on_its_way_it_is_found_again_and_never_sent_twice(self):
        self.use_key()
        for nonce, has_left in enumerate((False, True)):
            probe = self.start_probe()
            while not (prepared := self.rows("SELECT tx_hash FROM tx_outcomes WHERE state = 'prepared'")):
                self.assertIsNone(probe.poll())
            while has_left and self.ask("eth_getTransactionByHash", *prepared[0]) is None:
                self.assertIsNone(probe.poll())
            probe.kill()
            probe.wait()
            self.mine_until_done(self.start_probe())
            self.assertEqual(self.rows("SELECT nonce, tx_hash, state, raw FROM tx_outcomes WHERE nonce = ?", nonce),
                             [(nonce, *prepared[0], "confirmed", None)])
        self.assertEqual(self.sent(), 2)

    def test_the_days_gas_money_is_not_exceeded(self):
        self.use_key()
        self.mine_until_done(self.start_probe())
        cost = self.value("SELECT gas_used * effective_gas_price / 1e9 FROM tx_outcomes")
        self.setting("max_spend_gwei_per_day", cost * 1.5)
        self.mine_until_done(self.start_probe())
        self.assertEqual(self.rows("SELECT state, error_class FROM tx_outcomes ORDER BY tx_id"),
                         [("confirmed", None), ("rejected", "spend_limit")])
        self.assertEqual(self.sent(), 1)


class Refusals(Pipeline):
    def refused(self, name, message):
        before = self.database.execute("SELECT count(*) FROM main.sqlite_schema").fetchone()
        with self.assertRaisesRegex(sqlite3.Error, message):
            self.database.executescript(script(name))
        self.assertFalse(self.database.in_transaction)
        self.assertEqual(self.database.execute("SELECT count(*) FROM main.sqlite_schema").fetchone(), before)

    def test_an_empty_database_is_told_to_run_schema(self):
        for name in ("judge", "collect", "probe_tx", "align", "train", "evaluate", "route", "route_stored"):
            database = sqlite3.connect(":memory:", isolation_level=None)
            with self.assertRaisesRegex(sqlite3.Error, "run sql/schema.sql first"):
                database.executescript(script(name))
            self.assertEqual(database.execute("SELECT count(*) FROM sqlite_schema").fetchone(), (0,))
            database.close()

    def test_another_version_is_refused_by_what_to_do_about_it(self):
        for version, said in ((1, "schema_version 1: run sql/migrate_1_to_2.sql first"), (99, "newer rpcroute"),
                              (None, "schema_version")):
            self.setting("schema_version", version)
            for name in ("judge", "collect", "probe_tx", "align", "train", "evaluate", "route", "route_stored"):
                self.refused(name, said)

    def test_the_guard_has_the_same_words_in_every_script(self):
        words = {tuple(line for line in script(name).splitlines() if re.match(r"    (WHEN 'none'|WHEN 1|ELSE) ", line))
                 for name in ("judge", "collect", "probe_tx", "align", "train", "evaluate", "route", "route_stored")}
        self.assertEqual([len(lines) for lines in words], [3])

    def test_each_script_names_the_one_that_must_run_before(self):
        self.refused("collect", "rpc_providers has no enabled row.*examples/providers.sql")
        self.refused("probe_tx", "no enabled row on an EVM test chain")
        self.refused("align", "tx_outcomes is empty: run sql/probe_tx.sql first")
        self.refused("train", "no training_set.*run sql/align.sql first")
        self.refused("evaluate", "no training_set.*run sql/align.sql first")
        self.refused("route", "route_targets has no enabled row")
        self.history(20)
        self.run_script("align")
        self.refused("evaluate", "no active model.*run sql/train.sql first")
        self.rows("DELETE FROM rpc_metrics")
        self.run_script("align")
        self.refused("train", "no row to train on.*alignment_report")

    def test_probing_several_test_chains_needs_to_be_told_which(self):
        self.provider("a")
        self.provider("b", chain="base-sepolia")
        self.refused("probe_tx", "several test chains.*rpc_settings.probe_chain")
        self.setting("probe_chain", "ethereum-mainnet")
        self.refused("probe_tx", "no enabled row on an EVM test chain")

    def test_a_setting_that_was_deleted_is_missed_by_name(self):
        self.history(20)
        self.rows("DELETE FROM rpc_settings WHERE key = 'tolerance_sec'")
        self.refused("align", "tolerance_sec.*sql/schema.sql puts missing rows back")
        self.run_script("schema", "align")

    def test_a_region_nobody_decides_for_is_an_error_not_silence(self):
        self.provider("a", "http://127.0.0.1:1")
        self.rows("INSERT INTO route_targets (chain, region) VALUES ('ethereum-sepolia', 'elsewhere')")
        self.refused("route", "no enabled row of route_targets is for the region")

    def test_a_failed_run_leaves_nothing_that_hides_the_real_tables(self):
        self.provider("a", "http://127.0.0.1:1")
        self.rows("CREATE TEMP TABLE rpc_providers (provider_id, enabled)")
        self.rows("CREATE TEMP TABLE rpc_settings (key, value)")
        self.run_script("collect")
        self.assertEqual(self.value("SELECT count(*) FROM rpc_metrics"), 1)


class Shell(Pipeline):
    SCRIPTS = ("schema", "migrate_1_to_2", "judge", "collect", "probe_tx", "align", "train", "evaluate", "route", "route_stored")

    def test_scripts_are_plain_sql(self):
        for name in self.SCRIPTS:
            lines = [line for line in script(name).splitlines() if line and not line.startswith("--")]
            self.assertEqual([line for line in lines if line.startswith(".")], [], name)
        self.assertEqual(script("export").count(";"), 1)

    @unittest.skipUnless(shutil.which("sqlite3"), "the sqlite3 shell is not installed")
    def test_the_stock_shell_reads_them_and_exports_the_label_first(self):
        self.history(60)
        self.rows("INSERT INTO route_targets (chain, policy) VALUES ('ethereum-sepolia', 'least_lag')")
        self.database.close()
        commands = [f".load {EXTENSION}"] + [f".read {ROOT}/sql/{name}.sql" for name in (
            "schema", "align", "train", "evaluate", "route_stored")]
        ran = subprocess.run(["sqlite3", "-bail", "-batch", self.path], input="\n".join(commands), text=True,
                             capture_output=True, check=False)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        exported = subprocess.run(["sqlite3", "-header", "-csv", self.path], input=script("export"), text=True,
                                  capture_output=True, check=True).stdout.splitlines()
        self.assertTrue(exported[0].startswith("duration_sec,latency_ms,block_lag,"))
        self.assertEqual(len(exported), 61)


if __name__ == "__main__":
    unittest.main()
