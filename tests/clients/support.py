"""What the client tests share: connections with the extension, the SQL scripts, and a server that counts."""

import http.server
import json
import os
import pathlib
import sqlite3
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "live"))

from nodes import script  # noqa: E402,F401  (for those who import this)

EXTENSION = os.path.abspath(os.environ.get("RPCROUTE_EXTENSION", "build/rpcroute.so"))

# On which SQLite the tests are to run: LD_LIBRARY_PATH finds another than the distribution's, or silently does not.
WANTED = os.environ.get("RPCROUTE_SQLITE", sqlite3.sqlite_version)
assert sqlite3.sqlite_version == WANTED, f"runs on SQLite {sqlite3.sqlite_version}; tests/run.sh builds {WANTED}"

FULL = "sqlite3_rpcroute_init"
OFFLINE = "sqlite3_rpcroute_offline_init"


def load(database, entry=FULL, path=EXTENSION):
    """Loads the extension into a connection. Python has load_extension(entrypoint=) from 3.12 on only."""
    database.enable_load_extension(True)
    database.execute("SELECT load_extension(?, ?)", (str(path), entry)).fetchall()
    database.enable_load_extension(False)
    return database


def connect(path=":memory:", entry=FULL):
    """A connection whose statements commit by themselves."""
    return load(sqlite3.connect(path, isolation_level=None), entry)


def inline(**urls):
    """The `providers` argument: name=url or name={column: value}."""
    return json.dumps([{"provider_id": name, **({"url": url} if isinstance(url, str) else url)}
                       for name, url in urls.items()])


class CountingServer:
    """A JSON-RPC server on loopback that answers every call with `result`, JSON text, and remembers what came."""

    def __init__(self, result='"0x10"'):
        self.result = result
        self.requests = []
        self.gate = threading.Event()
        self.gate.set()
        self.asked = threading.Event()
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                owner.requests.append((self.path, dict(self.headers), body))
                owner.asked.set()
                owner.gate.wait(60)
                identifier = json.dumps(json.loads(body)["id"])
                answer = f'{{"jsonrpc":"2.0","id":{identifier},"result":{owner.result}}}'.encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def do_GET(self):
                owner.requests.append((self.path, dict(self.headers), b""))
                self.send_error(405)

            def log_message(self, *unused):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def hold(self):
        """From now on answers wait for release()."""
        self.asked.clear()
        self.gate.clear()

    def release(self):
        self.gate.set()

    def close(self):
        self.release()
        self.server.shutdown()
        self.server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()
