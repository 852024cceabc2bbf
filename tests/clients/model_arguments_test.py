#!/usr/bin/env python3
"""Model functions called with any number of arguments that the host passes: 127 up to SQLite 3.47, 1,000 since."""
import json
import sqlite3
import unittest

from support import connect

COUNTS = range(0, 1001)
REFUSED_BY_HOST = "too many arguments"


def wide(features):
    """A model of so many features that tells by the last one: 1.5 below 10, else 4."""
    tree = {"tree_param": {"num_nodes": "3", "num_feature": str(features), "size_leaf_vector": "0", "num_deleted": "0"},
            "left_children": [1, -1, -1], "right_children": [2, -1, -1], "parents": [2147483647, 0, 0],
            "split_indices": [features - 1, 0, 0], "split_conditions": [10, 1.5, 4], "default_left": [0, 0, 0],
            "loss_changes": [1, 0, 0], "sum_hessian": [3, 2, 1], "base_weights": [0, 0, 0]}
    booster = {"name": "gbtree", "model": {"gbtree_model_param": {"num_trees": "1"}, "tree_info": [0], "trees": [tree]}}
    return json.dumps({"version": [1, 7, 4], "learner": {
        "gradient_booster": booster, "objective": {"name": "reg:squarederror"},
        "learner_model_param": {"base_score": "0", "num_class": "0", "num_feature": str(features)}}})


class AnyNumber(unittest.TestCase):
    def setUp(self):
        self.database = connect()
        self.addCleanup(self.database.close)

    def call(self, function, *values, of=""):
        """The answer, or the message of the error."""
        marks = ", ".join("?" * len(values))
        try:
            return self.database.execute(f"SELECT {function}({marks}){of}", values).fetchone()[0]
        except sqlite3.Error as error:
            return str(error)

    def passes(self, count):
        return count < 2 or self.call("max", *[1] * count) == 1

    def test_a_prediction_takes_as_many_features_as_the_host_passes(self):
        counts = [count for count in COUNTS if self.passes(count)]
        self.assertGreaterEqual(len(counts), 128)
        for count in counts[2:]:
            model, features = wide(count - 1), [0.5] * (count - 2)
            self.assertEqual(self.call("predict_confirm", model, *features, 9.5), 1.5, count)
            self.assertEqual(self.call("predict_confirm", model, *features, 10), 4, count)
            self.assertIsNone(self.call("predict_confirm", model, *features, None), count)
            if count % 50 == 0 or count > counts[-1] - 3:
                parts = json.loads(self.call("predict_confirm_contributions", model, *features, 10))
                self.assertEqual(len(parts), count)
                self.assertAlmostEqual(parts[f"f{count - 2}"] + parts["bias"], 4, places=5)

    def test_a_number_that_the_model_does_not_take_is_told(self):
        for function in ("predict_confirm", "predict_confirm_contributions"):
            for count in COUNTS:
                said = self.call(function, *([wide(2)] + [1] * (count - 1) if count else []))
                if count == 3:
                    continue
                self.assertRegex(said, rf"the model takes 2 features \(f0, f1\), got {count - 1}$" if count
                                 else "needs a model or a feature" if self.passes(count) else REFUSED_BY_HOST, count)
                if not self.passes(count + 1):
                    break

    def test_a_message_does_not_list_thousands(self):
        said = self.call("predict_confirm", wide(60000), 1)
        self.assertRegex(said, r"the model takes 60000 features \(f0, f1, .*, …\), got 1$")
        self.assertLess(len(said), 1200)

    def test_training_takes_as_many_features_as_the_host_passes(self):
        for count in COUNTS:
            names = [f"x{i}" for i in range(count - 2)]
            params = json.dumps({"features": names or ["x"], "num_round": 1, "max_depth": 1, "min_child_weight": 0,
                                 "monotone_constraints": {name: 1 for name in names}})
            trains = count < 8 or count in (126, 127, 128, 129, 500, 999, 1000)
            values = [params, *[3] * (count - 1)][:count]
            said = self.call("train_confirm", *values, of="" if trains else " WHERE 0")
            if not self.passes(count):
                self.assertIn(REFUSED_BY_HOST, said)
            elif not trains:
                self.assertIn("no rows", said)
            elif count < 3:
                self.assertIn("needs params, label and at least one feature", said)
            else:
                self.assertEqual(json.loads(said)["learner"]["feature_names"], names)
                if self.passes(count - 1):
                    self.assertEqual(self.call("predict_confirm", said, *[3] * (count - 2)), 3)

    def test_one_row_after_the_other_has_its_own_features(self):
        rows = "(VALUES (9.0), (11.0), (NULL), (9.5))"
        sql = f"SELECT predict_confirm(?, 1, column1), predict_confirm(?, 1, 1, column1) FROM {rows}"
        self.assertEqual(self.database.execute(sql, (wide(2), wide(3))).fetchall(),
                         [(1.5, 1.5), (4, 4), (None, None), (1.5, 1.5)])


if __name__ == "__main__":
    unittest.main()
