#!/usr/bin/env python3
"""Models through SQL, held against the XGBoost of Debian's python3-xgboost."""
import decimal
import itertools
import json
import os
import pickle
import random
import sqlite3
import threading
import unittest

import numpy
import xgboost

from support import ROOT, connect

GIVEN = ROOT / ".." / "shared" / "data"  # models other versions of XGBoost wrote, with what those predict
SCHEMA = (ROOT / "sql" / "schema.sql").read_text()
TWO = ["latency_ms", "block_lag"]
FIVE = [*TWO, "rolling_latency_5", "mean_lag_5", "provider_mean_sec"]


def history(rows, width=2, seed=1):
    """Features as a fleet shows them, and confirmations that depend on them, in float32."""
    draw = numpy.random.default_rng(seed)
    columns = [draw.gamma(2, 150, rows) if i % 2 == 0 else draw.poisson(1, rows) for i in range(width)]
    features = numpy.column_stack(columns).astype(numpy.float32)
    label = 6 + features[:, 0] / 100 + 4 * features[:, min(1, width - 1)] + draw.exponential(5, rows)
    return features, label.astype(numpy.float32)


def trained_by_python(width=2, rows=2000, rounds=30, **params):
    features, label = history(rows, width)
    if params.get("objective", "").startswith("binary:"):
        label = (label > 15).astype(numpy.float32)
    matrix = xgboost.DMatrix(features, label, feature_names=FIVE[:width], nthread=1)
    return xgboost.train({"nthread": 1, "tree_method": "hist", **params}, matrix, rounds)


def booster_of(content):
    loaded = xgboost.Booster({"nthread": 1})
    loaded.load_model(bytearray(content.encode() if isinstance(content, str) else content))
    return loaded


def answers(booster, rows, **what):
    matrix = xgboost.DMatrix(numpy.asarray(rows, numpy.float32), nthread=1, feature_names=booster.feature_names)
    return booster.predict(matrix, **what)


def telling_rows(content, width, rows=4000, seed=3):
    """Random rows in double precision among the model's own thresholds and their float32 neighbours."""
    cuts = [set() for _ in range(width)]
    for tree in json.loads(content)["learner"]["gradient_booster"]["model"]["trees"]:
        for left, feature, cut in zip(tree["left_children"], tree["split_indices"], tree["split_conditions"]):
            if left != -1:
                cuts[feature].add(numpy.float32(cut))
    chooser = random.Random(seed)
    columns = []
    for exact in cuts:
        values = [0.0, -0.0, 1e-40, 3e38, -3e38]
        for cut in exact:
            values += [float(numpy.nextafter(cut, numpy.float32(-numpy.inf))), float(cut),
                       float(numpy.nextafter(cut, numpy.float32(numpy.inf)))]
        column = values + [chooser.gammavariate(2, 150) for _ in range(max(0, rows - len(values)))]
        chooser.shuffle(column)
        columns.append(column)
    longest = max(map(len, columns))
    return list(zip(*(column + chooser.choices(column, k=longest - len(column)) for column in columns)))


class Database(unittest.TestCase):
    def setUp(self):
        self.database = connect()
        self.addCleanup(self.database.close)
        self.database.executescript(SCHEMA)

    def rows(self, sql, *values):
        return self.database.execute(sql, values).fetchall()

    def value(self, sql, *values):
        return self.rows(sql, *values)[0][0]

    def add(self, name, content, active=0):
        self.rows("INSERT INTO rpc_models (model, content, active) VALUES (?, ?, ?)", name, content, active)

    def refused(self, pattern, sql, *values):
        with self.assertRaisesRegex(sqlite3.Error, pattern):
            self.rows(sql, *values)

    def predictions(self, model, rows):
        """One prediction a row, in their order."""
        width = len(rows[0])
        columns = ", ".join(f"x{i} REAL" for i in range(width))
        self.database.executescript(f"DROP TABLE IF EXISTS temp.given; CREATE TEMP TABLE given ({columns});")
        marks = ", ".join("?" * width)
        self.database.executemany(f"INSERT INTO given VALUES ({marks})", rows)
        features = ", ".join(f"x{i}" for i in range(width))
        sql = f"SELECT predict_confirm(?, {features}) FROM given ORDER BY rowid"
        return [answer for (answer,) in self.rows(sql, model)]


