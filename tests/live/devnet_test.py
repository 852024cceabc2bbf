"""The devnet itself: its chain, its lag, its truth log and its control port."""

import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

from devnet import PATIENCE_SEC, PROGRAM, Devnet, RpcError, connect, post, read_response, request_bytes, wait_for
from ethereum import address_of, keccak, rlp, sign

KEY = 0xA11CE
SENDER = address_of(KEY)
GWEI = 10**9


def manual(providers, **fleet):
    """A fleet whose slots come only when they are asked for."""
    return Devnet(providers, slot_ms=0, funded=[SENDER], **fleet)


class Chain(unittest.TestCase):
    def test_a_block_is_named_by_the_hash_of_its_header_and_names_its_parent(self):
        with manual(["a"]) as fleet:
            fleet.mine(3)
            block = fleet.call("a", "eth_getBlockByNumber", "latest", False)
            parent = fleet.call("a", "eth_getBlockByNumber", hex(int(block["number"], 16) - 1), False)
            self.assertEqual(block["parentHash"], parent["hash"])
            self.assertEqual(fleet.call("a", "eth_getBlockByHash", block["hash"], False), block)
            data = lambda name: bytes.fromhex(block[name][2:])
            number = lambda name: int(block[name], 16)
            header = [data("parentHash"), data("sha3Uncles"), data("miner"), data("stateRoot"),
                      data("transactionsRoot"), data("receiptsRoot"), data("logsBloom"), number("difficulty"),
                      number("number"), number("gasLimit"), number("gasUsed"), number("timestamp"), data("extraData"),
                      data("mixHash"), data("nonce"), number("baseFeePerGas")]
            self.assertEqual("0x" + keccak(rlp(header)).hex(), block["hash"])

    def test_slots_come_at_their_pace_and_may_be_missed(self):
        with Devnet(["a"], slot_ms=20, missed_slot_probability=0.5, log=True) as fleet:
            wait_for(lambda: sum(line["event"] == "block" for line in fleet.truth()) >= 5)
            self.assertTrue(any(line["event"] == "missed" for line in fleet.truth()))

    def test_a_future_block_is_null_and_its_state_an_error(self):
        with manual(["a"]) as fleet:
            future = hex(fleet.head() + 1)
            self.assertIsNone(fleet.call("a", "eth_getBlockByNumber", future, False))
            with self.assertRaisesRegex(RpcError, "header not found"):
                fleet.call("a", "eth_getBalance", SENDER, future)

    def test_fees_come_with_their_history(self):
        with manual(["a"], base_fee_gwei=2) as fleet:
            self.assertEqual(int(fleet.call("a", "eth_gasPrice"), 16), 3 * GWEI)
            fees = fleet.call("a", "eth_feeHistory", "0x2", "latest", [50])
            self.assertEqual([int(f, 16) for f in fees["baseFeePerGas"]], [2 * GWEI] * 3)
            self.assertEqual(len(fees["reward"]), 2)


