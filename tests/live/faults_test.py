"""Everything that a provider can do wrong, at once, beside two that do nothing wrong: each gives its rows, of the right
class, and changes nobody else's. With --markdown it prints the table that README.md shows."""

import json
import pathlib
import socket
import sys
import unittest

from devnet import Devnet
from nodes import connect

ROOT = pathlib.Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- faults -->", "<!-- /faults -->"

HEIGHT, CHAIN_ID, SLOT, STREAM = "eth_blockNumber", "eth_chainId", "getSlot", "ws"
TIMEOUT_MS = 3500
MAX_BYTES = 1 << 20


class Case:
    """A provider, what the table calls it, and what its rows must be."""

    def __init__(self, name, words, expected, faults=(), method=HEIGHT, kind="evm", tls=False, provider=None, **columns):
        self.name, self.words, self.expected, self.method = name, words, expected, method
        self.columns = columns
        self.member = {"provider_id": name, "kind": kind, "tls": tls, "faults": list(faults)}
        self.provider = provider or (lambda url, ws_url: {"url": url, "ws_url": ws_url})


OK = (1, None, None)


def fails(error_class, kind=None):
    return 0, error_class, kind


def fault(name, words, expected, **more):
    """A fault of the devnet by its own name."""
    fields = more.pop("fields", {})
    return Case(name, words, expected, [{"name": name, **fields}], **more)


def says(name, code, message, expected, status=200, **more):
    """A JSON-RPC error in the provider's own words."""
    words = f"JSON-RPC error {code} “{message}”" + (f", status {status}" if status != 200 else "")
    words += " (Solana)" if more.get("kind") == "solana" else ""
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}})
    if status == 200:
        return Case(name, words, expected, [{"name": "rpc_error", "code": code, "message": message}], **more)
    return Case(name, words, expected, [{"name": "respond", "status": status, "body": body}], **more)


def row(name, words, **columns):
    """A provider whose own row is wrong: nothing may be sent. `URL` stands for a provider that would answer."""
    def provider(url, _):
        return {key: value.replace("URL", url) if isinstance(value, str) else value for key, value in columns.items()}
    return Case(name, words, fails("config"), provider=provider)


