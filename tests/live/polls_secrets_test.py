"""Keys in URL path, query, header and environment, and providers that throw them back in every way: after a run of
everything, no table, no message and no output of the shell holds a piece of one."""

import http.server
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import unittest
import urllib.parse

from devnet import Devnet
from faults_test import CASES
from nodes import EXTENSION

ROOT = pathlib.Path(__file__).resolve().parents[2]

PATH_KEY = "pAth7Qx2mZ9vK4tR8wLc3NbY6"
QUERY_KEY = "qUry5Hj8dF2sG7kP1xVn4MzT9"
HEADER_KEY = "hEad3+Wq/6eRt1Yu8Io5Pa+2Sd/4Fg7=="
VARIABLE_KEY = "vAri9Bn4mC7xZ2lK6jH3gF8dS1"
SIGNER_KEY = "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
KEYS = [PATH_KEY, QUERY_KEY, HEADER_KEY, VARIABLE_KEY, SIGNER_KEY]

WINDOW = 8  # characters in a row that already give something away


def pieces(key):
    return {key[i:i + WINDOW].lower() for i in range(len(key) - WINDOW + 1)}


PIECES = set().union(*map(pieces, KEYS))


def answer(body, status=200, content_type="application/json", **headers):
    return status, {"Content-Type": content_type, **headers}, body


def rpc_error(message, data=None, code=-32000):
    return json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message, "data": data}})


# Ways to throw a request back; `echo` is the request's line, headers and body as they arrived.
ECHOES = {
    "message": lambda echo: answer(rpc_error(echo)),
    "message_in_capitals": lambda echo: answer(rpc_error(echo.upper())),
    "message_of_keys": lambda echo: answer(rpc_error(" ".join(key * 20 for key in KEYS[:4]))),
    "message_late": lambda echo: answer(rpc_error("x" * 190 + PATH_KEY)),
    "message_with_breaks": lambda echo: answer(rpc_error("key\n" + PATH_KEY + "\t" + VARIABLE_KEY + "\0")),
    "message_quoted": lambda echo: answer(rpc_error(urllib.parse.quote(echo, safe=""))),
    "message_quoted_lower": lambda echo: answer(rpc_error(urllib.parse.quote(HEADER_KEY, safe="").lower())),
    "data": lambda echo: answer(rpc_error("see data", {"request": echo})),
    "rate_limit": lambda echo: answer(rpc_error("rate limit for " + echo, {"rate": {"backoff_seconds": 3}}, -32005)),
    "error_is_text": lambda echo: answer(json.dumps({"id": None, "error": echo})),
    "html": lambda echo: answer(f"<html>{echo}</html>", 500, "text/html"),
    "html_late": lambda echo: answer("x" * 185 + HEADER_KEY, 502, "text/html"),
    "html_of_keys": lambda echo: answer("".join(key * 60 for key in KEYS[:4]), 404, "text/html"),
    "html_beyond_ascii": lambda echo: answer("é" * 99 + QUERY_KEY + "é" * 99, 404, "text/html"),
    "json_without_rpc": lambda echo: answer(json.dumps({"error": echo}), 403),
    "json_with_escaped_slashes": lambda echo: answer(json.dumps({"error": echo}).replace("/", "\\/"), 403),
    "json_all_escaped": lambda echo: answer(
        '{"error":"' + "".join(c if c.isalnum() else f"\\u{ord(c):04x}" for c in echo) + '"}', 403),
    "json_all_escaped_big": lambda echo: answer(
        '{"error":"' + "".join(c if c.isalnum() else f"\\u{ord(c):04X}" for c in echo) + '"}', 403),
    "broken_json": lambda echo: answer('{"jsonrpc":"2.0","result":' + echo),
    "result": lambda echo: answer(json.dumps({"jsonrpc": "2.0", "id": None, "result": echo})),
    "other_id": lambda echo: answer(json.dumps({"jsonrpc": "2.0", "id": echo, "result": "0x1"})),
    "redirect": lambda echo: answer("", 302, Location=f"https://elsewhere.invalid/{PATH_KEY}?{QUERY_KEY}"),
    "wait": lambda echo: answer("", 429, **{"Retry-After": PATH_KEY}),
    "type": lambda echo: answer(echo, 200, PATH_KEY + "/" + QUERY_KEY),
    "coding": lambda echo: answer(echo, 200, **{"Content-Encoding": QUERY_KEY}),
}


class EchoServer:
    """Throws requests back in the way that the first part of the path names."""

    def __init__(self):
        self.echoed = []
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                echo = f"{self.requestline} {self.headers} {body}"
                owner.echoed.append(echo)
                status, headers, text = ECHOES[self.path.split("/")[1]](echo)
                payload = text.encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, *unused):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *unused):
                """A client that hangs up is none."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def keyed(url):
    return url + f"/v2/{PATH_KEY}/${{RPCROUTE_VARIABLE}}?apikey={QUERY_KEY}&v=1"


HEADERS = json.dumps({"Authorization": f"Bearer {HEADER_KEY}", "X-Key": "${RPCROUTE_VARIABLE}"})

EVERYTHING = f"""
.read {ROOT}/sql/collect.sql
CREATE TABLE other_methods AS SELECT * FROM rpc_probe
 WHERE method IN ('eth_chainId', 'eth_getBalance', 'web3_clientVersion', 'ws') AND timeout_ms = 1500;
