"""Providers on loopback that count what each is asked, in the process of the test."""

import collections
import hashlib
import http.server
import json
import os
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "clients"))
sys.path.insert(0, os.path.join(HERE, "..", "live"))

from ethereum import keccak  # noqa: E402

DEFAULT = "eth_blockNumber"


class Refusal(Exception):
    """A JSON-RPC error as the answer."""


class Fleet:
    """`answers` maps (provider, method) to the result, always the same, or to a Refusal."""

    def __init__(self, answers):
        self.answers = answers
        self.asked = collections.Counter()
        self.lock = threading.Lock()
        fleet = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):
                call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                provider, method = self.path[1:], call["method"]
                with fleet.lock:
                    fleet.asked[provider, method] += 1
                    try:
                        outcome = {"result": fleet.answer(provider, method, call["params"])}
                    except Refusal as refusal:
                        outcome = {"error": {"code": -32000, "message": str(refusal)}}
                body = json.dumps({"jsonrpc": "2.0", "id": call["id"], **outcome}).encode()
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
                                 + str(len(body)).encode() + b"\r\n\r\n" + body)

            def log_message(self, *unused):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *unused):
                """A client that stops asking in the middle is no fault of the server's."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def answer(self, provider, method, params):
        outcome = self.answers[provider, method]
        if isinstance(outcome, Refusal):
            raise outcome
        return outcome

    def inline(self, *providers, **columns):
        """The `providers` argument."""
        return json.dumps([{"provider_id": name, "url": f"{self.url}/{name}", **columns} for name in providers])

    def take_asked(self):
        """What was asked since the last look: {(provider, method): times}."""
        with self.lock:
            asked, self.asked = self.asked, collections.Counter()
        return dict(asked)

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()


class Chain(Fleet):
    """Providers of one chain that includes at once what any of them is sent. `sent` holds (provider, hash) in order."""

    def __init__(self, chain_id):
        super().__init__({})
        self.chain_id = chain_id
        self.sent = []
        self.height = 100

    def answer(self, provider, method, params):
        hashes = [tx_hash for _, tx_hash in self.sent]
        if method == "eth_sendRawTransaction":
            tx_hash = "0x" + keccak(bytes.fromhex(params[0][2:])).hex()
            if tx_hash in hashes:
                raise Refusal("already known")
            self.sent.append((provider, tx_hash))
            return tx_hash
        if method in ("eth_getTransactionReceipt", "eth_getTransactionByHash"):
            if params[0] not in hashes:
                return None
            number = hex(self.height + 1 + hashes.index(params[0]))
            return {"transactionHash": params[0], "hash": params[0], "blockNumber": number, "blockHash": self.hash_of(number),
                    "transactionIndex": "0x0", "status": "0x1", "gasUsed": "0x5208", "cumulativeGasUsed": "0x5208",
                    "effectiveGasPrice": "0x3b9aca01", "from": "0x" + "11" * 20, "to": "0x" + "11" * 20, "type": "0x2",
                    "nonce": hex(hashes.index(params[0])), "logs": [], "logsBloom": "0x" + "00" * 256,
                    "contractAddress": None}
        head = self.height + len(hashes)
        if method == "eth_getBlockByNumber":
            number = hex(head) if params[0] in ("latest", "pending") else params[0]
            return {"number": number, "hash": self.hash_of(number), "parentHash": self.hash_of(number + "p"),
                    "timestamp": hex(int(time.time()) - 2 * (head - int(number, 16))), "baseFeePerGas": "0x1",
                    "gasLimit": "0x1c9c380", "gasUsed": "0x0", "transactions": []}
        return {"eth_chainId": hex(self.chain_id), "eth_blockNumber": hex(head), "eth_gasPrice": "0x3b9aca01",
                "eth_maxPriorityFeePerGas": "0x3b9aca00", "eth_estimateGas": "0x5208",
                "eth_getTransactionCount": hex(len(hashes)), "eth_getBalance": hex(10**24)}[method]

    @staticmethod
    def hash_of(number):
        return "0x" + hashlib.sha256(number.encode()).hexdigest()