class Transactions(unittest.TestCase):
    def setUp(self):
        self.fleet = manual(["a", "b"])
        self.addCleanup(self.fleet.stop)

    def send(self, nonce=0, provider="a", key=KEY, **fields):
        raw, tx_hash = sign(key, self.fleet.chain_id, nonce, address_of(key), **fields)
        self.assertEqual(self.fleet.call(provider, "eth_sendRawTransaction", raw), tx_hash)
        return tx_hash

    def assert_refused(self, words, raw):
        with self.assertRaisesRegex(RpcError, words):
            self.fleet.call("a", "eth_sendRawTransaction", raw)

    def signed(self, nonce=0, key=KEY, **fields):
        return sign(key, fields.pop("chain_id", self.fleet.chain_id), nonce, address_of(key), **fields)[0]

    def count(self, tag, provider="a"):
        return int(self.fleet.call(provider, "eth_getTransactionCount", SENDER, tag), 16)

    def test_it_is_pending_then_in_the_next_block(self):
        balance = int(self.fleet.call("a", "eth_getBalance", SENDER, "latest"), 16)
        tx_hash = self.send()
        self.assertIsNone(self.fleet.call("b", "eth_getTransactionReceipt", tx_hash))
        self.assertIsNone(self.fleet.call("b", "eth_getTransactionByHash", tx_hash)["blockNumber"])
        self.assertEqual((self.count("latest"), self.count("pending")), (0, 1))
        self.fleet.mine()
        receipt = self.fleet.call("b", "eth_getTransactionReceipt", tx_hash)
        self.assertEqual(receipt["from"], SENDER)
        self.assertEqual((int(receipt["blockNumber"], 16), receipt["status"]), (self.fleet.head(), "0x1"))
        self.assertEqual((int(receipt["gasUsed"], 16), int(receipt["effectiveGasPrice"], 16)), (21000, 2 * GWEI))
        self.assertEqual((self.count("latest"), self.count("pending")), (1, 1))
        after = int(self.fleet.call("a", "eth_getBalance", SENDER, "latest"), 16)
        self.assertEqual(balance - after, 21000 * 2 * GWEI)
        block = self.fleet.call("a", "eth_getBlockByNumber", "latest", True)
        self.assertEqual([t["hash"] for t in block["transactions"]], [tx_hash])

    def test_a_gap_waits_until_it_is_filled(self):
        late = self.send(nonce=1)
        self.fleet.mine()
        self.assertIsNone(self.fleet.call("a", "eth_getTransactionReceipt", late))
        self.assertEqual(self.count("pending"), 0)
        self.send(nonce=0)
        self.assertEqual(self.count("pending"), 2)
        self.fleet.mine()
        self.assertEqual(self.count("latest"), 2)

    def test_a_replacement_must_raise_both_fees_by_a_tenth(self):
        first = self.send(tip=1000, max_fee=3 * GWEI)
        self.assert_refused("replacement transaction underpriced", self.signed(tip=1100, max_fee=33 * GWEI // 10 - 1))
        self.assert_refused("replacement transaction underpriced", self.signed(tip=1099, max_fee=33 * GWEI // 10))
        second = self.send(tip=1100, max_fee=33 * GWEI // 10)
        self.assertIsNone(self.fleet.call("a", "eth_getTransactionByHash", first))
        self.fleet.mine()
        self.assertIsNotNone(self.fleet.call("a", "eth_getTransactionReceipt", second))
        self.assertEqual(self.fleet.transaction(first)["dropped"], "replaced")

    def test_a_fee_below_the_base_fee_waits_for_a_cheaper_block(self):
        tx_hash = self.send(tip=1000, max_fee=GWEI // 2)
        self.fleet.mine()
        self.assertIsNone(self.fleet.call("a", "eth_getTransactionReceipt", tx_hash))
        self.fleet.control("/chain", {"base_fee_gwei": 0.1})
        self.fleet.mine()
        self.assertIsNotNone(self.fleet.call("a", "eth_getTransactionReceipt", tx_hash))

    def test_refusals_speak_like_geth(self):
        self.send()
        self.assert_refused("^already known$", self.signed())
        self.fleet.mine()
        self.assert_refused("^nonce too low: next nonce 1, tx nonce 0$", self.signed())
        self.assert_refused("^insufficient funds for gas \\* price \\+ value: balance 0", self.signed(key=2))
        self.assert_refused("invalid chain id for signer: have 1 want 424242", self.signed(nonce=1, chain_id=1))
        self.assert_refused("intrinsic gas too low: gas 20999, minimum needed 21000", self.signed(nonce=1, gas=20999))
        self.assert_refused("intrinsic gas too low", self.signed(nonce=1, data=b"\x01"))
        self.assert_refused("exceeds block gas limit", self.signed(nonce=1, gas=10**9))
        self.assert_refused("max priority fee per gas higher", self.signed(nonce=1, tip=4 * GWEI))
        self.assert_refused("transaction underpriced", self.signed(nonce=1, tip=0))
        self.assert_refused("invalid sender", self.signed(nonce=1, high_s=True))
        raw = self.signed(nonce=1)
        self.assert_refused("rlp", raw[:-2])
        self.assert_refused("rlp", raw + "00")
        self.assert_refused("transaction type not supported", "0x01" + raw[4:])
        self.assert_refused("too short", "0x")

    def test_a_fee_of_all_ones_is_not_affordable_rather_than_wrapped(self):
        self.assert_refused("insufficient funds", self.signed(max_fee=2**256 - 1))

    def test_the_node_signs_for_its_own_accounts(self):
        account = self.fleet.call("a", "eth_accounts")[0]
        tx_hash = self.fleet.call("a", "eth_sendTransaction", {"from": account, "to": account, "value": "0x0"})
        self.fleet.mine()
        self.assertEqual(self.fleet.call("b", "eth_getTransactionReceipt", tx_hash)["from"], account)
        with self.assertRaisesRegex(RpcError, "unknown account"):
            self.fleet.call("a", "eth_sendTransaction", {"from": SENDER, "to": SENDER})

    def test_the_private_keys_of_the_accounts_are_told(self):
        for account in self.fleet.control("/accounts"):
            self.assertEqual(address_of(int(account["private_key"], 16)), account["address"])

    def test_a_reorganised_receipt_vanishes_and_comes_back_in_a_later_block(self):
        tx_hash = self.send()
        self.fleet.mine()
        old = self.fleet.call("a", "eth_getTransactionReceipt", tx_hash)
        height = self.fleet.head()
        self.fleet.control("/reorg", {"depth": 2})
        self.assertEqual(self.fleet.head(), height)
        self.assertIsNone(self.fleet.call("a", "eth_getTransactionReceipt", tx_hash))
        self.assertIsNone(self.fleet.call("a", "eth_getBlockByHash", old["blockHash"], False))
        self.fleet.mine()
        self.assertEqual(int(self.fleet.call("a", "eth_getTransactionReceipt", tx_hash)["blockNumber"], 16), height + 1)
        self.assertEqual((self.fleet.transaction(tx_hash)["block"], self.fleet.transaction(tx_hash)["reorgs"]),
                         (height + 1, 1))

    def test_a_dropped_transaction_is_unknown_everywhere(self):
        tx_hash = self.send()
        self.fleet.control("/drop", {"hash": tx_hash})
        self.fleet.mine()
        for provider in "ab":
            self.assertIsNone(self.fleet.call(provider, "eth_getTransactionByHash", tx_hash))
        self.assertEqual(self.count("pending"), 0)


class LaggingProvider(unittest.TestCase):
    def setUp(self):
        self.fleet = manual(["fresh", "stale"])
        self.addCleanup(self.fleet.stop)
        self.fleet.mine(5)
        self.fleet.change("stale", lag=3)

    def test_it_reports_the_head_less_its_lag(self):
        head = self.fleet.head()
        self.assertEqual((self.fleet.height("fresh"), self.fleet.height("stale")), (head, head - 3))
        latest = self.fleet.call("stale", "eth_getBlockByNumber", "latest", False)
        self.assertEqual(int(latest["number"], 16), head - 3)
        self.assertIsNone(self.fleet.call("stale", "eth_getBlockByNumber", hex(head), False))

    def test_it_passes_a_transaction_on_when_it_has_come_to_the_head_of_the_moment_it_was_sent(self):
        sent_at = self.fleet.head()
        raw, tx_hash = sign(KEY, self.fleet.chain_id, 0, SENDER)
        self.fleet.call("stale", "eth_sendRawTransaction", raw)
        self.assertIsNone(self.fleet.call("fresh", "eth_getTransactionByHash", tx_hash))
        self.assertIsNotNone(self.fleet.call("stale", "eth_getTransactionByHash", tx_hash))
        self.fleet.mine(3)
        self.assertEqual(self.fleet.height("stale"), sent_at)
        self.assertIsNone(self.fleet.call("fresh", "eth_getTransactionReceipt", tx_hash))
        self.fleet.mine()
        receipt = self.fleet.call("fresh", "eth_getTransactionReceipt", tx_hash)
        self.assertEqual(int(receipt["blockNumber"], 16), sent_at + 4)
        truth = self.fleet.transaction(tx_hash)
        self.assertEqual((truth["provider"], truth["head"], truth["block"]), ("stale", sent_at, sent_at + 4))

    def test_the_same_transaction_through_a_fresh_provider_is_in_the_next_block(self):
        sent_at = self.fleet.head()
        raw, tx_hash = sign(KEY, self.fleet.chain_id, 0, SENDER)
        self.fleet.call("fresh", "eth_sendRawTransaction", raw)
        self.fleet.mine()
        receipt = self.fleet.call("fresh", "eth_getTransactionReceipt", tx_hash)
        self.assertEqual(int(receipt["blockNumber"], 16), sent_at + 1)
        self.assertIsNone(self.fleet.call("stale", "eth_getTransactionReceipt", tx_hash))
        self.assertEqual(self.fleet.call("stale", "eth_getTransactionCount", SENDER, "pending"), "0x0")
        self.fleet.mine(3)
        self.assertEqual(self.fleet.call("stale", "eth_getTransactionReceipt", tx_hash), receipt)

    def test_catching_up_at_once_passes_on_at_once(self):
        raw, tx_hash = sign(KEY, self.fleet.chain_id, 0, SENDER)
        self.fleet.call("stale", "eth_sendRawTransaction", raw)
        self.fleet.change("stale", lag=0)
        self.assertIsNotNone(self.fleet.call("fresh", "eth_getTransactionByHash", tx_hash))

    def test_a_transaction_overtaken_by_another_of_its_nonce_is_dropped(self):
        slow_raw, slow = sign(KEY, self.fleet.chain_id, 0, SENDER)
        fast_raw, fast = sign(KEY, self.fleet.chain_id, 0, SENDER, tip=2 * GWEI, max_fee=4 * GWEI)
        self.fleet.call("stale", "eth_sendRawTransaction", slow_raw)
        self.fleet.call("fresh", "eth_sendRawTransaction", fast_raw)
        self.fleet.mine(5)
        self.assertIsNotNone(self.fleet.call("stale", "eth_getTransactionReceipt", fast))
        self.assertIsNone(self.fleet.call("stale", "eth_getTransactionByHash", slow))
        self.assertEqual(self.fleet.transaction(slow)["dropped"], "nonce too low")


class WayToTheBlock(unittest.TestCase):
    """What delays a transaction besides lag."""

    def blocks_waited(self, count=1, mined=1, **provider):
        with manual([{"provider_id": "a", **provider}]) as fleet:
            waited = []
            for nonce in range(count):
                sent_at = fleet.head()
                raw, tx_hash = sign(KEY, fleet.chain_id, nonce, SENDER)
                fleet.call("a", "eth_sendRawTransaction", raw)
                fleet.mine(mined)
                waited.append(fleet.transaction(tx_hash)["block"] - sent_at)
            return waited

    def test_each_slot_may_miss_it(self):
        waited = self.blocks_waited(count=20, mined=40, miss_probability=0.5)
        self.assertEqual(min(waited), 1)
        self.assertTrue(1.3 < sum(waited) / len(waited) < 3)

    def test_a_few_wait_five_to_eight_slots_more(self):
        waited = self.blocks_waited(count=20, mined=9, tail_probability=1)
        self.assertEqual(set(waited), {6, 7, 8, 9})

    def test_it_propagates_before_a_block_can_take_it(self):
        with manual([{"provider_id": "a", "propagation": {"median_ms": 50}}, "b"]) as fleet:
            raw, tx_hash = sign(KEY, fleet.chain_id, 0, SENDER)
            fleet.call("a", "eth_sendRawTransaction", raw)
            self.assertIsNotNone(fleet.call("a", "eth_getTransactionByHash", tx_hash))
            passed_on = wait_for(lambda: fleet.transaction(tx_hash)["passed_on"])
            self.assertGreaterEqual(passed_on - fleet.transaction(tx_hash)["arrived"], 0.05)
            self.assertIsNotNone(fleet.call("b", "eth_getTransactionByHash", tx_hash))

    def test_it_misses_a_block_when_it_comes_within_the_cutoff(self):
        with manual(["a"], cutoff_ms=60000) as fleet:
            raw, tx_hash = sign(KEY, fleet.chain_id, 0, SENDER)
            fleet.call("a", "eth_sendRawTransaction", raw)
            fleet.mine(3)
            self.assertIsNone(fleet.call("a", "eth_getTransactionReceipt", tx_hash))

    def test_a_block_is_seen_after_the_providers_delay(self):
        with manual([{"provider_id": "a", "head_delay_ms": 50}]) as fleet:
            before = fleet.height("a")
            fleet.mine()
            wait_for(lambda: fleet.height("a") == before + 1)
            self.assertEqual(fleet.control("/truth/heights")[-1]["lag"], 0)


class RandomLag(unittest.TestCase):
    FLEET = [{"provider_id": "a", "lag": {"share": 0.3, "burst_slots": 5, "max": 4}},
             {"provider_id": "b", "lag": {"share": 0.1, "burst_slots": 5, "max": 2}}]

    def lags(self, seed):
        with manual(self.FLEET, seed=seed, log=True) as fleet:
            fleet.mine(4000)
            return [(line["provider"], line["blocks"]) for line in fleet.truth() if line["event"] == "lag"]

    def test_one_seed_gives_one_history_and_another_seed_another(self):
        self.assertEqual(self.lags(1), self.lags(1))
        self.assertNotEqual(self.lags(1), self.lags(2))

    def test_every_answer_is_the_head_less_the_true_lag(self):
        with manual(self.FLEET) as fleet:
            lagged = 0
            for _ in range(150):
                fleet.mine()
                for provider in "ab":
                    fleet.height(provider)
            for truth in fleet.control("/truth/heights"):
                self.assertEqual(truth["reported"], truth["head"] - truth["lag"])
                lagged += truth["lag"] > 0
            self.assertGreater(lagged, 10)

    def test_a_request_may_miss_the_lagging_backend(self):
        with manual([{"provider_id": "a", "lag": {"hit_probability": 0.5}}]) as fleet:
            fleet.change("a", lag=2)
            self.assertEqual({fleet.height("a") for _ in range(30)}, {fleet.head(), fleet.head() - 2})

    def test_the_share_of_time_lagging_is_the_one_asked_for(self):
        with manual(self.FLEET, log=True) as fleet:
            fleet.mine(20000)
            behind, blocks, current = 0, 0, 0
            for line in fleet.truth():
                if line["event"] == "lag" and line["provider"] == "a":
                    current = line["blocks"]
                elif line["event"] == "block":
                    blocks += 1
                    behind += current > 0
            self.assertAlmostEqual(behind / blocks, 0.3, delta=0.05)


class Serving(unittest.TestCase):
    def test_an_answer_never_leaves_before_its_latency(self):
        with manual(["a"]) as fleet:
            fleet.change("a", latency_ms=80)
            start = time.monotonic()
            fleet.height("a")
            self.assertGreaterEqual(time.monotonic() - start, 0.08)
            self.assertEqual(fleet.control("/truth/heights")[-1]["latency_ms"], 80)

    def test_pipelined_requests_are_answered_in_their_order(self):
        with manual(["a"]) as fleet, connect(fleet.ports["a"]) as connection:
            connection.sendall(b"".join(request_bytes("eth_chainId", identifier=i) for i in range(20)))
            data = b""
            while data.count(b"jsonrpc") < 20:
                data += connection.recv(1 << 16)
            bodies = [json.loads(line[:line.index(b"}") + 1]) for line in data.split(b"\r\n\r\n")[1:]]
            self.assertEqual([body["id"] for body in bodies], list(range(20)))

    def test_a_batch_is_answered_item_by_item_and_counted(self):
        with manual(["a"]) as fleet, connect(fleet.ports["a"]) as connection:
            batch = [{"jsonrpc": "2.0", "id": "x", "method": "eth_chainId"}, {"jsonrpc": "2.0", "id": 2, "method": "no"}]
            body = json.dumps(batch).encode()
            connection.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                               % len(body) + body)
            first, second = json.loads(read_response(connection).partition(b"\r\n\r\n")[2])
            self.assertEqual((first["id"], int(first["result"], 16)), ("x", fleet.chain_id))
            self.assertEqual((second["id"], second["error"]["code"]), (2, -32601))
            self.assertEqual(fleet.control("/counts")["a"], {"eth_chainId": 1, "no": 1})
            fleet.control("/counts/reset", {})
            self.assertEqual(fleet.control("/counts")["a"], {})

    def test_get_is_not_allowed(self):
        with manual(["a"]) as fleet, connect(fleet.ports["a"]) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            self.assertTrue(read_response(connection).startswith(b"HTTP/1.1 405 "))

    def test_a_form_is_not_json(self):
        with manual(["a"]) as fleet, connect(fleet.ports["a"]) as connection:
            connection.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n")
            self.assertTrue(read_response(connection).startswith(b"HTTP/1.1 415 "))

    def test_a_taken_port_is_named(self):
        with manual(["a"]) as fleet:
            port = fleet.ports["a"]
            command = [PROGRAM, "serve", "--config", fleet.config_path, "--port-base", str(port)]
            second = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SEC, check=False)
            self.assertEqual(second.returncode, 1)
            self.assertIn(f"port {port}", second.stderr)

    def test_a_fleet_file_with_a_mistake_is_refused_by_name(self):
        for words, fleet in (("a: unknown key latencies", {"providers": [{"provider_id": "a", "latencies": 1}]}),
                             ("slot_ms must be a number", {"slot_ms": "x", "providers": [{"provider_id": "a"}]}),
                             ("providers has a twice", {"providers": [{"provider_id": "a"}, {"provider_id": "a"}]}),
                             ("there is no fault x", {"providers": [{"provider_id": "a", "faults": [{"name": "x"}]}]})):
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                json.dump(fleet, file)
                file.flush()
                refused = subprocess.run([PROGRAM, "serve", "--config", file.name], capture_output=True, text=True,
                                         timeout=PATIENCE_SEC, check=False)
                self.assertEqual(refused.returncode, 1)
                self.assertIn(words, refused.stderr)

    def test_errors_come_at_their_rate(self):
        with manual([{"provider_id": "a", "error_rate": 1}]) as fleet:
            seen = set()
            for _ in range(20):
                try:
                    seen.add(post(fleet.ports["a"], "eth_blockNumber")[9:12])
                except ConnectionResetError:
                    seen.add(b"RST")
            self.assertEqual(seen, {b"500", b"RST"})


class Ending(unittest.TestCase):
    def assert_ends_by(self, end):
        fleet = manual(["a"], log=True)
        self.addCleanup(fleet.stop)
        fleet.mine()
        end(fleet)
        self.assertEqual(fleet.process.wait(PATIENCE_SEC), 0)
        self.assertEqual(fleet.truth()[-1]["event"], "block")

    def test_it_ends_when_told(self):
        self.assert_ends_by(lambda fleet: fleet.control("/shutdown", {}))

    def test_it_ends_by_a_signal(self):
        self.assert_ends_by(lambda fleet: os.kill(fleet.process.pid, signal.SIGTERM))

    def test_it_ends_with_its_parent(self):
        self.assert_ends_by(lambda fleet: fleet.process.stdin.close())


if __name__ == "__main__":
    unittest.main()
