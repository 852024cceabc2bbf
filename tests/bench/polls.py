#!/usr/bin/env python3
"""What a poll costs beside the slowest answer, how far what it reports is from what was injected, and whether 10,000 of
them leave anything behind. Prints Markdown tables; each figure is a difference within one run, beside what curl needs
for the same requests.

    tests/bench/polls.py            needs build/rpcroute.so, build/rpcroute-devnet and curl

On a busy machine run it as root: it then asks for real-time priority, for itself and for the fleet. Even so Linux gives
the others 50 ms of every second, which the worst cases then show.
"""

import json
import os
import pathlib
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "live"))

from devnet import Devnet  # noqa: E402
from nodes import EXTENSION, connect, script  # noqa: E402

FASTEST_MS, SLOWEST_MS = 50, 500
BODY = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'
CURL_MAX_PARALLEL = 300  # what curl 7.88 takes at most; the rest waits


def row(*cells):
    print("| " + " | ".join(f"{cell:.1f}" if isinstance(cell, float) else str(cell) for cell in cells) + " |", flush=True)


def header(*cells):
    print()
    row(*cells)
    row(*["---"] * len(cells))


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]


def prefer():
    """Real-time priority, inherited by what is started from here. Whether it was granted."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(30))
        return True
    except (AttributeError, PermissionError):
        return False


def spread(count):
    """{provider: injected ms}, from the fastest to the slowest, in no order."""
    delays = [FASTEST_MS + (SLOWEST_MS - FASTEST_MS) * i / (count - 1) for i in range(count)]
    random.Random(1).shuffle(delays)
    return {f"p{i:03}": delay for i, delay in enumerate(delays)}


def fleet_of(delays):
    return Devnet([{"provider_id": name, "latency": {"median_ms": delay}} for name, delay in delays.items()], slot_ms=0)


def providers_json(urls):
    return json.dumps([{"provider_id": name, "url": url} for name, url in urls.items()])


def timed(work):
    start = time.monotonic()
    result = work()
    return (time.monotonic() - start) * 1000, result


def poll(database, providers):
    """Milliseconds of wall time, and {provider: (latency_ms, setup_ms)}."""
    wall, rows = timed(lambda: database.execute(
        "SELECT provider_id, ok, latency_ms, setup_ms FROM rpc_probe(?)", (providers,)).fetchall())
    assert all(ok for _, ok, *_ in rows), [row for row in rows if not row[1]][:3]
    return wall, {name: (latency, setup) for name, _, latency, setup in rows}


def curl(urls):
    """Milliseconds that curl --parallel needs for the same requests, less what it needs to start and read a file."""
    config = "\n".join(f'next\nurl = "{url}"\ndata = {json.dumps(BODY)}\nheader = "Content-Type: application/json"\n'
                       f'output = "/dev/null"' for url in urls.values()).removeprefix("next\n")
    command = ["curl", "--silent", "--no-progress-meter", "--parallel", "--parallel-immediate", "--parallel-max", str(CURL_MAX_PARALLEL)]
    started, _ = timed(lambda: subprocess.run(["curl", "--silent", "file:///dev/null"], check=True))
    wall, _ = timed(lambda: subprocess.run(command + ["--config", "-"], input=config, text=True, check=True,
                                            stderr=subprocess.DEVNULL))
    return wall - started


def accuracy(rounds=10):
    header("providers, delays 50–500 ms", "first poll − slowest", "warm polls − slowest, median", "worst", "goal",
           "curl − slowest", "99th percentile of abs(reported − injected), median of the polls", "worst", "goal")
    for count, wall_goal, error_goal in ((4, "10 ms", "1 ms"), (64, "10 ms", "1 ms"), (500, "100 ms", "5 ms")):
        delays = spread(count)
        with fleet_of(delays) as fleet:
            database = connect()
            providers = providers_json(fleet.urls)
            walls, errors = [], []
            for _ in range(rounds):
                wall, reported = poll(database, providers)
                walls.append(wall - SLOWEST_MS)
                errors.append(percentile([abs(latency - delays[name]) for name, (latency, _) in reported.items()], 0.99))
            database.close()
            by_curl = statistics.median(curl(fleet.urls) - SLOWEST_MS for _ in range(3))
        row(count, f"{walls[0]:.1f} ms", f"{statistics.median(walls[1:]):.1f} ms", f"{max(walls[1:]):.1f} ms", wall_goal,
            f"{by_curl:.1f} ms", f"{statistics.median(errors):.2f} ms", f"{max(errors):.2f} ms", error_goal)


def resident_kib():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def endurance():
    header("10,000 polls through one connection, half of them failing", "after 2,000", "after 10,000", "grown by")
    faults = {"fine": [], "warm": [], "reset": [{"name": "reset"}], "closed": [{"name": "refuse"}]}
    with Devnet([{"provider_id": name, "faults": fault} for name, fault in faults.items()], slot_ms=0) as fleet:
        database = connect()
        providers = providers_json(fleet.urls)
        seen = []
        for polls in (2000, 8000):
            for _ in range(polls // 4):
                database.execute("SELECT count(*) FROM rpc_probe(?)", (providers,)).fetchone()
            seen.append((resident_kib(), descriptors()))
        database.close()
    row("resident memory", f"{seen[0][0]} KiB", f"{seen[1][0]} KiB", f"{seen[1][0] - seen[0][0]} KiB")
    row("descriptors", seen[0][1], seen[1][1], seen[1][1] - seen[0][1])


def watched_database(path, urls, chain_id):
    """A day of one poll every 30 s by each provider, and a model in charge."""
    database = connect(path)
    script(database, "schema")
    database.execute("UPDATE rpc_chains SET chain_id = ? WHERE chain = 'devnet'", (chain_id,))
    database.executemany("INSERT INTO rpc_providers (provider_id, chain, url) VALUES (?, 'devnet', ?)", urls.items())
    database.executescript("""
        INSERT INTO route_targets (chain) VALUES ('devnet');
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 2879)
        INSERT INTO rpc_metrics (cycle_id, timestamp, provider_id, chain, method, ok, latency_ms, block_number)
          SELECT i + 1, unixepoch() - 86400 + 30 * i, provider_id, 'devnet', 'eth_blockNumber', 1, 50 + i % 40, 1000
            FROM n, rpc_providers;
        INSERT INTO tx_outcomes (timestamp, provider_id, chain, state, status, duration_sec, duration_source, overlap,
                                 propensity)
          SELECT timestamp + 1, provider_id, chain, 'confirmed', 1, 12 + latency_ms / 20, 'receipt', 0, 0.25
            FROM rpc_metrics WHERE cycle_id % 10 = 0;""")
    script(database, "align")
    script(database, "train")
    return database


def decisions(rounds=20):
    header("a live decision (sql/route.sql), four providers", "waits for", "beyond that, median", "worst", "goal")
    fast = {"a": 20, "b": 40, "c": 60, "d": 120}
    for what, delays, waits in (("all answer", fast, 120), ("one does not", {**fast, "d": 2000}, 200)):
        with tempfile.TemporaryDirectory() as directory, fleet_of(delays) as fleet:
            database = watched_database(os.path.join(directory, "rpc.db"), fleet.urls, fleet.chain_id)
            walls = [timed(lambda: script(database, "route"))[0] - waits for _ in range(rounds)]
            outcomes = {outcome for outcome, in database.execute("SELECT outcome FROM route_decisions")}
            assert outcomes == {"READY"}, outcomes
            database.close()
        row(what, f"{waits} ms", f"{statistics.median(walls):.1f} ms", f"{max(walls):.1f} ms", "20 ms")


LOAD = """
import sqlite3, sys, time
database = sqlite3.connect(":memory:")
database.enable_load_extension(True)
start = time.monotonic()
database.load_extension(sys.argv[1])
print((time.monotonic() - start) * 1000)
"""


def loading(rounds=20):
    header("`.load` in a new process", "median", "worst", "goal")
    times = [float(subprocess.run([sys.executable, "-c", LOAD, os.path.abspath(EXTENSION)], capture_output=True, text=True,
                                  check=True).stdout) for _ in range(rounds)]
    row("", f"{statistics.median(times):.2f} ms", f"{max(times):.2f} ms", "5 ms")


if __name__ == "__main__":
    print(f"SQLite {sqlite3.sqlite_version}, {os.cpu_count()} processors, "
          f"{'real-time' if prefer() else 'ordinary'} priority, load {os.getloadavg()[0]:.0f}")
    loading()
    accuracy()
    decisions()
    endurance()
