#!/usr/bin/env python3
"""Messages are the same in every language of the host: the C library's own words would come in that."""

import json
import os
import pathlib
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import pipeline_test
from support import EXTENSION, ROOT

# Prints, as JSON, what the C library calls a missing file and what each statement says.
HOST = """
import json, locale, os, sqlite3, sys
locale.setlocale(locale.LC_ALL, "")
database = sqlite3.connect(":memory:")
database.enable_load_extension(True)
database.load_extension(sys.argv[1])
said = {"a missing file": os.strerror(2)}
for statement in json.loads(sys.argv[3]):
    try:
        said[statement] = database.execute(statement, {"providers": sys.argv[2]}).fetchall()
    except sqlite3.Error as error:
        said[statement] = str(error)
print(json.dumps(said))
"""

# Runs the pipeline on a database and prints what it made, but for the moments at which it ran.
PIPELINE = """
import json, locale, pathlib, sqlite3, sys
locale.setlocale(locale.LC_ALL, "")
extension, path, scripts = sys.argv[1:]
database = sqlite3.connect(path)
database.enable_load_extension(True)
database.load_extension(extension)
for name in ("align", "train", "evaluate", "route_stored"):
    database.executescript(pathlib.Path(scripts, name + ".sql").read_text())
made = {"the point": locale.localeconv()["decimal_point"]}
for table, in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
    rows = database.execute(f"SELECT * FROM {table}")
    names = [column[0] for column in rows.description]
    kept = [i for i, name in enumerate(names) if (table, name) not in {
        ("route_decisions", "timestamp"), ("route_decisions", "decided_ms"), ("rpc_models", "created")}]
    made[table] = [[names[i] for i in kept], *([row[i] for i in kept] for row in rows)]
print(json.dumps(made))
"""

POLL = ("SELECT provider_id, method, error_class, error_kind, error FROM rpc_probe(:providers) "
        "WHERE method IN ('eth_blockNumber', 'ws') ORDER BY 1, 2")
TRAIN = """SELECT length(train_confirm('{"features":["x"],"num_round":1}', 2.0, 1.0)) > 0"""


class Peer:
    """Answers whoever connects with some bytes and closes; nobody listens when it has none."""

    def __init__(self, answer):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        if answer is None:
            self.socket.close()
        else:
            threading.Thread(target=self.serve, args=(answer,), daemon=True).start()

    def serve(self, answer):
        while True:
            try:
                with self.socket.accept()[0] as peer:
                    peer.recv(65536)
                    peer.sendall(answer)
            except OSError:
                if self.socket.fileno() < 0:
                    return


def no_threads():
    """Their stacks are as large as the limit, and there is no room for one."""
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 46, resource.RLIM_INFINITY))


