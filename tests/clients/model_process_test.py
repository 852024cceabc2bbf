#!/usr/bin/env python3
"""Models where processes fork, threads work side by side, and XGBoost is somebody else's as well."""
import json
import multiprocessing
import os
import subprocess
import sys
import threading
import unittest

import numpy

from support import EXTENSION, ROOT, connect

SEED = (ROOT / "models" / "seed.json").read_text()
RECOMMENDED = (ROOT / "models" / "recommended.json").read_text()
PARAMS = json.dumps({"features": ["latency_ms", "block_lag"], "num_round": 5, "nthread": 2})
TRAIN = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
         "SELECT train_confirm(?, 5 + i % 7, i % 311, i % 7) FROM n")
PATIENCE = 120  # seconds, for what takes none


def predict(database, content=SEED):
    return database.execute("SELECT predict_confirm(?, 250.0, 2)", (content,)).fetchone()[0]


def train(database):
    return database.execute(TRAIN, (PARAMS,)).fetchone()[0]


def explain(database):
    sql = "SELECT predict_confirm_contributions(?, 250.0, 2)"
    return database.execute(sql, (SEED,)).fetchone()[0]


class Forked(unittest.TestCase):
    """What OpenMP leaves behind in a process hangs its children: nothing may stay behind."""

    def in_child(self, work, database):
        context = multiprocessing.get_context("fork")
        out, into = context.Pipe(duplex=False)
        child = context.Process(target=lambda: into.send(work(database)))
        child.start()
        self.addCleanup(child.kill)
        self.assertTrue(out.poll(PATIENCE), "the child hangs")
        answer = out.recv()
        child.join(PATIENCE)
        self.assertEqual(child.exitcode, 0)
        return answer

    def test_a_child_predicts_and_trains_after_its_parent_predicted(self):
        database = connect()
        expected = predict(database)
        self.assertEqual(self.in_child(predict, database), expected)
        self.assertEqual(self.in_child(lambda _: predict(connect()), database), expected)
        self.assertEqual(self.in_child(lambda _: train(connect()), database), train(database))

    def test_a_child_predicts_trains_and_explains_after_its_parent_trained(self):
        database = connect()
        trained, expected, parts = train(database), predict(database), explain(database)
        for child_database in (lambda: database, connect):
            self.assertEqual(self.in_child(lambda _: predict(child_database()), database), expected)
            self.assertEqual(self.in_child(lambda _: train(child_database()), database), trained)
            self.assertEqual(self.in_child(lambda _: explain(child_database()), database), parts)
            self.assertEqual(self.in_child(lambda _: predict(child_database(), trained), database),
                             predict(database, trained))

    def test_so_does_a_child_whose_parent_trained_with_pythons_xgboost(self):
        # Where Python's xgboost itself would hang: its threads stayed behind in the parent.
        import xgboost  # not above: the programs of BesidePython choose when it comes

        database = connect()
        work = (predict, explain, train)
        expected = [of(database) for of in work]
        given = numpy.random.default_rng(1).random((20000, 4))
        xgboost.train({"nthread": 2}, xgboost.DMatrix(given, given[:, 0], nthread=2), 3)
        for of, answer in zip(work, expected):
            self.assertEqual(self.in_child(of, database), answer)
            self.assertEqual(self.in_child(lambda _: of(connect()), database), answer)

    def test_so_does_a_pool_of_workers(self):
        database = connect()
        expected = predict(database, train(database))
        with multiprocessing.get_context("fork").Pool(3) as pool:
            found = pool.map_async(predict_what_was_trained, range(6)).get(PATIENCE)
        self.assertEqual(found, [expected] * 6)


def predict_what_was_trained(_):
    database = connect()
    return predict(database, train(database))