class BitEquality(Database):
    def same(self, content, rows, expected):
        """Every prediction, to the last bit; the first few that are not are shown."""
        found = self.predictions(content, rows)
        self.assertEqual(len(found), len(expected))
        differing = [triple for triple in zip(rows, found, map(float, expected)) if triple[1] != triple[2]]
        self.assertEqual(differing[:3], [], f"{len(differing)} of {len(rows)}")

    def holds(self, content, booster=None):
        booster = booster or booster_of(content)
        text = booster.save_raw("json").decode()
        rows = telling_rows(text, booster.num_features())
        self.assertGreaterEqual(len(rows), 4000)
        for spelling in (text, bytes(booster.save_raw("ubj"))):
            self.same(spelling, rows, answers(booster, rows))

    def test_the_shipped_models_predict_what_xgboost_predicts_from_them(self):
        for name in ("seed", "recommended"):
            with self.subTest(name):
                self.holds((ROOT / "models" / f"{name}.json").read_text())

    def test_every_evaluator_and_objective_does(self):
        shapes = [("grid", dict(width=2)), ("grid", dict(width=1, objective="count:poisson")),
                  ("grid", dict(width=2, objective="binary:logistic")),
                  ("bitmask", dict(width=5, max_depth=5)), ("bitmask", dict(width=3, objective="reg:gamma")),
                  ("forest", dict(width=5, max_depth=9, rounds=10)),
                  ("bitmask", dict(width=5, objective="binary:logitraw", tree_method="exact", max_depth=4))]
        for evaluator, shape in shapes:
            with self.subTest(evaluator, **shape):
                booster = trained_by_python(**shape)
                content = booster.save_raw("json").decode()
                self.assertEqual(self.value("SELECT evaluator FROM model_info(?)", content), evaluator)
                self.holds(content, booster)

    def test_a_double_counts_as_the_float32_it_rounds_to(self):
        content = trained_by_python().save_raw("json").decode()
        rows = [(float(numpy.float32(x)) * (1 + 2**-30), lag) for x, lag in telling_rows(content, 2)[:2000]]
        self.same(content, rows, answers(booster_of(content), rows))

    @unittest.skipUnless(GIVEN.is_dir(), "no models of other versions here")
    def test_models_of_other_versions_predict_what_xgboost_predicts_once_it_can_read_their_base_score(self):
        for path in sorted(GIVEN.glob("**/*model*/*_?f.json")) + sorted(GIVEN.glob("*model*.json")):
            model = json.loads(path.read_text())
            objective, param = (model["learner"][key] for key in ("objective", "learner_model_param"))
            if path.name.startswith("dart") or "quantile" in objective["name"]:
                continue  # XGBoost 1.7 misreads the one and does not know the other
            param["base_score"] = param["base_score"].strip("[]")
            width = int(param["num_feature"])
            with self.subTest(path.stem):
                rows = telling_rows(path.read_text(), width)
                self.same(path.read_text(), rows, answers(booster_of(json.dumps(model)), rows))

    @unittest.skipUnless(GIVEN.is_dir(), "no models of other versions here")
    def test_models_of_other_versions_predict_what_those_predict(self):
        paths = sorted(GIVEN.glob("models_*/*.expected.json"))
        self.assertTrue(paths)
        for path in paths:
            given = json.loads(path.read_text())
            rows, expected = zip(*((row, answer) for row, answer in zip(given["rows"], given["predictions"])
                                   if None not in row))  # NULL features have a NULL prediction
            stem = path.name.removesuffix(".expected.json")
            for content in (path.with_name(stem + ".json").read_text(), path.with_name(stem + ".ubj").read_bytes()):
                with self.subTest(stem, form=type(content).__name__):
                    if stem.startswith("dart"):
                        self.refused("(?i)dart", "SELECT predict_confirm(?, 1.0, 2)", content)
                    else:
                        self.same(content, rows, expected)


