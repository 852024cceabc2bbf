#!/usr/bin/env python3
"""What predictions and training cost through SQL, beside SQLite's round() and XGBoost itself, as a Markdown table.

    RPCROUTE_EXTENSION=build/rpcroute.so /usr/bin/python3 tests/bench/models.py [rows]

Both sides of each ratio take turns in one run, and the least time of each counts: other work on the host only adds.
Needs python3-xgboost. On a busy host run it with `chrt -r 5`.
"""
import ctypes
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

import numpy
import xgboost

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from support import ROOT, connect  # noqa: E402

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
TRAINED_ON = 100_000
NAMES = ["latency_ms", "block_lag"]
ROUNDS = 100
PARAMS = {"objective": "reg:squarederror", "tree_method": "hist", "learning_rate": 0.1, "max_depth": 6,
          "subsample": 0.8, "base_score": 15, "seed": 7, "nthread": 1}
TRAIN = "SELECT train_confirm(?, sec, latency_ms, block_lag) FROM t WHERE rowid <= ?"

# A process of its own pays for opening libxgboost too.
FIRST = """
import sys, time
sys.path.insert(0, sys.argv[1])
from support import connect
database = connect(sys.argv[2])
begin = time.perf_counter()
database.execute("SELECT predict_confirm(250.0, 2)").fetchone()
print(time.perf_counter() - begin)
"""


