"""What each fault of a devnet provider puts on the wire."""

import base64
import gzip
import json
import os
import ssl
import struct
import unittest
import urllib.error

from devnet import Devnet, RpcError, connect, is_silent, post, read_response, request_bytes
from ethereum import address_of, sign

KEY = 0xB0B
SENDER = address_of(KEY)


class WithFleet(unittest.TestCase):
    providers = ["a", "other"]

    def setUp(self):
        self.fleet = Devnet(self.providers, slot_ms=0, funded=[SENDER])
        self.addCleanup(self.fleet.stop)
        self.port = self.fleet.ports["a"]

    def fault(self, name, **fields):
        self.fleet.fault("a", name, **fields)

    def answer(self, method="eth_blockNumber", *params):
        """Status, header lines and body."""
        head, _, body = post(self.port, method, *params).partition(b"\r\n\r\n")
        status, *headers = head.decode().split("\r\n")
        return int(status.split()[1]), headers, body

    def send(self, nonce=0):
        raw, tx_hash = sign(KEY, self.fleet.chain_id, nonce, SENDER)
        return raw, tx_hash

    def assert_known(self, tx_hash):
        self.assertIsNotNone(self.fleet.call("other", "eth_getTransactionByHash", tx_hash))


class Connection(WithFleet):
    def test_refuse_closes_the_port_and_open_connections(self):
        with connect(self.port) as connection:
            self.fault("refuse")
            self.assertEqual(connection.recv(1), b"")
            with self.assertRaises(ConnectionRefusedError):
                connect(self.port)
        self.fleet.change("a", fault=None)
        self.assertEqual(self.answer()[0], 200)

    def test_reset(self):
        self.fault("reset")
        with self.assertRaises(ConnectionResetError):
            self.answer()

    def test_stall_leaves_the_connection_open_and_silent(self):
        self.fault("stall")
        with connect(self.port) as connection:
            connection.sendall(request_bytes("eth_blockNumber"))
            self.assertTrue(is_silent(connection))

    def test_drip_is_one_byte_at_a_time(self):
        self.fault("drip", interval_ms=1)
        with connect(self.port) as connection:
            connection.sendall(request_bytes("eth_chainId"))
            first = connection.recv(1 << 16)
            self.assertLess(len(first), 40)
            self.assertTrue((first + read_response(connection)).startswith(b"HTTP/1.1 200 OK"))

    def test_truncate_ends_before_the_promised_length(self):
        self.fault("truncate")
        _, headers, body = self.answer()
        self.assertLess(len(body), next(int(h.split(":")[1]) for h in headers if h.startswith("Content-Length")))

    def test_double_response(self):
        self.fault("double_response")
        with connect(self.port) as connection:
            connection.sendall(request_bytes("eth_chainId"))
            data = b""
            while data.count(b"HTTP/1.1 200") < 2 or not data.endswith(b"}"):
                data += connection.recv(1 << 16)
            self.assertEqual(data[:len(data) // 2], data[len(data) // 2:])

    def test_endless_body_goes_on(self):
        self.fault("endless_body")
        with connect(self.port) as connection:
            connection.sendall(request_bytes("eth_chainId"))
            self.assertIn(b"chunked", connection.recv(1 << 16))
            received = 0
            while received < 20 << 20:
                received += len(connection.recv(1 << 20))

    def test_huge_header(self):
        self.fault("huge_header")
        _, headers, _ = self.answer()
        self.assertGreater(max(map(len, headers)), 1 << 20)


class Status(WithFleet):
    def rows(self, name, **fields):
        self.fault(name, **fields)
        status, headers, body = self.answer()
        return status, headers, body

    def test_html_502(self):
        status, headers, body = self.rows("html_502")
        self.assertEqual(status, 502)
        self.assertIn("Content-Type: text/html", headers)
        self.assertIn(b"<html>", body)

    def test_a_json_rpc_error_as_the_body_of_a_500(self):
        status, _, body = self.rows("rpc_error_on_500")
        self.assertEqual((status, json.loads(body)["error"]["code"]), (500, -32603))

    def test_rate_limits_with_and_without_a_time_and_within_200(self):
        status, headers, _ = self.rows("429")
        self.assertEqual((status, [h for h in headers if "Retry" in h]), (429, []))
        status, headers, _ = self.rows("429_retry_after", seconds=3)
        self.assertEqual((status, [h for h in headers if "Retry" in h]), (429, ["Retry-After: 3"]))
        status, _, body = self.rows("rate_limit_200")
        error = json.loads(body)["error"]
        self.assertEqual((status, error["code"], error["data"]["rate"]["backoff_seconds"]), (200, -32005, 30))

    def test_redirects(self):
        self.assertIn("Location: file:///etc/passwd", self.rows("redirect_file")[1])
        status, headers, _ = self.rows("redirect_host", location="http://127.0.0.1:1/")
        self.assertEqual(status, 302)
        self.assertIn("Location: http://127.0.0.1:1/", headers)

    def test_unauthorized(self):
        self.assertEqual(self.rows("unauthorized")[0], 401)

    def test_any_response_and_any_error(self):
        status, headers, body = self.rows("respond", status=403, body="no", content_type="text/plain",
                                          headers={"X-Why": "because"})
        self.assertEqual((status, body), (403, b"no"))
        self.assertIn("X-Why: because", headers)
        _, _, body = self.rows("rpc_error", code=-32015, message="no", data={"a": 1})
        self.assertEqual(json.loads(body)["error"], {"code": -32015, "message": "no", "data": {"a": 1}})


class Body(WithFleet):
    def body(self, name, **fields):
        self.fault(name, **fields)
        return self.answer()[2]

    def test_ids(self):
        self.assertEqual(json.loads(self.body("wrong_id"))["id"], 2)
        self.assertEqual(json.loads(self.body("string_id"))["id"], "1")

    def test_empty(self):
        self.assertEqual(self.body("empty_200"), b"")

    def test_invalid_json(self):
        with self.assertRaises(json.JSONDecodeError):
            json.loads(self.body("invalid_json"))

    def test_invalid_utf8(self):
        with self.assertRaises(UnicodeDecodeError):
            self.body("invalid_utf8").decode()

    def test_a_gzip_bomb_is_small_on_the_wire_and_50_mib_of_valid_json_unpacked(self):
        packed = self.body("gzip_bomb")
        self.assertLess(len(packed), 1 << 20)
        unpacked = gzip.decompress(packed)
        self.assertGreater(len(unpacked), 50 << 20)
        self.assertEqual(set(json.loads(unpacked)["result"][2:]), {"0"})


class Result(WithFleet):
    def result(self, name, method="eth_blockNumber", *params, **fields):
        self.fault(name, **fields)
        return self.fleet.call("a", method, *params)

    def test_heights(self):
        self.fleet.mine(20)
        head = self.fleet.head()
        self.assertIsNone(self.result("null_result"))
        self.assertEqual(self.result("height_zero"), "0x0")
        self.assertEqual(self.result("height_regress", by=7), hex(head - 7))
        self.assertEqual(self.result("height_other_chain"), hex(head + 30_000_000))
        self.assertEqual(self.result("empty_quantity"), "0x")
        self.assertEqual(self.result("zero_padded"), "0x00" + hex(head)[2:])
        self.assertEqual(self.result("decimal_height"), str(head))
        self.assertEqual(self.result("number_height"), head)
        self.assertEqual(self.result("max_uint64"), "0xffffffffffffffff")

    def test_the_truth_log_tells_what_was_reported_and_what_was_so(self):
        self.result("height_regress", by=7)
        self.result("empty_quantity")
        first, second = self.fleet.control("/truth/heights")
        self.assertEqual((first["reported"], first["view"], first["lag"]), (self.fleet.head() - 7, self.fleet.head(), 0))
        self.assertIsNone(second["reported"])

    def test_a_fault_of_the_height_leaves_other_methods_alone(self):
        self.assertEqual(int(self.result("height_zero", "eth_chainId"), 16), self.fleet.chain_id)

    def test_wrong_chain_id(self):
        self.assertEqual(self.result("wrong_chain_id", "eth_chainId"), "0x1")
        self.assertEqual(self.result("wrong_chain_id", "net_version"), "1")

    def test_stale_nonce(self):
        for nonce in range(3):
            self.fleet.call("a", "eth_sendRawTransaction", self.send(nonce)[0])
        self.assertEqual(self.result("stale_nonce", "eth_getTransactionCount", SENDER, "pending"), "0x2")
        self.assertEqual(self.result("stale_nonce", "eth_getTransactionCount", SENDER, "pending", behind=9), "0x0")

    def test_indexing_in_progress(self):
        with self.assertRaisesRegex(RpcError, "transaction indexing is in progress"):
            self.result("indexing_in_progress", "eth_getTransactionReceipt", "0x" + "00" * 32)


class AfterAcceptance(WithFleet):
    def test_reset_after_accept(self):
        self.fault("reset_after_accept", methods=["eth_sendRawTransaction"])
        raw, tx_hash = self.send()
        with self.assertRaises(ConnectionResetError):
            self.answer("eth_sendRawTransaction", raw)
        self.assert_known(tx_hash)
        self.assertEqual(self.answer()[0], 200)

    def test_error_after_accept(self):
        self.fault("error_after_accept")
        raw, tx_hash = self.send()
        self.assertEqual(self.answer("eth_sendRawTransaction", raw)[0], 502)
        self.assert_known(tx_hash)

    def test_stall_after_accept(self):
        self.fault("stall_after_accept")
        raw, tx_hash = self.send()
        with connect(self.port) as connection:
            connection.sendall(request_bytes("eth_sendRawTransaction", raw))
            self.assertTrue(is_silent(connection))
        self.assert_known(tx_hash)

    def test_duplicate_answer_says_already_known_to_the_first_send(self):
        self.fault("duplicate_answer")
        raw, tx_hash = self.send()
        with self.assertRaisesRegex(RpcError, "already known"):
            self.fleet.call("a", "eth_sendRawTransaction", raw)
        self.assert_known(tx_hash)
        self.assertEqual([s["answer"] for s in self.fleet.transaction(tx_hash)["submissions"]],
                         ["accepted", "already known"])


class Choice(WithFleet):
    def test_a_fault_strikes_as_often_as_it_is_counted(self):
        self.fault("html_502", count=2)
        self.assertEqual([self.answer()[0] for _ in range(4)], [502, 502, 200, 200])

    def test_a_fault_strikes_its_methods_alone(self):
        self.fault("html_502", methods=["eth_chainId"])
        self.assertEqual((self.answer("eth_chainId")[0], self.answer()[0]), (502, 200))

    def test_a_fault_strikes_with_its_probability(self):
        self.fault("html_502", probability=0.5)
        statuses = [self.answer()[0] for _ in range(60)]
        self.assertTrue(10 < statuses.count(502) < 50)

    def test_several_faults_share_a_provider(self):
        self.fleet.change("a", faults=[{"name": "429", "methods": ["eth_chainId"]}, {"name": "height_zero"}])
        self.assertEqual(self.answer("eth_chainId")[0], 429)
        self.assertEqual(self.fleet.height("a"), 0)

    def test_other_providers_are_spared(self):
        self.fault("reset")
        self.assertEqual(self.fleet.height("other"), self.fleet.head())

    def test_an_unknown_fault_is_refused_by_name(self):
        with self.assertRaises(urllib.error.HTTPError) as refusal:
            self.fault("nonsense")
        self.assertIn("there is no fault nonsense", refusal.exception.read().decode())


class WebSocket(WithFleet):
    providers = ["a", "other", {"provider_id": "sol", "kind": "solana"}]

    def open(self, provider="a"):
        connection = connect(self.fleet.ports[provider])
        self.addCleanup(connection.close)
        key = base64.b64encode(os.urandom(16)).decode()
        connection.sendall(f"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                           f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.recv(1)
        self.assertTrue(head.startswith(b"HTTP/1.1 101 "), head)
        return connection

    def send_text(self, connection, message):
        data, mask = json.dumps(message).encode(), os.urandom(4)
        size = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack(">H", len(data))
        connection.sendall(b"\x81" + size + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def receive(self, connection):
        """Opcode and payload of one frame."""
        def exactly(size):
            data = b""
            while len(data) < size:
                data += connection.recv(size - len(data))
            return data
        first, size = exactly(2)
        if size == 126:
            size, = struct.unpack(">H", exactly(2))
        return first & 15, exactly(size)

    def ask(self, connection, method, *params):
        self.send_text(connection, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        return json.loads(self.receive(connection)[1])

    def test_calls_and_heads(self):
        connection = self.open()
        self.assertEqual(int(self.ask(connection, "eth_chainId")["result"], 16), self.fleet.chain_id)
        subscription = self.ask(connection, "eth_subscribe", "newHeads")["result"]
        for _ in range(2):
            self.fleet.mine()
            head = json.loads(self.receive(connection)[1])
            self.assertEqual((head["method"], head["params"]["subscription"]), ("eth_subscription", subscription))
            self.assertEqual(int(head["params"]["result"]["number"], 16), self.fleet.head())
        self.assertEqual(self.ask(connection, "eth_unsubscribe", subscription)["result"], True)
        self.fleet.mine()
        self.assertEqual(int(self.ask(connection, "eth_blockNumber")["result"], 16), self.fleet.head())
        self.assertEqual(self.fleet.control("/counts")["a"]["ws"], 1)

    def test_heads_come_as_late_as_the_provider_lags(self):
        connection = self.open()
        self.ask(connection, "eth_subscribe", "newHeads")
        self.fleet.change("a", lag=2)
        self.fleet.mine(3)
        head = json.loads(self.receive(connection)[1])
        self.assertEqual(int(head["params"]["result"]["number"], 16), self.fleet.head() - 2)

    def test_solana_slots(self):
        connection = self.open("sol")
        self.assertEqual(self.ask(connection, "slotSubscribe")["result"], 1)
        self.fleet.mine()
        message = json.loads(self.receive(connection)[1])
        head = self.fleet.head()
        self.assertEqual((message["method"], message["params"]["result"]["slot"], message["params"]["result"]["parent"]),
                         ("slotNotification", head, head - 1))

    def test_ws_silent_acknowledges_and_sends_nothing(self):
        self.fault("ws_silent")
        connection = self.open()
        self.assertIn("result", self.ask(connection, "eth_subscribe", "newHeads"))
        self.fleet.mine()
        self.assertTrue(is_silent(connection))

    def test_ws_mute_answers_nothing(self):
        self.fault("ws_mute")
        connection = self.open()
        self.send_text(connection, {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": ["newHeads"]})
        self.assertTrue(is_silent(connection))

    def test_ws_close(self):
        self.fault("ws_close")
        self.assertEqual(self.receive(self.open())[0], 8)

    def test_ws_heads_come_without_blocks(self):
        self.fault("ws_heads", interval_ms=5)
        connection = self.open()
        self.ask(connection, "eth_subscribe", "newHeads")
        for _ in range(3):
            head = json.loads(self.receive(connection)[1])
            self.assertEqual(int(head["params"]["result"]["number"], 16), self.fleet.head())

    def test_refuse_ends_subscriptions(self):
        connection = self.open()
        self.ask(connection, "eth_subscribe", "newHeads")
        self.fault("refuse")
        self.assertEqual(connection.recv(1), b"")


class Solana(WithFleet):
    providers = [{"provider_id": "a", "kind": "solana"}, {"provider_id": "other", "kind": "solana"}]
    OWNER = "4Nd1mYvQ3pXn6m1bX8s2VfGd1yG5w3C7m5n2q8r9t1uV"

    def test_heights_by_commitment(self):
        head = self.fleet.head()
        slot = lambda *params: self.fleet.call("a", "getSlot", *params)
        self.assertEqual((slot(), slot({"commitment": "confirmed"}), slot({"commitment": "processed"})),
                         (head - 31, head - 1, head))
        self.fleet.change("a", lag=2)
        self.assertEqual(slot(), head - 33)
        self.assertEqual([t["lag"] for t in self.fleet.control("/truth/heights")], [0, 0, 0, 2])

    def test_answers_with_context(self):
        balance = self.fleet.call("a", "getBalance", self.OWNER, {"commitment": "processed"})
        self.assertEqual(balance["context"]["slot"], self.fleet.head())
        self.assertEqual(balance["value"], self.fleet.call("other", "getBalance", self.OWNER)["value"])
        self.assertEqual(self.fleet.call("a", "getTokenAccountsByOwner", self.OWNER, {})["value"], [])
        self.assertIn("lastValidBlockHeight", self.fleet.call("a", "getLatestBlockhash")["value"])

    def test_health_tells_how_far_behind(self):
        self.assertEqual(self.fleet.call("a", "getHealth"), "ok")
        self.fleet.mine(200)
        self.fleet.change("a", lag=150)
        with self.assertRaisesRegex(RpcError, "Node is behind by 150 slots") as refusal:
            self.fleet.call("a", "getHealth")
        self.assertEqual((refusal.exception.code, refusal.exception.data), (-32005, {"numSlotsBehind": 150}))

    def test_height_faults_are_bare_numbers(self):
        self.fault("max_uint64")
        self.assertEqual(self.fleet.call("a", "getSlot"), 2**64 - 1)
        self.fault("wrong_chain_id")
        self.assertNotEqual(self.fleet.call("a", "getGenesisHash"), self.fleet.call("other", "getGenesisHash"))


class Tls(WithFleet):
    providers = [{"provider_id": "a", "tls": True}]

    def test_nobody_trusts_the_certificate(self):
        self.assertTrue(self.fleet.urls["a"].startswith("https://"))
        with connect(self.port) as plain, self.assertRaises(ssl.SSLCertVerificationError):
            ssl.create_default_context().wrap_socket(plain, server_hostname="localhost")

    def test_who_does_not_verify_is_answered(self):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with context.wrap_socket(connect(self.port)) as connection:
            connection.sendall(request_bytes("eth_chainId"))
            self.assertIn(b"200 OK", read_response(connection))


if __name__ == "__main__":
    unittest.main()