class Refusals(Database):
    def setUp(self):
        super().setUp()
        self.content = trained_by_python(rounds=3, max_depth=3).save_raw("json").decode()
        self.add("two", self.content)

    def test_all_rounds_of_an_early_stopped_model_count_and_its_best_is_told(self):
        rows, label = history(600)
        matrix = xgboost.DMatrix(rows, label, feature_names=TWO, nthread=1)
        booster = xgboost.train({"max_depth": 2, "nthread": 1}, matrix, num_boost_round=6)
        for noted, told in ((None, None), ("3", 3), ("not a number", None), ("-1", None)):
            booster.set_attr(best_iteration=noted)
            model = bytes(booster.save_raw("json"))
            self.assertEqual(self.value("SELECT best_iteration FROM model_info(?)", model), told, noted)
            self.assertEqual(self.value("SELECT rounds FROM model_info(?)", model), 6)
            self.assertEqual(self.value("SELECT predict_confirm(?, ?, ?)", model, *map(float, rows[0])),
                             float(booster.predict(matrix)[0]))

    def test_a_wrong_number_of_features_lists_them(self):
        for call in ("predict_confirm('two', 1.0)", "predict_confirm('two', 1, 2, 3)", "predict_confirm('two')",
                     "predict_confirm_contributions('two', 1)"):
            self.refused(r"2 features \(latency_ms, block_lag\), got \d", f"SELECT {call}")

    def test_what_is_no_finite_number_is_refused_by_the_features_name(self):
        for given in ("'12'", "x'01'", "9e999", "-9e999"):
            self.refused("feature block_lag must be a finite number, got",
                         f"SELECT predict_confirm('two', 1.0, {given})")

    def test_null_in_is_null_out(self):
        for call in ("predict_confirm('two', NULL, 1)", "predict_confirm('two', 1, NULL)",
                     "predict_confirm(NULL, 1, 2)", "predict_confirm_contributions('two', 1, NULL)",
                     "predict_confirm_named('two', NULL)",
                     "predict_confirm_named('two', json_object('latency_ms', NULL, 'block_lag', 1))"):
            self.assertIsNone(self.value(f"SELECT {call}"), call)
        self.assertEqual(self.rows("SELECT * FROM model_importance(NULL)"), [])

    def test_a_model_that_is_not_there_is_named(self):
        self.refused("no model 'three' in rpc_models", "SELECT predict_confirm('three', 1, 2)")
        self.refused("no active model.*sql/train.sql", "SELECT predict_confirm(1, 2)")
        self.rows("DROP TABLE rpc_models")
        for call in ("predict_confirm(1, 2)", "predict_confirm('two', 1, 2)",
                     "predict_confirm_named(NULL, '{}')"):
            self.refused("rpc_models.*sql/schema.sql", f"SELECT {call}")
        self.assertIsNotNone(self.value("SELECT predict_confirm(?, 1, 2)", self.content))

    def test_a_file_of_another_kind_says_how_to_save_it_however_it_comes(self):
        booster = booster_of(self.content)
        binary = bytes(booster.save_raw("deprecated"))
        for kind, content in {"binary": binary, "with a header": b"binf" + binary, "pickle": pickle.dumps(booster),
                              "empty": b""}.items():
            advice = r"model refused: it does not begin with '\{'.*binary files and pickles.*JSON"
            self.rows("INSERT OR REPLACE INTO rpc_models (model, content) VALUES ('other', ?)", content)
            with self.subTest(kind):
                self.refused("predict_confirm: model 'other': " + advice, "SELECT predict_confirm('other', 1, 2)")
                self.refused("predict_confirm: " + advice, "SELECT predict_confirm(?, 1, 2)", content)
                self.refused("model_info: " + advice, "SELECT * FROM model_info(?)", content)
                if b"\0" in content:
                    self.refused(advice, "SELECT predict_confirm(?, 1, 2)", content.decode("latin-1"))

    def test_json_behind_blanks_or_a_byte_order_mark_is_a_model(self):
        expected = self.value("SELECT predict_confirm('two', 900.0, 4)")
        for lead in (" ", "\n\t\r ", "\ufeff", "\ufeff\n"):
            for content in (lead + self.content, (lead + self.content).encode()):
                with self.subTest(lead=lead, form=type(content).__name__):
                    self.assertEqual(self.value("SELECT predict_confirm(?, 900.0, 4)", content), expected)
                    self.rows("INSERT OR REPLACE INTO rpc_models (model, content) VALUES ('led', ?)", content)
                    self.assertEqual(self.value("SELECT predict_confirm('led', 900.0, 4)"), expected)
                    self.refused("model refused: .* at byte [1-9]", "SELECT predict_confirm(?, 1, 2)", content[:-9])
        for name in (" two", "[1]", "12", "binf", "ccopy_reg", "\ufeff"):
            self.refused("no model '.*' in rpc_models", "SELECT predict_confirm(?, 1, 2)", name)

    def test_only_a_table_of_the_main_database_is_read(self):
        one, other = (trained_by_python(rounds=2, max_depth=depth).save_raw("json").decode() for depth in (1, 3))
        self.database.executescript("DROP TABLE rpc_models; ATTACH ':memory:' AS aside;")
        for schema, content in (("main", one), ("temp", other), ("aside", other)):
            self.rows(f"CREATE TABLE {schema}.rpc_models AS SELECT 'm' AS model, ? AS content, 1 AS active", content)
        for call in ("predict_confirm('m', 900.0, 4)", "predict_confirm(900.0, 4)"):
            self.assertEqual(self.value(f"SELECT {call}"), self.value("SELECT predict_confirm(?, 900.0, 4)", one))
        self.rows("DROP TABLE main.rpc_models")
        for call in ("predict_confirm('m', 900.0, 4)", "predict_confirm(900.0, 4)"):
            self.refused("no table rpc_models", f"SELECT {call}")
        self.rows("CREATE TABLE elsewhere AS SELECT 'm' AS model, ? AS content, 1 AS active", one)
        self.rows("CREATE VIEW main.rpc_models AS SELECT * FROM elsewhere")
        for call in ("predict_confirm('m', 900.0, 4)", "predict_confirm(900.0, 4)",
                     "(SELECT trees FROM model_info('m'))"):
            self.refused("rpc_models is a view", f"SELECT {call}")

    def test_a_name_among_many_is_found_in_features_that_name_more(self):
        given = json.dumps({**{f"more{i}": i for i in range(5000)}, "block_lag": 4, "latency_ms": 900.0})
        self.assertEqual(self.value("SELECT predict_confirm_named('two', ?)", given),
                         self.value("SELECT predict_confirm('two', 900.0, 4)"))
        self.refused("features lack 'block_lag'", "SELECT predict_confirm_named('two', ?)", '{"latency_ms": 1}')

    def test_two_active_rows_are_one_too_many(self):
        self.rows("DROP INDEX rpc_models_active")
        self.add("a", self.content, active=1)
        self.add("b", self.content, active=1)
        self.refused("more than one row.*active = 1", "SELECT predict_confirm(1, 2)")

    def test_a_corrupt_model_is_refused_by_its_name_and_the_connection_goes_on(self):
        def damaged(change):
            model = json.loads(self.content)
            change(model["learner"], model["learner"]["gradient_booster"]["model"]["trees"][0])
            return json.dumps(model)

        broken = {
            "truncated": self.content[:-200],
            "nested": '{"a":' * 200000,
            "cycle": damaged(lambda _, tree: tree["left_children"].__setitem__(0, 0)),
            "child": damaged(lambda _, tree: tree["right_children"].__setitem__(0, 10**8)),
            "feature": damaged(lambda _, tree: tree["split_indices"].__setitem__(0, 2)),
            "swapped": damaged(lambda _, tree: tree.update(left_children=tree["right_children"],
                                                            right_children=tree["left_children"])),
            "short": damaged(lambda _, tree: tree["split_conditions"].pop()),
            "base_score": damaged(lambda learner, _: learner["learner_model_param"].update(base_score="abc")),
            "objective": damaged(lambda learner, _: learner["objective"].update(name="reg:no_such")),
            "trees": damaged(lambda learner, _: learner["gradient_booster"]["model"]["trees"].pop()),
            "huge": damaged(lambda _, tree: tree["split_conditions"].__setitem__(0, 1e300)),
            "ubjson": bytes(booster_of(self.content).save_raw("ubj"))[:-100],
        }
        for name, content in broken.items():
            with self.subTest(name):
                self.add(name, content)
                self.refused(f"predict_confirm: model '{name}': .", "SELECT predict_confirm(?, 1, 2)", name)
                self.refused("model_info: ", "SELECT * FROM model_info(?)", name)
                self.assertIsNotNone(self.value("SELECT predict_confirm('two', 1, 2)"))

    def test_dart_is_refused_with_the_reason(self):
        dart = trained_by_python(rounds=3, booster="dart", rate_drop=0.5).save_raw("json").decode()
        self.refused("(?i)dart", "SELECT predict_confirm(?, 1, 2)", dart)