def seconds(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def least(turns, *works):
    """The least seconds of each."""
    return [min(times) for times in zip(*([seconds(work) for work in works] for _ in range(turns)))]


def fleet(rows):
    draw = numpy.random.default_rng(1)
    latency, lag = draw.gamma(2, 150, rows), draw.poisson(0.7, rows)
    return latency, lag, 6 + latency / 100 + 4 * lag + draw.exponential(5, rows)


def filled(columns):
    database = connect()
    database.execute("CREATE TABLE t (latency_ms REAL, block_lag INTEGER, sec REAL)")
    database.execute("BEGIN")
    database.executemany("INSERT INTO t VALUES (?, ?, ?)", zip(*(column.tolist() for column in columns)))
    database.execute("COMMIT")
    database.executescript((ROOT / "sql" / "schema.sql").read_text())
    return database


class SingleRows:
    """XGBoosterPredictFromDense of one row, from C as far as ctypes allows: every argument is made beforehand."""

    def __init__(self, content, features):
        self.library = ctypes.CDLL("libxgboost.so.0")
        self.booster = ctypes.c_void_p()
        self.check(self.library.XGBoosterCreate(None, 0, ctypes.byref(self.booster)))
        self.check(self.library.XGBoosterLoadModelFromBuffer(self.booster, content, ctypes.c_uint64(len(content))))
        self.check(self.library.XGBoosterSetParam(self.booster, b"nthread", b"1"))
        self.features = numpy.ascontiguousarray(features, numpy.float32)
        start, step = self.features.ctypes.data, self.features.strides[0]
        self.rows = [json.dumps({"data": [start + i * step, True], "shape": [1, len(NAMES)], "typestr": "<f4",
                                 "version": 3}).encode() for i in range(len(features))]
        self.config = json.dumps({"type": 0, "training": False, "iteration_begin": 0, "iteration_end": 0,
                                  "strict_shape": False, "missing": float("nan"), "cache_id": 0}).encode()
        self.shape, self.result = ctypes.POINTER(ctypes.c_uint64)(), ctypes.POINTER(ctypes.c_float)()
        self.dimensions = ctypes.c_uint64()

    def check(self, status):
        if status != 0:
            self.library.XGBGetLastError.restype = ctypes.c_char_p
            raise RuntimeError(self.library.XGBGetLastError().decode())

    def predict(self):
        call = self.library.XGBoosterPredictFromDense
        outputs = ctypes.byref(self.shape), ctypes.byref(self.dimensions), ctypes.byref(self.result)
        for row in self.rows:
            self.check(call(self.booster, row, self.config, None, *outputs))
        return self.result[0]


def first_prediction(content):
    """Reading, compiling and checking the active model, in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "models.db")
        database = connect(path)
        database.executescript((ROOT / "sql" / "schema.sql").read_text())
        database.execute("INSERT INTO rpc_models (model, content, active) VALUES ('m', ?, 1)", (content,))
        database.close()
        command = [sys.executable, "-c", FIRST, str(ROOT / "tests" / "clients"), path]
        return 1000 * min(float(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(7))


def show(what, measured, goal):
    print(f"| {what} | {measured} | {goal} |", flush=True)


def main():
    latency, lag, sec = fleet(max(ROWS, TRAINED_ON))
    database = filled((latency, lag, sec))

    def sql(text, *values):
        return database.execute(text, values).fetchone()[0]

    params = json.dumps({**PARAMS, "features": NAMES, "num_round": ROUNDS})
    content = sql(TRAIN, params, TRAINED_ON)
    database.execute("INSERT INTO rpc_models (model, content, active) VALUES ('m', ?, 1)", (content,))
    cells = sql("SELECT parts FROM model_info('m')")
    print(f"{platform.machine()}, {os.cpu_count()} cores; XGBoost {xgboost.__version__}; {ROWS:,} rows; a model of "
          f"{ROUNDS} trees of depth 6 on 2 features ({cells:,} cells)\n")
    print("| | measured | goal |\n|---|---|---|")

    predicted, rounded, read = least(
        7, lambda: sql("SELECT sum(predict_confirm(latency_ms, block_lag)) FROM t WHERE rowid <= ?", ROWS),
        lambda: sql("SELECT sum(round(latency_ms, 2)) FROM t WHERE rowid <= ?", ROWS),
        lambda: sql("SELECT sum(latency_ms) FROM t WHERE rowid <= ?", ROWS))
    show("`sum(predict_confirm(latency_ms, block_lag))`", f"{predicted:.3f} s, {predicted / ROWS * 1e9:.0f} ns/row", "")
    show("`sum(round(latency_ms, 2))` of the same rows", f"{rounded:.3f} s, {rounded / ROWS * 1e9:.0f} ns/row", "")
    show("`sum(latency_ms)` of the same rows", f"{read:.3f} s, {read / ROWS * 1e9:.0f} ns/row", "")
    show("predict_confirm beside round", f"{predicted / rounded:.2f} ×", "≤ 1.0 ×")

    singles = SingleRows(content.encode(), numpy.column_stack((latency, lag))[:2000])
    wanted = sql("SELECT predict_confirm(latency_ms, block_lag) FROM t WHERE rowid = ?", len(singles.rows))
    if singles.predict() != wanted:
        raise SystemExit("predict_confirm and XGBoosterPredictFromDense differ")
    single = least(5, singles.predict)[0] / len(singles.rows)
    show("XGBoosterPredictFromDense, one row a call", f"{single * 1e6:.1f} µs", "")
    show("predict_confirm through SQL faster than that, a row", f"{single / (predicted / ROWS):.0f} ×", "≥ 100 ×")

    show("first prediction of a process: read, compile, check", f"{first_prediction(content):.1f} ms", "≤ 60 ms")

    features = numpy.column_stack((latency, lag))[:TRAINED_ON].astype(numpy.float32)
    label = sec[:TRAINED_ON].astype(numpy.float32)
    ours, theirs = least(
        3, lambda: sql(TRAIN, params, TRAINED_ON),
        lambda: xgboost.train(PARAMS, xgboost.DMatrix(features, label, feature_names=NAMES, nthread=1), ROUNDS))
    show(f"`train_confirm` on {TRAINED_ON:,} rows, one thread", f"{ours:.2f} s", "")
    show("Python's `xgboost.train` on the same, one thread", f"{theirs:.2f} s", "")
    show("train_confirm beside Python", f"{ours / theirs:.2f} ×", "≤ 1.15 ×")


if __name__ == "__main__":
    main()