# The order is the table's.
CASES = [
    # Its row is wrong.
    row("file_url", "the URL is `file:///etc/passwd`", url="file:///etc/passwd"),
    row("no_url", "it has no URL"),
    row("no_scheme", "the URL has no scheme", url="127.0.0.1:8545"),
    row("credentials", "the URL holds a user name and password", url="http://user:secret@127.0.0.1:9/"),
    row("nul", "the URL holds a NUL character", url="URL/\0@127.0.0.2"),
    row("line_break", "the URL holds a line break", url="URL/\r\nX-Header: smuggled"),
    row("header_line_break", "a header holds a line break", url="URL", headers='{"X-Key": "a\\r\\nX-Header: smuggled"}'),
    row("header_frames", "a header would frame the message", url="URL", headers='{"Content-Length": "0"}'),
    row("headers_no_json", "`headers` is not a JSON object", url="URL", headers="X-Key: a"),
    row("unset", "the URL names a variable that is not set", url="URL/${RPCROUTE_NOT_SET}"),
    row("foreign_variable", "the URL names a variable that is not ours to read", url="URL/${HOME}"),
    row("signer_key", "the URL names the signer's key", url="URL/${RPCROUTE_KEY}"),
    row("chain_kind", "its chain is of no known kind", url="URL", kind="bitcoin"),
    # It cannot be reached.
    Case("no_host", "the host name does not resolve", fails("dns"),
         provider=lambda *_: {"url": f"http://{'a' * 64}.invalid"}),
    fault("refuse", "the port is closed", fails("connect")),
    fault("reset", "it resets the connection instead of answering", fails("connect", "reset")),
    Case("untrusted", "TLS with a certificate nobody trusts", fails("tls"), tls=True),
    Case("plain", "HTTP where HTTPS was asked for", fails("tls"),
         provider=lambda url, _: {"url": url.replace("http:", "https:")}),
    # It does not answer in time.
    fault("stall", "it accepts the request and never answers", fails("timeout")),
    fault("drip", "it sends a byte a second", fails("timeout")),
    # What arrives is no answer.
    fault("truncate", "the connection ends amid the body", fails("connect", "closed")),
    fault("empty_200", "status 200 with an empty body", fails("malformed")),
    fault("invalid_json", "the body is not JSON", fails("malformed")),
    fault("invalid_utf8", "the body is not UTF-8", fails("malformed")),
    fault("wrong_id", "the answer to another id", fails("malformed")),
    fault("html_502", "a proxy's error page, status 502", fails("http")),
    fault("error_after_accept", "status 502 after the request was processed", fails("http")),
    fault("redirect_file", "it redirects to `file:///etc/passwd`", fails("http", "redirect")),
    fault("redirect_host", "it redirects to another host", fails("http", "redirect")),
    fault("gzip_bomb", "50 MiB, compressed to 50 kB, where `max_response_bytes` is 1 MiB", fails("too_large")),
    fault("endless_body", "a body without end", fails("too_large")),
    fault("huge_header", "a header line of 1 MiB", fails("too_large", "header")),
    # It complains.
    fault("rpc_error_on_500", "a JSON-RPC error as the body of a status 500", fails("rpc", "server")),
    fault("429", "status 429", fails("rate_limited")),
    fault("429_retry_after", "status 429 with Retry-After: 7", fails("rate_limited"), retry_after_sec=7),
    fault("rate_limit_200", "a rate limit in a status 200, with backoff_seconds 30", fails("rate_limited"),
          retry_after_sec=30),
    says("nested_429", -32603, 'upstream said {"code":429}', fails("rate_limited")),
    says("limit_words", 15, "Public endpoint RATE LIMIT", fails("rate_limited")),
    says("quicknode", -32007, "50/second request limit reached", fails("rate_limited")),
    says("infura", -32005, "daily request count exceeded, request rate limited", fails("rate_limited", "quota")),
    says("code_29", -32029, "slow down", fails("rate_limited")),
    says("billing", -32005, "Monthly capacity limit exceeded", fails("rate_limited", "billing")),
    fault("unauthorized", "status 401", fails("auth")),
    says("bad_key", -32000, "invalid API key", fails("auth"), status=403),
    says("unknown_method", -32601, "the method is not available", fails("rpc", "unsupported")),
    says("header_not_found", -32000, "header not found", fails("rpc", "missing_data")),
    says("pruned", 4444, "pruned history unavailable", fails("rpc", "missing_data")),
    says("too_big", -32000, "Response is too big", fails("rpc", "range_too_large")),
    says("node_timeout", -32015, "execution timeout", fails("rpc", "node_timeout")),
    says("unhealthy", -32005, "Node is behind by 213 slots", fails("rpc", "unhealthy"), kind="solana", method=SLOT),
    says("skipped", -32007, "Slot 5 was skipped", fails("rpc", "slot_skipped"), kind="solana", method=SLOT),
    # Its result is no height.
    fault("null_result", "the result is null", fails("malformed", "result")),
    fault("empty_quantity", 'the result is `"0x"`', fails("malformed", "result")),
    fault("decimal_height", "the height as decimal digits in a string", fails("malformed", "result")),
    fault("max_uint64", "the height is 2^64 − 1", fails("malformed", "result")),
    # Its answer is good enough, or good and wrong: that is for alignment to find.
    fault("string_id", 'the id comes back as a string, `"1"`', OK, block_number=1000),
    fault("zero_padded", "the height has leading zeros", OK, block_number=1000),
    fault("number_height", "the height is a bare JSON number", OK, block_number=1000),
    fault("double_response", "the whole response twice", OK, block_number=1000),
    fault("height_zero", "height 0", OK, block_number=0),
    fault("height_regress", "a height 5 below its last", OK, block_number=995),
    fault("height_other_chain", "another chain's height", OK, block_number=30001000),
    fault("wrong_chain_id", "another chain's id", OK, method=CHAIN_ID),
    # WebSocket.
    Case("ws_refuse", "the port is closed", fails("connect"), [{"name": "refuse"}], STREAM),
    Case("ws_untrusted", "TLS with a certificate nobody trusts", fails("tls"), method=STREAM, tls=True),
    fault("ws_mute", "it opens and never answers", fails("timeout", "no_head"), method=STREAM),
    fault("ws_silent", "it acknowledges the subscription and no head comes", fails("timeout", "no_head"), method=STREAM),
    fault("ws_close", "it opens and closes", fails("connect"), method=STREAM),
    Case("ws_none", "it has no ws_url", fails("config"), method=STREAM, provider=lambda url, _: {"url": url}),
    Case("ws_http", "its ws_url is an http URL", fails("config"), method=STREAM,
         provider=lambda url, _: {"url": url, "ws_url": url}),
    fault("ws_heads", "it sends heads", OK, method=STREAM, block_number=1000),
]

# A finalized slot is 31 behind the newest.
HEALTHY = [Case(name, "", OK, kind=kind, method=method, block_number=height) for name, kind, method, height in (
    ("good", "evm", HEIGHT, 1000), ("fine", "evm", HEIGHT, 1000), ("solid", "solana", SLOT, 969))]

COLUMNS = "provider_id, method, sample, ok, error_class, error_kind, error, block_number, retry_after_sec, latency_ms, " \
          "setup_ms, total_ms, http_status"