class Registry(Database):
    def setUp(self):
        super().setUp()
        self.quick, self.slow = (trained_by_python(rounds=2, max_depth=depth).save_raw("json").decode()
                                 for depth in (1, 3))
        self.add("quick", self.quick, active=1)
        self.add("slow", self.slow)
        self.expected = {name: self.value("SELECT predict_confirm(?, 900.0, 4)", name) for name in ("quick", "slow")}
        self.assertNotEqual(*self.expected.values())

    def active(self):
        return self.value("SELECT predict_confirm(900.0, 4)")

    def activate(self, name):
        self.rows("UPDATE rpc_models SET active = 1 WHERE model = ?", name)

    def test_another_active_model_serves_from_the_next_statement_and_one_update_goes_back(self):
        for name in ("quick", "slow", "quick"):
            self.activate(name)
            self.assertEqual(self.active(), self.expected[name])
        self.assertEqual(self.rows("SELECT model FROM rpc_models WHERE active = 1"), [("quick",)])

    def test_new_content_under_the_same_name_serves_from_the_next_statement(self):
        self.rows("UPDATE rpc_models SET content = ? WHERE model = 'quick'", self.slow)
        self.assertEqual(self.active(), self.expected["slow"])
        self.assertEqual(self.value("SELECT predict_confirm('quick', 900.0, 4)"), self.expected["slow"])

    def test_a_transaction_sees_its_own_change_and_a_rollback_takes_it_back(self):
        self.rows("BEGIN")
        self.activate("slow")
        self.assertEqual(self.active(), self.expected["slow"])
        self.rows("ROLLBACK")
        self.assertEqual(self.active(), self.expected["quick"])

    def test_several_models_in_one_statement_keep_apart(self):
        sql = ("SELECT model, predict_confirm(model, 900.0, 4), predict_confirm(900.0, 4) "
               "FROM rpc_models, json_each('[1,2]')")
        self.assertEqual(set(self.rows(sql)),
                         {(name, value, self.expected["quick"]) for name, value in self.expected.items()})

    def test_by_name_it_is_the_same_prediction(self):
        given = "json_object('more', 'ignored', 'block_lag', 4, 'latency_ms', 900.0)"
        self.assertEqual(self.value(f"SELECT predict_confirm_named(NULL, {given})"), self.expected["quick"])
        self.assertEqual(self.value(f"SELECT predict_confirm_named('slow', {given})"), self.expected["slow"])
        self.refused("lack 'block_lag'", """SELECT predict_confirm_named('slow', '{"latency_ms": 1}')""")
        for bad in ("[1]", "", "{", '{"latency_ms": "1", "block_lag": 1}'):
            self.refused("predict_confirm_named: ", "SELECT predict_confirm_named('slow', ?)", bad)

    def test_by_name_a_number_in_full_counts_as_the_double_it_is(self):
        # Midway between two float32, where the last bit of a double decides on which side of a split it falls.
        params = json.dumps({"features": ["x"], "num_round": 1, "min_child_weight": 0})
        stump = json.loads(self.value("SELECT train_confirm(?, column1, column1) FROM (VALUES (1.0), (2.0))", params))
        tree = stump["learner"]["gradient_booster"]["model"]["trees"][0]
        for exponent in range(1, 200):
            lower = numpy.float32(1.05 ** exponent)
            upper = numpy.nextafter(lower, numpy.float32(numpy.inf))
            tree["split_conditions"][0] = float(upper)
            middle = (float(lower) + float(upper)) / 2
            content, features = json.dumps(stump), f'{{"x": {decimal.Decimal(middle)}}}'
            self.assertEqual(self.value("SELECT predict_confirm_named(?, ?)", content, features),
                             self.value("SELECT predict_confirm(?, ?)", content, middle), features)

    def test_a_stored_view_may_predict(self):
        self.rows("CREATE VIEW likely AS SELECT predict_confirm(900.0, 4) AS sec")
        self.assertEqual(self.value("SELECT sec FROM likely"), self.expected["quick"])
        self.rows("PRAGMA trusted_schema = 0")  # it reads rpc_models: not for a stranger's view
        with self.assertRaisesRegex(sqlite3.OperationalError, "unsafe use of predict_confirm"):
            self.rows("SELECT sec FROM likely")


