#!/usr/bin/env python3
"""Lag at one moment, against simulated chains whose truth is known.

A node shows a block as soon as it has it, which is a little after the block was made, and answers after its latency;
when in between it looks its height up, only the simulation knows. Everything is drawn from one seed.
"""
import bisect
import collections
import itertools
import random
import sqlite3
import statistics
import unittest

from support import ROOT

SCHEMA = (ROOT / "sql" / "schema.sql").read_text()
START = 1.75e9
FIRST_BLOCK = 20_000_000

BLOCK_SECONDS = (0.1, 0.25, 0.4, 1, 2, 12)
FLEETS = {  # usual latencies, in seconds
    "quick": (0.003, 0.06, 0.17),
    "two quick, two slow": (0.005, 0.005, 2, 2),
    "usual": (0.16, 0.22, 0.26, 0.12),
    "alike": (0.2,) * 8,
    "any": (0.01, 0.5, 1, 2, 0.05, 0.2),
    "slow": (1, 1.5, 0.8),
}
LOOKS = {  # share of the latency after which the height is looked up
    "at once": lambda draw: 0.0, "half-way": lambda draw: 0.5, "at last": lambda draw: 1.0, "any time": random.Random.random}
LATENESS = {  # of a block at a node, in seconds
    "none": lambda draw, block_sec: 0.0,
    "up to 0.3 s": lambda draw, block_sec: draw.uniform(0, 0.3),
    "0.1 s on average": lambda draw, block_sec: draw.expovariate(10),
    "up to a fifth of a block": lambda draw, block_sec: draw.uniform(0, block_sec / 5),
}

Seen = collections.namedtuple("Seen", "chain cycle provider latency raw credit lag lag_sec true")


class Blocks:
    """When the blocks of a chain were made: evenly, in `block_sec` for so many seconds and then in the next one."""

    def __init__(self, *paces, start=START):
        (self.block_sec, _), *_ = paces
        self.start = start
        self.made = [start - place * self.block_sec for place in range(150, 0, -1)]
        for block_sec, seconds in paces:
            until = self.made[-1] + seconds
            while self.made[-1] < until:
                self.made.append(self.made[-1] + block_sec)

    def height(self, moment, draw, lateness):
        place = bisect.bisect_right(self.made, moment) - 1
        while place and self.made[place] + lateness(draw, self.block_sec) > moment:
            place -= 1
        return FIRST_BLOCK + place