def poll(fleet, cases, methods, samples):
    """Rows as dicts, of one round that asks everybody everything."""
    urls = {p["provider_id"]: (p["url"], p["ws_url"]) for p in fleet.ready["providers"]}
    providers = []
    for case in cases:
        provider = {"provider_id": case.name, "kind": case.member["kind"]}
        provider.update(case.provider(*urls[case.name]))
        providers.append(provider)
    database = connect()
    database.execute("CREATE TABLE rpc_settings AS SELECT 'max_response_bytes' AS key, ? AS value", (MAX_BYTES,))
    names = ",".join(f"'{method}'" for method in methods)
    cursor = database.execute(f"SELECT {COLUMNS} FROM rpc_probe(?) WHERE method IN ({names}) AND samples = ? "
                              "AND timeout_ms = ?", (json.dumps(providers), samples, TIMEOUT_MS))
    return [dict(zip(COLUMNS.split(", "), values)) for values in cursor]


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.everybody = CASES + HEALTHY
        http = [case for case in cls.everybody if case.method != STREAM]
        streams = [case for case in CASES if case.method == STREAM]
        with Devnet([case.member for case in cls.everybody], slot_ms=0, first_block=937) as fleet:
            cls.rows = poll(fleet, http, [HEIGHT, CHAIN_ID, SLOT], 2) + poll(fleet, streams, [STREAM], 1)
            cls.counts = fleet.control("/counts")

    def rows_of(self, case):
        return [row for row in self.rows if row["provider_id"] == case.name and row["method"] == case.method]

    def test_there_is_one_row_for_each_provider_method_and_sample(self):
        expected = []
        for case in self.everybody:
            methods = {STREAM: [STREAM], SLOT: [SLOT]}.get(case.method, [HEIGHT, CHAIN_ID])
            expected += [(case.name, method, sample) for method in methods
                         for sample in ([1] if method == STREAM else [1, 2])]
        self.assertEqual(sorted((row["provider_id"], row["method"], row["sample"]) for row in self.rows),
                         sorted(expected))

    def test_each_row_has_the_right_class(self):
        for case in self.everybody:
            for row in self.rows_of(case):
                with self.subTest(case.name, row=row):
                    self.assertEqual((row["ok"], row["error_class"], row["error_kind"]), case.expected)
                    for column, value in case.columns.items():
                        self.assertEqual(row[column], value)

    def test_times_are_there_exactly_when_a_whole_answer_arrived(self):
        for row in self.rows:
            with self.subTest(row=row):
                whole = row["http_status"] is not None and row["error_class"] not in {
                    "connect", "tls", "timeout", "too_large", "config", "dns"}
                if row["method"] != STREAM:
                    self.assertEqual([row[c] is not None for c in ("latency_ms", "setup_ms", "total_ms")], [whole] * 3)
                if whole and row["method"] != STREAM:
                    self.assertAlmostEqual(row["total_ms"], row["latency_ms"] + row["setup_ms"], places=6)
                elif row["error_kind"] == "no_head":
                    self.assertIsNotNone(row["latency_ms"])  # the time to connect is kept

    def test_failures_say_something_short_on_one_line(self):
        for row in self.rows:
            with self.subTest(row=row):
                self.assertEqual(row["error"] is None, bool(row["ok"]))
                if row["error"]:
                    self.assertLessEqual(len(row["error"]), 200)
                    self.assertTrue(row["error"].isprintable())

    def test_a_row_that_is_wrong_sends_nothing(self):
        for case in CASES:
            if case.expected == fails("config"):
                self.assertEqual(self.counts[case.name], {}, case.name)

    def test_nobody_is_asked_more_often_than_there_are_rows(self):
        for name, methods in self.counts.items():
            for method, count in methods.items():
                rows = sum(row["provider_id"] == name and row["method"] == method for row in self.rows)
                if method in (HEIGHT, CHAIN_ID, SLOT):
                    self.assertLessEqual(count, rows, f"{name} {method}")

    def test_the_readme_shows_what_rows_say(self):
        readme = ROOT / "README.md"
        if not readme.exists():
            self.skipTest("there is no README.md")
        text = readme.read_text()
        self.assertIn(BEGIN, text, "README.md lacks the table; tests/live/faults_test.py --markdown prints it")
        shown = text.partition(BEGIN)[2].partition(END)[0].strip()
        self.maxDiff = None
        self.assertEqual(shown.splitlines(), self.table().splitlines())

    def test_a_closed_port_is_given_to_no_other_program(self):
        with Devnet(["a"], slot_ms=0) as fleet:
            fleet.fault("a", "refuse")
            with self.assertRaises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", fleet.ports["a"]))
            with socket.socket() as other, self.assertRaises(OSError):
                other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                other.bind(("127.0.0.1", fleet.ports["a"]))
            fleet.change("a", faults=[])
            self.assertEqual(fleet.height("a"), fleet.head())

    @classmethod
    def table(cls):
        lines = ["| what the provider does | `ok` | `error_class` | `error_kind` | what the row says |",
                 "|---|---|---|---|---|"]
        for case in CASES:
            row = next(row for row in cls.rows if row["provider_id"] == case.name and row["method"] == case.method)
            words = ("WebSocket: " if case.method == STREAM else "") + case.words
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in (
                words, str(row["ok"]), row["error_class"] or "", row["error_kind"] or "", cls.said(row))) + " |")
        return "\n".join(lines)

    @staticmethod
    def said(row):
        if row["error"] is None:
            return "" if row["block_number"] is None else f"`block_number` {row['block_number']}"
        asked = row["retry_after_sec"]
        return row["error"] + (f"; `retry_after_sec` {asked:g}" if asked is not None else "")


if __name__ == "__main__":
    if sys.argv[1:] == ["--markdown"]:
        Faults.setUpClass()
        print(Faults.table())
    else:
        unittest.main()
