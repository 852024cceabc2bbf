"""Starts a devnet fleet, talks to it, ends it."""

import json
import os
import select
import socket
import subprocess
import tempfile
import time
import urllib.request

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("RPCROUTE_DEVNET", os.path.join(REPOSITORY, "build", "rpcroute-devnet"))
PATIENCE_SEC = 30


class RpcError(Exception):
    def __init__(self, error):
        super().__init__(error["message"])
        self.code, self.message, self.data = error["code"], error["message"], error.get("data")


class Devnet:
    """A running fleet. `providers` is a list of names or of objects of the fleet file; other keys as there."""

    def __init__(self, providers, log=False, arguments=(), **fleet):
        self.directory = tempfile.TemporaryDirectory()
        self.config_path = os.path.join(self.directory.name, "fleet.json")
        fleet["providers"] = [{"provider_id": p} if isinstance(p, str) else p for p in providers]
        with open(self.config_path, "w", encoding="utf-8") as file:
            json.dump(fleet, file)
        command = [PROGRAM, "serve", "--config", self.config_path, "--exit-with-stdin", "--max-seconds", "300", *arguments]
        self.log_path = os.path.join(self.directory.name, "truth.jsonl") if log else None
        if log:
            command += ["--log", self.log_path]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ready = json.loads(self.process.stdout.readline())
        self.control_port = self.ready["control"]
        self.chain_id = self.ready["chain_id"]
        self.urls = {p["provider_id"]: p["url"] for p in self.ready["providers"]}
        self.ports = {name: int(url.rsplit(":", 1)[1]) for name, url in self.urls.items()}

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.stop()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        status = self.process.wait(PATIENCE_SEC)
        self.process.stdin.close()
        self.process.stdout.close()
        self.directory.cleanup()
        assert status == 0, f"the devnet ended with status {status}"

    def control(self, path, body=None):
        """GET, or POST when there is a body."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.control_port}{path}", data=data)
        with urllib.request.urlopen(request, timeout=PATIENCE_SEC) as response:
            return json.load(response)

    def change(self, provider, **settings):
        self.control(f"/providers/{provider}", settings)

    def fault(self, provider, name, **fields):
        self.change(provider, fault={"name": name, **fields})

    def mine(self, slots=1):
        self.control("/mine", {"slots": slots})

    def head(self):
        return self.control("/head")["number"]

    def transaction(self, tx_hash):
        """The truth about one transaction."""
        return next(t for t in self.control("/truth/transactions") if t["hash"] == tx_hash)

    def call(self, provider, method, *params):
        body = post(self.ports[provider], method, *params)
        answer = json.loads(body.partition(b"\r\n\r\n")[2])
        if "error" in answer:
            raise RpcError(answer["error"])
        return answer["result"]

    def height(self, provider):
        return int(self.call(provider, "eth_blockNumber"), 16)

    def truth(self):
        """The whole lines of the truth log so far written."""
        with open(self.log_path, encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]


def request_bytes(method, *params, identifier=1):
    body = json.dumps({"jsonrpc": "2.0", "id": identifier, "method": method, "params": list(params)}).encode()
    head = f"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SEC)


def post(port, method, *params):
    """One call on a connection of its own; all bytes of the response."""
    with connect(port) as connection:
        connection.sendall(request_bytes(method, *params))
        return read_response(connection)


def read_response(connection):
    """One response as its Content-Length bounds it, or less when the connection ends first."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(1 << 20)
        if not part:
            return data
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    while lengths and len(body) < int(lengths[0]):
        part = connection.recv(1 << 20)
        if not part:
            break
        body += part
    return head + b"\r\n\r\n" + body


def is_silent(connection, seconds=0.3):
    """Whether nothing, not even an end, comes in that time."""
    return not select.select([connection], [], [], seconds)[0]


def wait_for(condition):
    """The first true value of the condition."""
    deadline = time.monotonic() + PATIENCE_SEC
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError("it did not come true in time")
