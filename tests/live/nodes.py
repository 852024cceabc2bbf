"""Real nodes on loopback, started and ended by the tests that use them."""

import contextlib
import glob
import json
import os
import re
import sqlite3
import subprocess
import urllib.request

NODES = os.environ.get("RPCROUTE_NODES", "build/nodes/node_modules/.bin")
EXTENSION = os.environ.get("RPCROUTE_EXTENSION", "build/rpcroute.so")


def binary(name):
    """The native program that the npm package carries: ended by its own pid, without a wrapper between."""
    found = glob.glob(os.path.join(NODES, "..", "@foundry-rs", f"{name}-*", "bin", name))
    assert found, f"no {name} beside {NODES}: tests/run.sh installs it"
    return found[0]


def rpc(url, method, *params):
    """One call with the standard library: a client that shares nothing with the extension."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        reply = json.load(answer)
    if "error" in reply:
        raise RuntimeError(reply["error"])
    return reply["result"]


def cast(*arguments):
    return subprocess.run([binary("cast"), *arguments], check=True, capture_output=True, text=True).stdout.strip()


@contextlib.contextmanager
def anvil(*options):
    """An anvil node on a free port; yields its URL and its process."""
    process = subprocess.Popen([binary("anvil"), "--port", "0", "--host", "127.0.0.1", *options],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        for line in process.stdout:
            if listening := re.search(r"Listening on (\S+)", line):
                break
        else:
            raise RuntimeError("anvil did not start")
        drain(process)
        yield f"http://{listening[1]}", process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def drain(process):
    """Keeps reading what the process prints, so that it never blocks on a full pipe."""
    import threading
    threading.Thread(target=lambda: [None for _ in process.stdout], daemon=True).start()


def connect(path=":memory:"):
    """A database connection with the extension loaded; statements commit by themselves."""
    database = sqlite3.connect(path, isolation_level=None)
    database.enable_load_extension(True)
    database.load_extension(EXTENSION)
    return database


def script(database, name):
    root = os.path.join(os.path.dirname(__file__), "..", "..", "sql")
    with open(os.path.join(root, name + ".sql"), encoding="utf-8") as file:
        database.executescript(file.read())
