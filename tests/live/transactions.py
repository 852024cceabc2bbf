"""What the tests that send transactions share: keys, chains of their own, and a look at every call between."""

import contextlib
import http.server
import json
import os
import secrets
import sqlite3
import threading
import unittest.mock
import urllib.request

from ethereum import address_of
from nodes import connect, rpc, script

GWEI = 10**9
# The first account of the mnemonic that every development node starts with.
FIRST_KEY = 0xAC0974BEC39A17E36BA4A6B4D238FF944BACB478CBED5EFCAE784D7BF4F2FF80


def own_chain_id():
    """No other test's: what this machine remembers of an account's numbers outlives a node that starts over."""
    return 10**9 + secrets.randbelow(10**9)


def new_key():
    return 1 + secrets.randbelow(2**255)


def key_text(key):
    return f"{key:064x}"


@contextlib.contextmanager
def keys_in_environment(*keys):
    """RPCROUTE_KEY, RPCROUTE_KEY_2 and so on; yields the signer that names them."""
    names = ["RPCROUTE_KEY" + (f"_{i + 1}" if i else "") for i in range(len(keys))]
    with unittest.mock.patch.dict(os.environ, zip(names, map(key_text, keys))):
        yield "env:" + ",".join(names)


def fund(url, key, ether=1000):
    rpc(url, "hardhat_setBalance", address_of(key), hex(ether * 10**18))


def sent(url, key, tag="latest"):
    """How many transactions of the key the node counts."""
    return int(rpc(url, "eth_getTransactionCount", address_of(key), tag), 16)


def known(url, tx_hash):
    return rpc(url, "eth_getTransactionByHash", tx_hash) is not None


def fleet_database(urls, chain_id, path=":memory:", **settings):
    """A database with the schema, and these providers (name → URL) on a test chain 'devnet' of that id. Receipts are
    looked for every 20 ms unless `poll_ms` says otherwise."""
    database = connect(path)
    script(database, "schema")
    database.execute("UPDATE rpc_chains SET chain_id = ? WHERE chain = 'devnet'", (chain_id,))
    database.executemany("INSERT INTO rpc_providers (provider_id, chain, url) VALUES (?, 'devnet', ?)", urls.items())
    for key, value in {"poll_ms": 20, **settings}.items():
        database.execute("UPDATE rpc_settings SET value = ? WHERE key = ?", (value, key))
    database.row_factory = sqlite3.Row
    return database


def rows(database, sql, *arguments):
    return [dict(row) for row in database.execute(sql, arguments)]


def reference(row):
    """A row as tx_send and tx_wait take it."""
    return json.dumps([{name: row[name] for name in ("provider_id", "tx_hash", "raw", "timestamp")}])


@contextlib.contextmanager
def between(url, seen=lambda method, params, answer: None, coming=lambda method, params: None):
    """A provider that hands every call on to the node at `url`. `coming` is called before the node has it, `seen` before
    the answer goes back; it may change the answer, and what the node holds at exactly that moment. Yields the URL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            call = json.loads(body)
            coming(call["method"], call["params"])
            forwarded = urllib.request.Request(url, body, {"Content-Type": "application/json"})
            with urllib.request.urlopen(forwarded, timeout=10) as reply:
                answer = json.load(reply)
            seen(call["method"], call["params"], answer)
            text = json.dumps(answer | {"id": call["id"]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *unused):
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *unused):
            """A scan that has ended withdraws what it asked, and a process that is killed everything."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
