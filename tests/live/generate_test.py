#!/usr/bin/env python3
"""Generated histories: the same bytes for the same seed, and a fleet like the one they claim to be.

    tests/live/generate_test.py [path of rpcroute-devnet, default build/rpcroute-devnet]

The figures are those of the simulation the generator was designed after (four providers, 26,600 transactions and more);
every one of them is a mean whose standard error over a month is below 0.05 s.
"""
import collections
import os
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEVNET = os.environ.get("RPCROUTE_DEVNET", str(ROOT / "build" / "rpcroute-devnet"))
FIXED_CHOICE = "infura"


def generate(out, scenario="lag-matters", *more):
    return subprocess.run([DEVNET, "generate", "--scenario", scenario, "--out", str(out), *map(str, more)],
                          capture_output=True, text=True, timeout=120)


def policy_choices(database):
    """What every policy chooses for every transaction, from the last answers strictly before it."""
    polls = database.execute("""
        SELECT timestamp, provider_id, latency_ms,
               max(block_number) OVER (PARTITION BY cycle_id) - block_number
          FROM rpc_metrics WHERE ok ORDER BY timestamp""").fetchall()
    latest, position = {}, 0
    for tx_id, moment in database.execute("SELECT tx_id, timestamp FROM tx_outcomes ORDER BY tx_id").fetchall():
        while position < len(polls) and polls[position][0] < moment:
            latest[polls[position][1]] = polls[position][2:]
            position += 1
        seen = latest or {FIXED_CHOICE: (0, 0)}
        least_lag = min(seen, key=lambda p: (seen[p][1], p != FIXED_CHOICE, p))
        lagging = seen.get(FIXED_CHOICE, (0, 0))[1] >= 2
        yield tx_id, {"static": FIXED_CHOICE, "ping": min(seen, key=lambda p: seen[p][0]), "least_lag": least_lag,
                      "guard": least_lag if lagging else FIXED_CHOICE}, {p: lag for p, (_, lag) in seen.items()}


class Month(unittest.TestCase):
    """A month of one scenario, generated once."""
    scenario = None

    @classmethod
    def setUpClass(cls):
        if cls.scenario is None:
            raise unittest.SkipTest("a base class")
        cls.directory = tempfile.TemporaryDirectory()
        path = pathlib.Path(cls.directory.name) / "history.db"
        run = generate(path, cls.scenario, "--days", 30, "--seed", 7)
        if run.returncode:
            raise AssertionError(run.stderr)
        cls.database = sqlite3.connect(path)
        truth = collections.defaultdict(dict)
        for tx_id, provider, duration in cls.database.execute("SELECT * FROM truth"):
            truth[tx_id][provider] = duration
        cls.means = {p: statistics.fmean(row[p] for row in truth.values()) for p in truth[1]}
        sums, cls.by_lag = collections.Counter(), collections.defaultdict(list)
        for tx_id, choices, lags in policy_choices(cls.database):
            sums["random"] += statistics.fmean(truth[tx_id].values())
            for policy, provider in choices.items():
                sums[policy] += truth[tx_id][provider]
            for provider, lag in lags.items():
                cls.by_lag[provider, min(lag, 3)].append(truth[tx_id][provider])
        cls.policies = {policy: total / len(truth) for policy, total in sums.items()}

    @classmethod
    def tearDownClass(cls):
        cls.database.close()
        cls.directory.cleanup()

    def assert_means(self, means, expected, within):
        for name, value in expected.items():
            self.assertAlmostEqual(means[name], value, delta=within, msg=f"{name} in {means}")

    def durations(self, provider):
        return [row[0] for row in self.database.execute(
            "SELECT duration_sec FROM tx_outcomes WHERE provider_id = ? ORDER BY tx_id", [provider])]


