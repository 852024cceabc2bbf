"""Five hundred probes through providers that lose, repeat and refuse: each transaction is accounted for once."""

import collections
import contextlib
import os
import unittest

from devnet import Devnet
from ethereum import address_of
from transactions import fleet_database, keys_in_environment, new_key, own_chain_id, rows

PROVIDERS = ("a", "b", "c", "d")
PROBES = 500
KEYS = 8
SENDS = ["eth_sendRawTransaction"]
# Of a hundred sends ten go wrong, each in its own way; every tenth count is stale.
FAULTS = [{"name": "reset_after_accept", "methods": SENDS, "probability": 0.04},
          {"name": "error_after_accept", "methods": SENDS, "probability": 0.03 / 0.96},
          {"name": "duplicate_answer", "methods": SENDS, "probability": 0.03 / 0.93},
          {"name": "stale_nonce", "methods": ["eth_getTransactionCount"], "probability": 0.1, "behind": 3}]
# The same and sends that are refused or never looked at, and lookups that fail.
MORE_FAULTS = FAULTS + [
    {"name": "html_502", "methods": SENDS, "probability": 0.03},
    {"name": "reset", "methods": SENDS, "probability": 0.02},
    {"name": "429", "methods": SENDS, "probability": 0.02},
    {"name": "rpc_error_on_500", "methods": SENDS, "probability": 0.02},
    {"name": "null_result", "methods": ["eth_getTransactionByHash", "eth_getTransactionReceipt"], "probability": 0.05},
    {"name": "indexing_in_progress", "methods": ["eth_getTransactionReceipt"], "probability": 0.05}]


class Faults(unittest.TestCase):
    def probe(self, faults, probes=PROBES, **provider):
        """The rows of the scan and the devnet's truth, once everything has come to rest."""
        fleet = Devnet([{"provider_id": name, "faults": faults, **provider} for name in PROVIDERS],
                       chain_id=own_chain_id(), slot_ms=40, fund_all=True)
        self.addCleanup(fleet.stop)
        database = fleet_database(fleet.urls, fleet.chain_id)
        keys = [new_key() for _ in range(KEYS)]
        with keys_in_environment(*keys) as signer:
            found = rows(database, "SELECT * FROM tx_probe WHERE n = ? AND signer = ? AND max_spend_gwei = 1e9 "
                                   "AND timeout_sec = 20 AND seed = 1", probes, signer)
        self.assertEqual(len(found), probes)
        return fleet, keys, found, fleet.control("/truth/transactions")

    def assert_each_is_accounted_for_once(self, fleet, keys, found, truth):
        # What left and was lost before anybody took it has a hash, too, and is charged.
        taken = [row for row in found if row["tx_hash"] and row["state"] != "timeout"]
        rows_of = collections.Counter(row["tx_hash"] for row in taken)
        self.assertEqual(set(rows_of.values()), {1})
        accepted = {t["hash"]: t for t in truth if t["accepted"]}
        self.assertEqual(set(rows_of), set(accepted), "a row for each that a provider took, and for no other")
        confirmed = {row["tx_hash"]: row for row in found if row["state"] == "confirmed"}
        mined = {tx_hash: t for tx_hash, t in accepted.items() if t["block"] is not None}
        self.assertEqual({h: row["block_number"] for h, row in confirmed.items()},
                         {h: t["block"] for h, t in mined.items()})
        for row in taken:
            self.assertEqual((row["nonce"], row["provider_id"]),
                             (accepted[row["tx_hash"]]["nonce"], accepted[row["tx_hash"]]["provider"]))
        self.assert_numbers_are_whole(fleet, keys, truth)

    def assert_numbers_are_whole(self, fleet, keys, truth):
        """For each key one transaction for each number from 0 on, and nothing that waits for a missing one."""
        numbers = collections.defaultdict(list)
        for t in truth:
            if t["block"] is not None:
                numbers[t["from"]].append(t["nonce"])
        for address in map(address_of, keys):
            self.assertEqual(sorted(numbers[address]), list(range(len(numbers[address]))))
            for tag in ("latest", "pending"):
                count = max(int(fleet.call(name, "eth_getTransactionCount", address, tag), 16) for name in PROVIDERS)
                self.assertEqual(count, len(numbers[address]))

    def test_faults_after_acceptance_lose_and_double_nothing(self):
        fleet, keys, found, truth = self.probe(FAULTS)
        struck = sum(len(t["submissions"]) > 1 for t in truth)
        self.assertGreater(struck, 5, "duplicates came")
        self.assertEqual(collections.Counter(row["state"] for row in found), {"confirmed": PROBES})
        for t in truth:
            answers = [s["answer"] for s in t["submissions"]]
            self.assertIn(answers, (["accepted"], ["accepted", "already known"]), "handed over once by us")
        self.assert_each_is_accounted_for_once(fleet, keys, found, truth)

    @unittest.skipUnless(os.environ.get("RPCROUTE_HEAVY"), "takes minutes: RPCROUTE_HEAVY=1")
    def test_refusals_and_blind_lookups_lose_and_double_nothing(self):
        fleet, keys, found, truth = self.probe(MORE_FAULTS, latency={"median_ms": 5, "sigma": 0.8})
        states = collections.Counter(row["state"] for row in found)
        self.assertEqual(set(states), {"confirmed", "rejected", "timeout"}, states)
        self.assertGreater(states["confirmed"], 0.8 * PROBES)
        self.assert_each_is_accounted_for_once(fleet, keys, found, truth)

    def one(self, fault):
        with Devnet(["a", "b"], chain_id=own_chain_id(), slot_ms=40, fund_all=True) as fleet, \
                contextlib.closing(fleet_database(fleet.urls, fleet.chain_id)) as database, keys_in_environment(new_key()):
            fleet.fault("a", **fault)
            row, = rows(database, "SELECT * FROM tx_probe WHERE provider_id = 'a' AND timeout_sec = 3")
            return row, fleet.control("/truth/transactions")

    def test_words_that_sound_like_success_are_none(self):
        for message, error_class in (("Unknown RPC error", "rpc"), ("unknown transaction type", "rpc"),
                                     ("nonce too high", "nonce"), ("unknown account", "rpc"),
                                     ("transaction unknown, not imported", "rpc")):
            with self.subTest(message):
                row, truth = self.one({"name": "rpc_error", "methods": SENDS, "code": -32000, "message": message})
                self.assertEqual((row["state"], row["error_class"], truth), ("rejected", error_class, []))

    def test_a_server_that_fails_before_and_after_taking_it_tells_the_same_and_is_not_believed(self):
        for name, state in (("html_502", "timeout"), ("error_after_accept", "confirmed"), ("reset", "timeout"),
                            ("reset_after_accept", "confirmed"), ("refuse", "rejected")):
            with self.subTest(name):
                row, truth = self.one({"name": name, "methods": SENDS})
                self.assertEqual((row["state"], len(truth)), (state, int(state == "confirmed")))
                self.assertEqual(row["duration_sec"] == 3, state == "timeout")

    def test_a_receipt_that_is_being_indexed_is_waited_for(self):
        row, _ = self.one({"name": "indexing_in_progress", "methods": ["eth_getTransactionReceipt"], "count": 10})
        self.assertEqual((row["state"], row["duration_source"]), ("confirmed", "receipt"))
        self.assertGreater(row["own_receipt_sec"], row["duration_sec"])


if __name__ == "__main__":
    unittest.main()
