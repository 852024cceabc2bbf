"""Durations against the devnet's own record of when each transaction came and when its block was made."""

import bisect
import glob
import os
import threading
import time
import unittest

from devnet import Devnet
from transactions import fleet_database, keys_in_environment, new_key, own_chain_id, rows

KEYS = 8
POLL_SEC = 0.05
SLOT_SEC = 0.33
# What a look may cost beyond the interval between looks, when the processor is ours.
SLACK_SEC = 0.02


def waited_sec(thread):
    """How long it has been ready to run without a processor; see the kernel's sched-stats.rst."""
    with open(thread, encoding="ascii") as file:
        return int(file.read().split()[1]) / 1e9


class Contention:
    """What the machine's other work takes from us: time that the threads which measure and answer stood in line for a
    processor, and how late sleepers wake. Sampled all the time; between two moments it is what was added from the last
    sample before to the first after, so that it is never told too small."""

    def __init__(self, processes):
        self.threads = [path for process in processes for path in glob.glob(f"/proc/{process}/task/*/schedstat")]
        self.moments, self.waited = [], []
        self.ended = threading.Event()
        self.late = 0.0
        self.sampler = threading.Thread(target=self.sample, daemon=True)

    def __enter__(self):
        self.sampler.start()
        return self

    def __exit__(self, *unused):
        self.ended.set()
        self.sampler.join()

    def sample(self):
        while not self.ended.is_set():
            before = time.monotonic()
            time.sleep(0.002)
            self.late += time.monotonic() - before - 0.002
            self.waited.append(sum(map(waited_sec, self.threads)) + self.late)
            self.moments.append(time.time())

    def between(self, start, end):
        first = max(bisect.bisect_left(self.moments, start) - 1, 0)
        last = min(bisect.bisect_right(self.moments, end), len(self.moments) - 1)
        return self.waited[last] - self.waited[first]


class Durations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """A scan through eight keys at once, with its truth and with what disturbed it."""
        providers = [{"provider_id": name} for name in "abcd"]
        with Devnet(providers, chain_id=own_chain_id(), fund_all=True, slot_ms=1000 * SLOT_SEC) as fleet:
            database = fleet_database(fleet.urls, fleet.chain_id, poll_ms=round(1000 * POLL_SEC))
            with keys_in_environment(*(new_key() for _ in range(KEYS))) as signer, \
                    Contention([os.getpid(), fleet.process.pid]) as cls.contention:
                cls.found = rows(database, "SELECT * FROM tx_probe WHERE n = ? AND signer = ? AND seed = 3", 12 * KEYS,
                                 signer)
            cls.truth = {t["hash"]: t for t in fleet.control("/truth/transactions")}

    def each(self):
        for row in self.found:
            truth = self.truth[row["tx_hash"]]
            end = max(truth["block_time"], row["timestamp"] + row["own_receipt_sec"])
            yield row, truth, self.contention.between(row["timestamp"], end)

    def test_all_are_confirmed_with_a_receipt(self):
        self.assertEqual({(row["state"], row["duration_source"]) for row in self.found}, {("confirmed", "receipt")})
        self.assertEqual(len(self.found), 12 * KEYS)

    def test_every_duration_is_true_to_one_interval_of_looking(self):
        for row, truth, contention in self.each():
            error = row["duration_sec"] - (truth["block_time"] - truth["arrived"])
            self.assertLessEqual(abs(error), POLL_SEC + SLACK_SEC + contention)

    def test_every_broadcast_is_the_moment_before_the_bytes_arrived(self):
        for row, truth, contention in self.each():
            self.assertGreater(truth["arrived"] - row["timestamp"], -0.002)
            self.assertLess(truth["arrived"] - row["timestamp"], SLACK_SEC + contention)

    def test_no_receipt_is_seen_before_there_is_one(self):
        for row, truth, _ in self.each():
            self.assertGreater(row["timestamp"] + row["duration_sec"], truth["block_time"] - 0.002)
            self.assertGreaterEqual(row["own_receipt_sec"], row["duration_sec"])

    def test_the_head_at_the_broadcast_is_the_chains(self):
        # Asked about the time of the broadcast; a slot may pass between.
        slots = 1 + int(self.contention.between(0, time.time()) / SLOT_SEC)
        for row, truth, _ in self.each():
            self.assertLessEqual(abs(truth["head"] - row["submit_head"]), slots)
            self.assertEqual(row["blocks_waited"], truth["block"] - row["submit_head"])
            self.assertEqual((row["block_number"], row["block_timestamp"]), (truth["block"], int(truth["block_time"])))

    def test_one_is_in_flight_for_each_key_and_the_keys_run_side_by_side(self):
        self.assertEqual({row["overlap"] for row in self.found}, {0})
        for sender in {truth["from"] for truth in self.truth.values()}:
            own = sorted((truth["nonce"], truth["arrived"], truth["block_time"]) for truth in self.truth.values()
                         if truth["from"] == sender)
            for (_, _, mined), (_, arrived, _) in zip(own, own[1:]):
                self.assertGreater(arrived, mined)
        shared = [truth["block"] for truth in self.truth.values()]
        self.assertGreater(len(shared), 1.5 * len(set(shared)))


if __name__ == "__main__":
    unittest.main()