class BesidePython(unittest.TestCase):
    """import xgboost brings Python's own copy of the library into the process."""

    WORK = """
def import_xgboost():
    global xgboost, booster
    import xgboost
    booster = xgboost.Booster({"nthread": 2})
    booster.load_model(str(ROOT / "models" / "seed.json"))

def both():
    matrix = xgboost.DMatrix([[250.0, 2.0]], feature_names=["latency_ms", "block_lag"])
    theirs = float(booster.predict(matrix)[0])
    ours, = database.execute("SELECT predict_confirm(?, 250.0, 2)", (SEED,)).fetchone()
    assert ours == theirs, (ours, theirs)
    parts = json.loads(database.execute("SELECT predict_confirm_contributions(?, 250.0, 2)", (SEED,)).fetchone()[0])
    assert abs(sum(parts.values()) - theirs) < 1e-4, parts
    trained = train(database)
    own = xgboost.Booster()
    own.load_model(bytearray(trained.encode()))
    assert float(own.predict(matrix)[0]) == predict(database, trained)
    xgboost.train({"nthread": 2}, xgboost.DMatrix([[1.0], [2.0]], [1.0, 2.0]), 2)
    assert xgboost.get_config()["verbosity"] == 1, "the caller's configuration is the caller's"
"""

    def run_alone(self, body):
        code = f"from model_process_test import *\n{self.WORK}\n{body}\nboth()\nboth()\nprint('right')"
        found = subprocess.run([sys.executable, "-c", code], cwd=os.path.dirname(os.path.abspath(__file__)), text=True,
                               env={**os.environ, "RPCROUTE_EXTENSION": EXTENSION}, capture_output=True,
                               timeout=PATIENCE)
        self.assertEqual((found.stdout, found.stderr, found.returncode), ("right\n", "", 0))

    def test_xgboost_before_the_extension(self):
        self.run_alone("import_xgboost()\ndatabase = connect()")

    def test_xgboost_after_the_extension(self):
        self.run_alone("database = connect()\nimport_xgboost()")

    def test_xgboost_after_the_extension_has_predicted_and_trained(self):
        self.run_alone("database = connect()\npredict(database)\ntrain(database)\nimport_xgboost()")

    def test_xgboost_in_use_before_the_extension_comes(self):
        self.run_alone("import_xgboost()\n"
                       "xgboost.train({'nthread': 2}, xgboost.DMatrix([[1.0], [2.0]], [1.0, 2.0]), 2)\n"
                       "database = connect()")


class Interrupted(unittest.TestCase):
    def test_a_process_may_end_while_a_round_nobody_waits_for_goes_on(self):
        code = """
from model_process_test import *
import sqlite3
database = connect()
rows, begun = 3000, threading.Event()
database.create_function("told", 1, lambda row: begun.set() if row == rows else None)
threading.Thread(target=lambda: (begun.wait(), database.interrupt())).start()
params = json.dumps({"features": ["a"], "num_round": 3, "num_parallel_tree": 1000})
try:
    database.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
                     "SELECT length(train_confirm(?, i % 7, i + coalesce(told(i), 0))) FROM n", (rows, params)).fetchall()
except sqlite3.OperationalError as error:
    print(error)
assert predict(database) > 0
database.close()
"""
        done = subprocess.run([sys.executable, "-c", code], cwd=os.path.dirname(os.path.abspath(__file__)), text=True,
                              env={**os.environ, "RPCROUTE_EXTENSION": EXTENSION}, capture_output=True,
                              timeout=PATIENCE)
        self.assertEqual((done.stdout, done.returncode), ("interrupted\n", 0), done.stderr)


class Lasting(unittest.TestCase):
    def test_a_thousand_connections_that_predict_leave_nothing_behind(self):
        # In a process of its own, whose memory nobody else uses.
        code = """
from model_process_test import *
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
for i in range(1, 1001):
    database = connect()
    assert predict(database) > 0
    database.execute("SELECT predict_confirm(?, 1, 2, 3, 4, 5)", (RECOMMENDED,)).fetchall()
    database.close()
    if i in (200, 1000): print(resident())
"""
        found = subprocess.run([sys.executable, "-c", code], cwd=os.path.dirname(os.path.abspath(__file__)), text=True,
                               env={**os.environ, "RPCROUTE_EXTENSION": EXTENSION}, stdout=subprocess.PIPE,
                               timeout=500, check=True)
        early, late = map(int, found.stdout.split())
        self.assertLess(late - early, 8 << 20, f"{early} bytes after 200, {late} after 1,000")

    def test_eight_threads_with_a_connection_each_agree(self):
        sql = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000) "
               "SELECT sum(predict_confirm(:seed, i * 0.3, i % 9)), "
               "sum(predict_confirm(:recommended, i * 0.3, i % 9, i * 0.2, i % 7, 13.5)), "
               "predict_confirm_contributions(:seed, max(i), 1) FROM n")
        start = threading.Barrier(8)
        answers = [None] * 8

        def work(which):
            database = connect()
            start.wait(PATIENCE)
            answers[which] = [database.execute(sql, {"seed": SEED, "recommended": RECOMMENDED}).fetchall(),
                              train(database) if which % 4 == 0 else None]
            database.close()

        threads = [threading.Thread(target=work, args=(which,)) for which in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual({repr(predicted) for predicted, _ in answers}, {repr(answers[0][0])})
        self.assertEqual(answers[0][1], answers[4][1])
        database = connect()
        self.assertEqual(database.execute(sql, {"seed": SEED, "recommended": RECOMMENDED}).fetchall(), answers[0][0])


if __name__ == "__main__":
    unittest.main()
