#!/usr/bin/env python3
"""Memory that a model takes: in proportion to its bytes, whatever they ask for."""
import json
import subprocess
import sys
import unittest

from support import connect

MEGABYTE = 1 << 20


def tree(left, features, values, width):
    """Nodes whose children are neighbours; -1 in `left` is a leaf."""
    size = len(left)
    parents = [2147483647] * size
    for node, child in enumerate(left):
        if child >= 0:
            parents[child] = parents[child + 1] = node
    return {"base_weights": [0] * size, "categories": [], "categories_nodes": [], "categories_segments": [],
            "categories_sizes": [], "default_left": [0] * size, "id": 0, "left_children": left,
            "loss_changes": [1] * size, "parents": parents, "right_children": [c + 1 if c >= 0 else -1 for c in left],
            "split_conditions": values, "split_indices": features, "split_type": [0] * size, "sum_hessian": [1] * size,
            "tree_param": {"num_deleted": "0", "num_feature": str(width), "num_nodes": str(size),
                           "size_leaf_vector": "1"}}


def chain(depth, width, first=0):
    left = [child for node in range(depth) for child in (2 * node + 1, -1)] + [-1]
    features = [feature for node in range(depth) for feature in ((first + node) % width, 0)] + [0]
    return tree(left, features, [float(first + node) for node in range(len(left))], width)


def model(trees, width):
    return json.dumps({"learner": {
        "attributes": {}, "feature_names": [], "feature_types": [],
        "gradient_booster": {"model": {
            "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
            "tree_info": [0] * len(trees), "trees": trees}, "name": "gbtree"},
        "learner_model_param": {"base_score": "1E0", "boost_from_average": "1", "num_class": "0",
                                "num_feature": str(width), "num_target": "1"},
        "objective": {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}}},
        "version": [2, 1, 4]}, separators=(",", ":"))


def growth(content, sql):
    """By how many bytes a process grows that runs `sql` over the model."""
    command = [sys.executable, __file__, "--grow", sql]
    done = subprocess.run(command, input=content, text=True, check=True, capture_output=True)
    return int(done.stdout)


def grow(sql):
    def peak():  # ru_maxrss would begin with what the parent had when it forked
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) * 1024

    content = sys.stdin.read()
    database = connect()
    database.execute("SELECT checked FROM model_info(?)", (model([chain(1, 1)], 1),)).fetchall()  # opens libxgboost
    before = peak()
    database.execute(sql, {"model": content}).fetchall()
    print(peak() - before)


class Memory(unittest.TestCase):
    def test_it_grows_with_the_bytes_alone(self):
        shapes = {"many features, few splits": (model([chain(1, 65536, i * 977) for i in range(10)], 65536)),
                  "a tree of many leaves on many features": model([chain(100, 65536)], 65536),
                  "a chain": model([chain(10_000, 1)], 1),
                  "a chain on many features": model([chain(10_000, 10_000)], 10_000),
                  "stumps on features of their own": model([chain(1, 4000, i) for i in range(4000)], 4000)}
        for name, content in shapes.items():
            for sql in ("SELECT evaluator FROM model_info(:model)", "SELECT count(*) FROM model_importance(:model)"):
                with self.subTest(name, sql=sql):
                    self.assertLess(growth(content, sql), 32 * MEGABYTE + 32 * len(content))

    def test_contributions_do_not_take_memory_in_the_square_of_a_depth(self):
        content = model([chain(500, 2)], 2)
        sql = "SELECT predict_confirm_contributions(:model, 1, 2)"
        self.assertLess(growth(content, sql), 32 * MEGABYTE + 32 * len(content))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--grow"]:
        grow(sys.argv[2])
    else:
        unittest.main()