class Explanations(Database):
    def test_contributions_are_xgboosts_and_sum_to_the_margin(self):
        for shape in (dict(width=2), dict(width=5), dict(width=2, objective="binary:logistic")):
            booster = trained_by_python(**shape)
            names = booster.feature_names
            rows = history(20, len(names), seed=5)[0]
            parts = answers(booster, rows, pred_contribs=True)
            margins = answers(booster, rows, output_margin=True)
            call = f"SELECT predict_confirm_contributions(?{', ?' * len(names)})"
            for row, part, margin in zip(rows.astype(float).tolist(), parts, margins):
                found = json.loads(self.value(call, booster.save_raw("json").decode(), *row))
                self.assertEqual(list(found), [*names, "bias"])
                self.assertEqual(numpy.float32(list(found.values())).tolist(), part.tolist())
                self.assertAlmostEqual(sum(found.values()), float(margin), delta=1e-5 * abs(float(margin)) + 1e-5)

    def test_importance_is_get_score_and_sums_to_one(self):
        booster = booster_of((ROOT / "models" / "recommended.json").read_text())
        columns = "feature, gain, weight, cover, total_gain, importance"
        rows = self.rows(f"SELECT {columns} FROM model_importance(?)", booster.save_raw("json").decode())
        self.assertEqual([row[0] for row in rows], FIVE)
        for column, kind in enumerate(("gain", "weight", "cover", "total_gain"), start=1):
            scores = booster.get_score(importance_type=kind)
            for row in rows:
                expected = scores.get(row[0], 0)
                self.assertAlmostEqual(row[column], expected, delta=2e-6 * expected, msg=(row[0], kind))
        self.assertAlmostEqual(sum(row[5] for row in rows), 1, places=9)

    def test_model_info_tells_what_the_model_is(self):
        content = (ROOT / "models" / "seed.json").read_text()
        columns = "objective, rounds, trees, features, written_by, content_bytes, checked, evaluator"
        self.assertEqual(self.rows(f"SELECT {columns} FROM model_info(?)", content),
                         [("reg:squarederror", 100, 100, '["latency_ms","block_lag"]', "1.7.4",
                           len(content.encode()), 1, "grid")])
        parts, size = self.rows("SELECT parts, evaluator_bytes FROM model_info(?)", content)[0]
        self.assertGreater(parts, 100)
        self.assertGreaterEqual(size, 4 * parts)