class LagMatters(Month):
    scenario = "lag-matters"

    def test_routing_by_lag_beats_the_fixed_provider_and_ping_does_not(self):
        self.assert_means(self.policies, {"static": 13.74, "ping": 14.87, "random": 15.10, "least_lag": 13.29}, 0.15)

    def test_providers_have_the_medians_and_tails_of_the_seed_fleet(self):
        expected = {"infura": (12.1, 74), "alchemy": (14.7, 61), "drpc": (13.2, 88), "publicnode": (12.8, 99)}
        for provider, (median, maximum) in expected.items():
            durations = self.durations(provider)
            rounds = [durations[i:i + 665] for i in range(0, len(durations) - 664, 665)]
            self.assertAlmostEqual(statistics.median(durations), median, delta=0.4, msg=provider)
            self.assertAlmostEqual(statistics.fmean(map(max, rounds)), maximum, delta=10, msg=provider)

    def test_all_confirmations_have_the_mean_and_the_spread_of_the_seed_fleet(self):
        durations = [row[0] for row in self.database.execute("SELECT duration_sec FROM tx_outcomes")]
        self.assertAlmostEqual(statistics.fmean(durations), 15.1, delta=0.2)
        self.assertAlmostEqual(statistics.pstdev(durations), 9.3, delta=0.3)

    def test_every_provider_is_slower_when_it_was_seen_lagging(self):
        for provider in self.means:
            self.assertGreater(statistics.fmean(self.by_lag[provider, 2]),
                               statistics.fmean(self.by_lag[provider, 0]) + 3, provider)

    def test_lag_is_seen_for_the_share_of_time_that_providers_lag(self):
        for provider, share in {"infura": .05, "alchemy": .03, "drpc": .11, "publicnode": .14}.items():
            seen = [len(self.by_lag[provider, lag]) for lag in range(4)]
            late_heads = 0.05 if provider in ("drpc", "publicnode") else 0.02
            self.assertAlmostEqual(sum(seen[1:]) / sum(seen), .85 * share + late_heads, delta=0.03, msg=provider)

    def test_a_transaction_has_the_truth_of_its_own_provider(self):
        wrong = self.database.execute("""
            SELECT count(*) FROM tx_outcomes t LEFT JOIN truth USING (tx_id, provider_id)
             WHERE truth.duration_sec IS NOT t.duration_sec OR own_receipt_sec < t.duration_sec
                OR block_timestamp + 0.1 > t.timestamp + t.duration_sec OR blocks_waited < 1""").fetchone()[0]
        self.assertEqual(wrong, 0)

    def test_the_provider_of_a_transaction_is_drawn_evenly(self):
        counts = dict(self.database.execute("SELECT provider_id, count(*) FROM tx_outcomes GROUP BY 1"))
        for provider, count in counts.items():
            self.assertAlmostEqual(count / sum(counts.values()), 0.25, delta=0.01, msg=provider)

    def test_failed_polls_are_rows_without_numbers(self):
        failed = {row[0]: row[1:] for row in self.database.execute("""
            SELECT error_class, count(*), count(latency_ms) + count(block_number) FROM rpc_metrics
             WHERE ok = 0 GROUP BY 1""")}
        polls, = self.database.execute("SELECT count(*) FROM rpc_metrics").fetchone()
        self.assertEqual(set(failed), {"timeout", "rate_limited", "connect"})
        for error_class, (rows, numbers) in failed.items():
            self.assertTrue(0.0005 < rows / polls < 0.01, (error_class, rows / polls))
            self.assertEqual(numbers, 0, error_class)

    def test_a_plain_sqlite_reads_the_health_of_the_fleet(self):
        rows = self.database.execute("SELECT provider_id, state, success_share FROM provider_health").fetchall()
        self.assertEqual([row[:2] for row in sorted(rows)],
                         [(provider, "stale") for provider in ("alchemy", "drpc", "infura", "publicnode")])
        self.assertTrue(all(row[2] > 0.9 for row in rows), rows)


class NothingMatters(Month):
    scenario = "nothing-matters"

    def test_no_provider_and_no_policy_is_better_than_another(self):
        level = statistics.fmean(self.means.values())
        self.assert_means(self.means, dict.fromkeys(self.means, level), 0.1)
        self.assert_means(self.policies, dict.fromkeys(self.policies, level), 0.1)

    def test_lag_is_seen_and_says_nothing(self):
        calm = statistics.fmean(y for (_, lag), ys in self.by_lag.items() if lag == 0 for y in ys)
        lagging = [y for (_, lag), ys in self.by_lag.items() if lag >= 2 for y in ys]
        self.assertGreater(len(lagging), 5000)
        self.assertAlmostEqual(statistics.fmean(lagging), calm, delta=0.5)


class Fixed(Month):
    scenario = "fixed"

    def test_providers_differ_and_no_policy_beats_the_best_of_them(self):
        self.assertEqual(min(self.means, key=self.means.get), FIXED_CHOICE)
        self.assertGreater(max(self.means.values()) - min(self.means.values()), 2)
        self.assertEqual(min(self.policies, key=self.policies.get), "static")

    def test_within_a_provider_lag_says_nothing(self):
        for provider in self.means:
            lagging = self.by_lag[provider, 1] + self.by_lag[provider, 2] + self.by_lag[provider, 3]
            self.assertAlmostEqual(statistics.fmean(lagging), self.means[provider], delta=0.6, msg=provider)