class Language(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", cls.directory.name + "/de_DE.UTF-8"], check=True)
        cls.providers = [
            {"provider_id": "unknown", "url": "http://name.invalid/", "ws_url": "ws://name.invalid/"},
            {"provider_id": "not allowed", "url": "http://255.255.255.255:9/", "ws_url": "ws://255.255.255.255:9/"},
            {"provider_id": "no URL", "url": "http://127.0.0.1:port/", "ws_url": "ws://[::1/"}]
        for name, answer in (("refused", None), ("closed", b""), ("garbage", b"garbage\r\n\r\n")):
            at = f"127.0.0.1:{Peer(answer).port}/"
            cls.providers += [{"provider_id": name, "url": "http://" + at, "ws_url": "ws://" + at},
                              {"provider_id": name + ", TLS", "url": "https://" + at, "ws_url": "wss://" + at}]

    def said(self, language, statements, environment={}, limits=None):
        done = subprocess.run(
            [sys.executable, "-c", HOST, EXTENSION, json.dumps(self.providers), json.dumps(statements)],
            env={**os.environ, "LOCPATH": self.directory.name, "LC_ALL": language, **environment},
            preexec_fn=limits, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def same_in_german(self, *statements, **circumstances):
        """What the statements say, which is the same in both languages."""
        english = self.said("C.UTF-8", statements, **circumstances)
        german = self.said("de_DE.UTF-8", statements, **circumstances)
        self.assertEqual(english.pop("a missing file"), "No such file or directory")
        self.assertEqual(german.pop("a missing file"), "Datei oder Verzeichnis nicht gefunden")
        self.maxDiff = None
        self.assertEqual(english, german)
        return english

    def test_of_providers(self):
        rows = {(provider, method): (error_class, error) for provider, method, error_class, _, error
                in self.same_in_german(POLL)[POLL]}
        for method in ("eth_blockNumber", "ws"):
            self.assertEqual(rows["refused", method], ("connect", "connection refused"))
            self.assertEqual(rows["not allowed", method][0], "connect")
            self.assertEqual(rows["unknown", method], ("dns", "the host name did not resolve"))
            self.assertIn(rows["garbage", method][0], ("malformed", "connect"))
            self.assertEqual(rows["garbage, TLS", method][0], "tls")

    def test_of_key_files(self):
        for path, reason in (("/nowhere", "no such file or directory"), ("/dev/null/key", "not a directory")):
            probe = f"SELECT error FROM tx_probe(:providers) WHERE provider_id = 'refused' AND signer = 'file:{path}'"
            said = self.same_in_german(probe)[probe]
            self.assertIn("the key file cannot be opened: " + reason, str(said))

    def test_of_libraries_that_cannot_be_loaded(self):
        with tempfile.TemporaryDirectory() as broken:
            for name in ("libcurl.so.4", "libxgboost.so.0", "libxgboost.so"):
                pathlib.Path(broken, name).write_bytes(b"no library at all")
            said = self.same_in_german(POLL, TRAIN, environment={"LD_LIBRARY_PATH": broken})
        self.assertIn("libcurl is not installed (Debian: apt install libcurl4): ", said[POLL])
        self.assertIn("XGBoost is not installed (Debian: apt install libxgboost0): ", said[TRAIN])

    def test_of_threads_that_cannot_be_started(self):
        said = self.same_in_german("SELECT error FROM rpc_probe(:providers) WHERE method = 'ws'", TRAIN, limits=no_threads)
        self.assertEqual(set(said.values()), {"rpc_probe: resource temporarily unavailable",
                                              "train_confirm: resource temporarily unavailable"})

    def test_of_numbers_that_scripts_read_from_json(self):
        history = pipeline_test.Pipeline()
        history.setUp()
        self.addCleanup(history.doCleanups)
        history.history(200)
        history.rows("UPDATE rpc_metrics SET timestamp = timestamp + ?", time.time() - history.value(
            "SELECT max(timestamp) FROM rpc_metrics"))
        history.rows("UPDATE tx_outcomes SET timestamp = timestamp + ?", time.time() - history.value(
            "SELECT max(timestamp) FROM tx_outcomes"))
        history.rows("INSERT INTO route_targets (chain, policy) VALUES ('ethereum-sepolia', 'smart')")
        history.setting("train_recommended", '{"objective":"reg:squarederror","num_round":20,"min_child_weight":1.5}')
        made = []
        for language in ("C.UTF-8", "de_DE.UTF-8"):
            path = os.path.join(self.directory.name, f"{language}.db")
            history.rows("VACUUM INTO ?", path)
            ran = subprocess.run([sys.executable, "-c", PIPELINE, EXTENSION, path, str(ROOT / "sql")], text=True,
                                 env={**os.environ, "LOCPATH": self.directory.name, "LC_ALL": language},
                                 capture_output=True)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            made.append(json.loads(ran.stdout))
        self.assertEqual([found.pop("the point") for found in made], [".", ","])
        for table, rows in made[0].items():
            with self.subTest(table):
                self.assertEqual(made[1][table], rows)
        decision = dict(zip(made[0]["route_decisions"][0], made[0]["route_decisions"][1]))
        self.assertEqual(decision["outcome"], "READY")


if __name__ == "__main__":
    unittest.main()