class Training(Database):
    def setUp(self):
        super().setUp()
        features, label = history(1500)
        self.rows("CREATE TABLE h (sec REAL, latency_ms REAL, block_lag INTEGER)")
        self.database.executemany("INSERT INTO h VALUES (?, ?, ?)",
                                  [(float(y), float(a), int(b)) for (a, b), y in zip(features, label)])

    def train(self, source="h", label="sec", **params):
        params = json.dumps({"features": TWO, "num_round": 10, **params})
        return self.value(f"SELECT train_confirm(?, {label}, latency_ms, block_lag) FROM {source}", params)

    def test_the_same_rows_in_any_order_give_the_same_bytes(self):
        first = self.train(subsample=0.8, seed=3)
        for order in ("random()", "latency_ms DESC", "block_lag, sec"):
            self.assertEqual(self.train(f"(SELECT * FROM h ORDER BY {order})", subsample=0.8, seed=3), first)
        self.assertNotEqual(self.train(subsample=0.8, seed=4), first)

    def test_the_model_is_that_of_xgboost_with_the_same_parameters(self):
        content = self.train(learning_rate=0.1, max_depth=4)
        found = booster_of(content)
        self.assertEqual(found.feature_names, TWO)
        self.assertEqual(found.num_boosted_rounds(), 10)
        rows = numpy.array(self.rows("SELECT latency_ms, block_lag, sec FROM h ORDER BY 1, 2, 3"), numpy.float32)
        base = json.loads(content)["learner"]["learner_model_param"]["base_score"]
        params = dict(nthread=1, tree_method="hist", learning_rate=0.1, max_depth=4, base_score=float(base))
        matrix = xgboost.DMatrix(rows[:, :2], rows[:, 2], feature_names=TWO, nthread=1)
        theirs = xgboost.train(params, matrix, 10)
        self.assertEqual(answers(found, rows[:, :2]).tolist(), answers(theirs, rows[:, :2]).tolist())

    def test_unknown_and_out_of_range_parameters_are_errors_that_name_them(self):
        for name, value, said in (
                ("max_dept", 3, "unknown parameter 'max_dept'"), ("max_depth", 0, "max_depth.*1 to 32"),
                ("max_depth", 2.5, "whole number"), ("learning_rate", 0, "learning_rate.*above 0"), ("eta", 1.5, "eta"),
                ("subsample", 1.01, "subsample"), ("num_round", 0, "num_round"), ("n_estimators", 5, "given twice"),
                ("objective", "rank:ndcg", "objective.*reg:"), ("booster", "dart", "booster.*gbtree"),
                ("tree_method", "gpu_hist", "tree_method"), ("features", [], "features"),
                ("features", ["a", "a"], "features"), ("features", ["a"], "features, got 2"),
                ("scale_pos_weight", -1, "scale_pos_weight"), ("monotone_constraints", [2, 0], "monotone_constraints"),
                ("seed", -1, "seed"), ("lambda", "x", "lambda")):
            with self.subTest(name, value=value), self.assertRaisesRegex(sqlite3.Error, f"train_confirm: .*{said}"):
                self.train(**{name: value})
        for params in ("{}", "[]", "x", None, 5):
            self.refused("train_confirm: ", "SELECT train_confirm(?, sec, latency_ms, block_lag) FROM h", params)

    def test_params_that_differ_between_rows_are_refused(self):
        self.refused("params must be the same", "SELECT train_confirm(json_object('features', json_array('a'), "
                                                "'num_round', 1 + rowid % 2), sec, latency_ms) FROM h")

    def test_null_features_are_missing_null_labels_and_no_rows_are_errors(self):
        content = self.train("(SELECT sec, iif(rowid % 3, latency_ms, NULL) AS latency_ms, block_lag FROM h)")
        self.assertGreater(self.value("SELECT predict_confirm(?, 100.0, 1)", content), 0)
        with self.assertRaisesRegex(sqlite3.Error, "label is NULL"):
            self.train(label="iif(rowid = 700, NULL, sec)")
        with self.assertRaisesRegex(sqlite3.Error, "no rows"):
            self.train("h WHERE 0")
        for bad in ("'x'", "9e999", "x'00'"):
            with self.assertRaises(sqlite3.Error):
                self.train(label=bad)
            self.refused("train_confirm: ", "SELECT train_confirm(?, sec, " + bad + ") FROM h",
                         '{"features":["a"]}')

    def steps_down(self, content):
        """How often more lag makes a prediction quicker."""
        sql = ("WITH RECURSIVE l(x) AS (SELECT 5.0 UNION ALL SELECT x + 20 FROM l WHERE x < 1500), g(lag) AS "
               "(SELECT 0 UNION ALL SELECT lag + 1 FROM g WHERE lag < 9) SELECT count(*) FROM l, g "
               "WHERE predict_confirm(:m, x, lag + 1) < predict_confirm(:m, x, lag)")
        return self.database.execute(sql, {"m": content}).fetchone()[0]

    def test_monotone_constraints_hold(self):
        free = self.train(num_round=40, max_depth=6)
        self.assertGreater(self.steps_down(free), 0)
        for spelling in ([0, 1], {"block_lag": 1}, "(0,1)"):
            self.assertEqual(self.steps_down(self.train(num_round=40, monotone_constraints=spelling)), 0)

    def test_classification_gives_probabilities_and_weights_the_rare_class(self):
        means = []
        for weight in (1, 8):
            content = self.train(label="sec > 30", objective="binary:logistic", scale_pos_weight=weight)
            least, mean, most = self.rows("SELECT min(p), avg(p), max(p) FROM (SELECT predict_confirm(?, latency_ms, "
                                          "block_lag) AS p FROM h)", content)[0]
            self.assertTrue(0 < least < most < 1)
            means.append(mean)
        self.assertGreater(means[1], means[0] + 0.05)
        with self.assertRaisesRegex(sqlite3.Error, "binary:logistic.*from 0 to 1"):
            self.train(objective="binary:logistic")

    def test_an_interrupt_from_another_thread_ends_it(self):
        def tasks():
            return set(os.listdir("/proc/self/task"))

        read, done = threading.Event(), threading.Event()
        rows, before = itertools.count(1), set()

        def noted(sec):
            """The last row is the last moment before training at which the statement is in our hands."""
            if next(rows) == 1500:
                before.update(tasks())
                read.set()
            return sec

        def interrupt_once_training_runs():
            read.wait()
            while not done.wait(0.01):
                if tasks() - before:  # XGBoost works on a thread of its own
                    self.database.interrupt()

        self.database.create_function("noted", 1, noted)
        helper = threading.Thread(target=interrupt_once_training_runs)
        helper.start()
        try:
            with self.assertRaisesRegex(sqlite3.OperationalError, "interrupt"):
                self.train(label="noted(sec)", num_round=100000)
        finally:
            read.set()
            done.set()
            helper.join()
        self.assertEqual(self.value("SELECT count(*) FROM h"), 1500)


if __name__ == "__main__":
    unittest.main()