class Writing(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.path = self.directory / "history.db"

    def rows(self, path, table="tx_outcomes", n=-1):
        database = sqlite3.connect(path)
        try:
            return database.execute(f"SELECT * FROM {table} ORDER BY 1, 2 LIMIT ?", [n]).fetchall()
        finally:
            database.close()

    def make_database(self, script):
        database = sqlite3.connect(self.path)
        database.executescript(script)
        database.close()

    def refused(self, *words):
        before = self.path.read_bytes()
        run = generate(self.path, "fixed", "--days", 1)
        self.assertEqual(run.returncode, 1, run.stderr)
        for word in (str(self.path), *words):
            self.assertIn(word, run.stderr)
        self.assertEqual(self.path.read_bytes(), before)

    def test_the_same_options_give_the_same_bytes_and_another_seed_does_not(self):
        files = [self.directory / name for name in ("a.db", "b.db", "c.db")]
        for path, seed in zip(files, (5, 5, 6)):
            self.assertEqual(generate(path, "lag-matters", "--days", 2, "--seed", seed).returncode, 0)
        first, again, other = (path.read_bytes() for path in files)
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)
        self.assertEqual(sorted(self.directory.iterdir()), sorted(files))

    def test_a_longer_history_begins_like_a_shorter_one(self):
        longer = self.directory / "longer.db"
        generate(self.path, "lag-matters", "--days", 1)
        generate(longer, "lag-matters", "--days", 3)
        for table in ("rpc_metrics", "tx_outcomes", "truth"):
            self.assertEqual(self.rows(self.path, table, 3000), self.rows(longer, table, 3000))

    def test_polls_and_probes_come_as_often_as_asked(self):
        generate(self.path, "fixed", "--days", 0.5, "--poll-sec", 300, "--probe-sec", 120)
        self.assertEqual((len(self.rows(self.path, "rpc_metrics")), len(self.rows(self.path))), (4 * 144, 360))

    def test_a_database_that_schema_sql_made_keeps_its_rows_and_gets_the_same_history(self):
        fresh = self.directory / "fresh.db"
        schema = (ROOT / "sql" / "schema.sql").read_text()
        self.make_database(schema)
        bare = self.path.rename(self.directory / "bare.db")
        self.make_database(schema + """
            INSERT INTO rpc_providers (provider_id, chain, url)
            VALUES ('infura', 'ethereum-sepolia', 'http://mine.invalid');
            UPDATE rpc_settings SET value = 'drpc' WHERE key = 'static_provider';""")
        self.assertEqual(generate(self.path, "fixed", "--days", 1).returncode, 0)
        self.assertEqual(generate(fresh, "fixed", "--days", 1).returncode, 0)
        for table in ("rpc_metrics", "tx_outcomes", "truth"):
            self.assertEqual(self.rows(self.path, table), self.rows(fresh, table))
        indexes = "sqlite_schema WHERE type = 'index' AND tbl_name <> 'truth'"
        self.assertEqual(*([row[1:3] + row[4:] for row in self.rows(path, indexes)] for path in (self.path, bare)))
        self.assertIn(("infura", "http://mine.invalid"), [row[0:3:2] for row in self.rows(self.path, "rpc_providers")])
        self.assertIn(("static_provider", "drpc"), [row[:2] for row in self.rows(self.path, "rpc_settings")])

    def test_a_database_with_a_history_is_refused_and_stays_as_it_was(self):
        generate(self.path, "fixed", "--days", 0.1)
        self.refused("holds a history already")

    def test_a_database_of_something_else_is_refused_and_stays_as_it_was(self):
        self.make_database("CREATE TABLE mine (x)")
        self.refused("schema.sql")

    def test_a_database_of_another_version_is_refused_with_the_script_to_run(self):
        self.make_database((ROOT / "sql" / "schema.sql").read_text() +
                           "UPDATE rpc_settings SET value = 1 WHERE key = 'schema_version'")
        self.refused("schema_version 1", "sql/migrate_1_to_2.sql")

    def test_a_file_that_is_no_database_is_refused_and_stays_as_it_was(self):
        self.path.write_text("not a database, and long enough to be read as a header " * 20)
        self.refused("not a database")

    def test_nothing_is_left_behind_where_the_schema_cannot_be_read(self):
        for schema in (self.directory / "missing.sql", self.directory):
            run = generate(self.path, "fixed", "--days", 1, "--schema", schema)
            self.assertEqual(run.returncode, 1)
            self.assertIn(str(schema), run.stderr)
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_options_out_of_range_are_refused_by_name(self):
        for option, value in (("--days", 0), ("--days", 1e9), ("--poll-sec", 0), ("--probe-sec", -1), ("--seed", "x")):
            run = generate(self.path, "fixed", option, value)
            self.assertNotEqual(run.returncode, 0)
            self.assertIn(option, run.stderr)
        self.assertIn("--scenario", generate(self.path, "no-such-scenario").stderr)
        self.assertFalse(self.path.exists())


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        DEVNET = sys.argv.pop(1)
    unittest.main()