class World:
    """A database of rounds, and the true lag in blocks of each observation."""

    def __init__(self):
        self.draw = random.Random(7)
        self.database = sqlite3.connect(":memory:", isolation_level=None)
        self.database.executescript(SCHEMA)
        self.database.execute("BEGIN")
        self.truth = []
        self.cycle = 0

    def chain(self, name, declared_ms):
        self.database.execute("INSERT INTO rpc_chains (chain, block_time_ms) VALUES (?, ?)", (name, declared_ms))

    def poll(self, name, blocks, latencies, started, look, lateness, lags=(), apart=None, cycle=True):
        """One round: all at once but for what connections take to be made, or one every `apart` seconds."""
        draw = self.draw
        self.cycle += 1
        for i, usual in enumerate(latencies):
            latency = min(max(usual * draw.lognormvariate(0, 0.25), 0.003), 2.0)
            sent = started + (draw.uniform(0, 0.3) if apart is None else i * apart)
            lag = lags[i] if i < len(lags) else 0
            height = blocks.height(sent + look(draw) * latency, draw, lateness) - lag
            self.database.execute(
                "INSERT INTO rpc_metrics (cycle_id, timestamp, provider_id, chain, latency_ms, block_number) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (self.cycle if cycle else None, sent + latency, str(i), name, latency * 1000, height))
            self.truth.append(lag)

    def polls(self, name, blocks, latencies, count, every, look, lateness, **more):
        for place in range(count):
            started = blocks.start + place * every + self.draw.uniform(0, min(every / 2, 3 * blocks.block_sec))
            self.poll(name, blocks, latencies, started, look, lateness, **more)

    def judge(self):
        self.database.execute("INSERT INTO rpc_judging DEFAULT VALUES")

    def seen(self):
        """What was judged, in the order in which it was asked for."""
        rows = self.database.execute("SELECT chain, cycle_id, provider_id, latency_ms / 1000, lag_raw, lag_credit, lag, "
                                     "lag_sec FROM rpc_metrics ORDER BY metric_id").fetchall()
        return [Seen(*row, true) for row, true in zip(rows, self.truth)]


def by(key, seen):
    groups = collections.defaultdict(list)
    for one in seen:
        groups[key(one)].append(one)
    return groups


def share(those):
    those = list(those)
    return sum(those) / len(those)


def every(block_sec):
    return 30 if block_sec >= 1 else 7.3


class Lag(unittest.TestCase):
    def test_equal_providers_do_not_lag_however_fast_the_chain_and_slow_some_of_them(self):
        world = World()
        for block_sec, lateness, fleet, look in itertools.product(BLOCK_SECONDS, LATENESS, FLEETS, LOOKS):
            name = f"{block_sec}|{lateness}|{fleet}|{look}"
            world.chain(name, block_sec * 1000)
            world.polls(name, Blocks((block_sec, 20 * every(block_sec) + 40)), FLEETS[fleet], 20, every(block_sec),
                        LOOKS[look], LATENESS[lateness])
        world.judge()
        for kind, seen in by(lambda one: one.chain.split("|")[:2].__str__(), world.seen()).items():
            with self.subTest(kind):
                self.assertLessEqual(statistics.fmean(one.lag for one in seen), 0.3)
                rounds = by(lambda one: one.cycle, seen)
                self.assertLessEqual(share(any(one.lag >= 2 for one in rows) for rows in rounds.values()), 0.01)

    def test_true_lag_is_recovered_as_far_as_it_can_be_known(self):
        world = World()
        for block_sec, lateness, fleet, look in itertools.product(BLOCK_SECONDS, LATENESS, FLEETS, LOOKS):
            for lag in (1, 3, 8) if block_sec == 12 else (round(2 / block_sec), round(5 / block_sec)):
                name = f"{block_sec}|{lag}|{lateness}|{fleet}|{look}"
                world.chain(name, block_sec * 1000)
                world.polls(name, Blocks((block_sec, 10 * every(block_sec) + 40)), FLEETS[fleet], 10,
                            every(block_sec), LOOKS[look], LATENESS[lateness], lags=(0, lag))
        world.judge()
        quick, slow = collections.defaultdict(list), collections.defaultdict(list)
        for rows in by(lambda one: one.cycle, world.seen()).values():
            block_sec = float(rows[0].chain.split("|")[0])
            for one in rows:
                if one.true:
                    witness = min(other.latency for other in rows if other is not one)
                    off = abs(one.lag - one.true)
                    if max(one.latency, witness) <= 0.5:
                        quick[block_sec, one.true].append(off <= 1 or off * block_sec <= 0.5)
                    else:
                        slow[block_sec, one.true].append((off - 1) * block_sec <= one.latency + witness)
        for key, found in quick.items():
            self.assertGreaterEqual(share(found), 0.95, key)
        for key, found in slow.items():
            self.assertGreaterEqual(share(found), 0.95, key)

    def test_the_block_time_is_measured_within_100_blocks_and_anew_after_a_change(self):
        world = World()
        for block_sec, lateness, fleet in itertools.product(BLOCK_SECONDS, LATENESS, ("quick", "usual", "any")):
            name = f"{block_sec}|{lateness}|{fleet}"
            world.chain(name, block_sec * 1500)  # what the operator thought
            pace = min(every(block_sec), 20 * block_sec)
            world.polls(name, Blocks((block_sec, 300 * block_sec), (block_sec * 2, 700 * block_sec)), FLEETS[fleet],
                        int(900 * block_sec / pace), pace, LOOKS["any time"], LATENESS[lateness])
        world.judge()
        off = collections.defaultdict(list)
        for name, block, measured in world.database.execute(
                "SELECT chain, seen_block - ?, block_time_ms / 1000 FROM rpc_rounds", (FIRST_BLOCK + 150,)):
            block_sec = float(name.split("|")[0])
            if 110 <= block <= 290:
                off[block_sec, 1].append(abs(measured / block_sec - 1))
            elif block >= 410:
                off[block_sec, 2].append(abs(measured / block_sec / 2 - 1))
        self.assertEqual(len(off), 2 * len(BLOCK_SECONDS))
        for key, errors in off.items():
            self.assertLessEqual(max(errors), 0.05, key)

    def test_one_after_another_and_without_rounds_equal_providers_do_not_lag_either(self):
        world = World()
        for block_sec, lateness, fleet in itertools.product(BLOCK_SECONDS, LATENESS, FLEETS):
            for kind, more in (("sequence", {"apart": 0.4}), ("import", {"apart": 3.1, "cycle": False})):
                name = f"{block_sec}|{kind}|{lateness}|{fleet}"
                world.chain(name, block_sec * 1000)
                blocks = Blocks((block_sec, 660), start=START + world.cycle * 86400)
                world.polls(name, blocks, FLEETS[fleet], 20, 30, LOOKS["any time"], LATENESS[lateness], **more)
        world.judge()
        for kind, seen in by(lambda one: str(one.chain.split("|")[:2]), world.seen()).items():
            lags = [one.lag for one in seen if one.lag is not None]  # the first of an import has nobody to compare with
            self.assertGreater(len(lags), len(seen) * 0.9, kind)
            self.assertLessEqual(statistics.fmean(lags), 0.3, kind)
            self.assertLessEqual(share(lag >= 2 for lag in lags), 0.01, kind)

    def test_judging_round_by_round_says_what_judging_all_at_once_says(self):
        once, each = World(), World()
        blocks = Blocks((0.25, 700))
        for world in (once, each):
            world.chain("c", 1000)
            for place in range(60):
                world.poll("c", blocks, FLEETS["any"], START + 10 * place, LOOKS["any time"],
                           LATENESS["0.1 s on average"], lags=(0, 20 * (place % 2)))
                if world is each:
                    world.judge()
        once.judge()
        self.assertEqual(once.seen(), each.seen())


if __name__ == "__main__":
    unittest.main()