CREATE TABLE called AS SELECT * FROM rpc_call('web3_clientVersion', '[]') WHERE timeout_ms = 1500;
SELECT * FROM rpc_probe WHERE timeout_ms = 1500 AND samples = 2 AND mode = 'parallel';
CREATE TABLE probed AS SELECT * FROM tx_probe WHERE n = 2 AND seed = 1 AND timeout_sec = 2 AND poll_ms = 100;
CREATE TABLE refused AS SELECT * FROM tx_probe WHERE provider_id = 'sending' AND signer = 'env:RPCROUTE_KEY';
SELECT * FROM tx_probe WHERE signer = 'env:RPCROUTE_KEY_BROKEN';
SELECT * FROM tx_probe WHERE signer = 'file:/no/such/key';
SELECT * FROM tx_wait(json_array(json_object('provider_id', 'message', 'tx_hash', '0x' || hex(zeroblob(32)),
                                             'timestamp', 0))) WHERE timeout_sec = 1;
SELECT * FROM rpc_probe('[{{"provider_id":"inline","url":"http://{PATH_KEY}.invalid:port/{QUERY_KEY}","headers":"{HEADER_KEY}"}}]');
SELECT * FROM rpc_probe('[{{"provider_id":"inline","url":"ftp://{PATH_KEY}/{QUERY_KEY}"}}]');
SELECT * FROM rpc_probe('[{{"provider_id":"broken","url":"http://h/{PATH_KEY}"');
.read {ROOT}/sql/route.sql
.read {ROOT}/sql/route_stored.sql
.read {ROOT}/sql/align.sql
SELECT * FROM provider_health;
SELECT rpcroute_debug();
DELETE FROM rpc_providers;
"""


class Secrets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.path = os.path.join(directory.name, "rpc.db")
        cls.echo = EchoServer()
        cls.addClassCleanup(cls.echo.close)
        cases = [case for case in CASES if case.expected[1] != "config"]
        refusing = {"provider_id": "sending", "faults": [
            {"name": "rpc_error", "methods": ["eth_sendRawTransaction"], "message": " ".join(KEYS[:4])}]}
        with Devnet([case.member for case in cases] + [refusing], slot_ms=200, fund_all=True) as fleet:
            rows = [(p["provider_id"], keyed(p["url"]), keyed(p["ws_url"])) for p in fleet.ready["providers"]]
            rows += [(name, keyed(f"{cls.echo.url}/{name}"), None) for name in ECHOES]
            rows += [("no_such_host", keyed(f"https://{'a' * 64}.invalid"), keyed(f"wss://{'a' * 64}.invalid")),
                     ("bad_port", keyed("http://127.0.0.1:99999"), None), ("space", keyed("http://127.0.0.1/ "), None),
                     ("user", keyed(f"http://{VARIABLE_KEY}:{HEADER_KEY}@127.0.0.1"), None),
                     ("host", f"http://{PATH_KEY}.${{RPCROUTE_VARIABLE}}.invalid/", None)]
            setup = [f".read {ROOT}/sql/schema.sql",
                     f"UPDATE rpc_chains SET chain_id = {fleet.chain_id} WHERE chain = 'devnet';",
                     "UPDATE rpc_settings SET value = 1500 WHERE key = 'timeout_ms';",
                     "INSERT INTO route_targets (chain) VALUES ('devnet');"]
            quote = lambda text: "NULL" if text is None else "'" + text.replace("'", "''") + "'"
            setup += [f"INSERT INTO rpc_providers (provider_id, chain, url, ws_url, headers) VALUES "
                      f"({quote(name)}, 'devnet', {quote(url)}, {quote(ws_url)}, {quote(HEADERS)});"
                      for name, url, ws_url in rows]
            cls.output = cls.shell("\n".join(setup) + EVERYTHING)
            cls.counts = fleet.control("/counts")
        cls.dump = subprocess.run(["sqlite3", cls.path, ".dump"], capture_output=True, text=True, check=True).stdout

    @classmethod
    def shell(cls, sql):
        environment = {**os.environ, "RPCROUTE_VARIABLE": VARIABLE_KEY, "RPCROUTE_KEY": "0x" + SIGNER_KEY,
                       "RPCROUTE_KEY_BROKEN": SIGNER_KEY[:-1] + "z"}
        run = subprocess.run(["sqlite3", "-cmd", f".load {os.path.abspath(EXTENSION)}", cls.path], input=sql,
                             capture_output=True, text=True, errors="replace", env=environment, timeout=300)
        # The shell shows a statement that fails to compile; those are the test's own.
        return run.stdout + "\n".join(line for line in run.stderr.splitlines() if not line.startswith("  "))

    def test_the_keys_were_sent(self):
        """Without this the others would pass if nothing was asked."""
        together = "\n".join(self.echo.echoed)
        for key in (PATH_KEY, QUERY_KEY, HEADER_KEY, VARIABLE_KEY):
            self.assertIn(key, together)
        self.assertIn("eth_sendRawTransaction", self.counts["sending"])

    def test_everything_was_tried(self):
        self.assertIn("rate_limited", self.dump)
        self.assertIn("no_such_host", self.dump)
        self.assertIn("probed", self.dump)

    def assert_no_piece(self, text):
        for line in text.splitlines():
            folded = line.lower()
            for piece in PIECES:
                self.assertNotIn(piece, folded)
                self.assertNotIn(urllib.parse.quote(piece, safe="").lower(), folded)

    def test_no_table_holds_a_piece_of_a_key(self):
        self.assert_no_piece(self.dump)

    def test_neither_output_nor_errors_hold_a_piece_of_a_key(self):
        self.assert_no_piece(self.output)


if __name__ == "__main__":
    unittest.main()
