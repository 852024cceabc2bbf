"""The README holds what the extension says of itself. `readme_test.py --write` puts it there."""

import os
import re
import sqlite3
import sys
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
EXTENSION = os.environ.get("RPCROUTE_EXTENSION", os.path.join(ROOT, "build", "rpcroute.so"))
README = os.path.join(ROOT, "README.md")

# The sections of the reference, by the order in which data flows; what is named nowhere belongs to the last.
SECTIONS = {
    "Collection": ["rpc_probe", "rpc_call", "tx_probe", "tx_send", "tx_wait"],
    "Alignment": ["block_lag", "chain_head", "asof_join"],
    "Models": ["train_confirm", "predict_confirm", "predict_confirm_named", "predict_confirm_contributions",
               "model_importance", "model_info", "percentile", "median", "weighted_percentile"],
    "Correctness across nodes": ["rpc_canonical", "rpc_digest", "rpc_diff"],
    "About itself": [],
}


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def reference():
    database = sqlite3.connect(":memory:")
    database.enable_load_extension(True)
    database.load_extension(EXTENSION)
    rows = database.execute("SELECT name, kind, signature, summary, example FROM rpcroute_reference").fetchall()
    named = {name for names in SECTIONS.values() for name in names}
    text = []
    for section, names in SECTIONS.items():
        text.append(f"### {section}\n")
        for name, kind, signature, summary, example in sorted(rows, key=lambda row: row[0]):
            if name in names or (not names and name not in named):
                text.append(f"**`{signature}`** ({kind})  \n{summary}\n\n```sql\n{example};\n```\n")
    return "\n".join(text)


def queries():
    return f"```sql\n{read('examples', 'queries.sql').strip()}\n```\n"


GENERATED = {"reference": reference, "queries": queries}


def block(readme, name):
    return re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", readme, re.S)


class Readme(unittest.TestCase):
    def test_generated_parts_are_what_they_are_generated_from(self):
        readme = read("README.md")
        for name, generate in GENERATED.items():
            with self.subTest(name):
                self.assertEqual(block(readme, name)[1], generate())

    def test_what_it_shows_of_as_of_joins_runs(self):
        database = sqlite3.connect(":memory:", isolation_level=None)
        database.enable_load_extension(True)
        database.load_extension(EXTENSION)
        database.executescript(read("sql", "schema.sql"))
        database.executescript(re.search("```sql\n(.*?)```", block(read("README.md"), "asof")[1], re.S)[1])
        database.execute("INSERT INTO rpc_metrics (timestamp, provider_id, ok, latency_ms) VALUES (100.0, 'a', 1, 42.0)")
        database.executemany("INSERT INTO tx_outcomes (timestamp, provider_id, chain, state) VALUES (?, ?, 'c', 'pending')",
                             [(130.0, "a"), (131.0, "b")])
        self.assertEqual(database.execute("SELECT latency_ms, age_sec FROM matched").fetchall(), [(42.0, 30.0), (None, None)])
        self.assertEqual(database.execute("SELECT error FROM tx_outcomes").fetchall(), [(None,), ("sent unobserved",)])

    def test_every_file_it_points_to_exists(self):
        for path in re.findall(r"\]\(([^)#:]+)\)", read("README.md")):
            self.assertTrue(os.path.exists(os.path.join(ROOT, path)), path)

    def test_no_part_is_left_empty(self):
        readme = read("README.md")
        for name in re.findall(r"<!-- ([a-z:]+) -->", readme):
            self.assertTrue(block(readme, name)[1].strip(), f"{name} is empty")


def write():
    readme = read("README.md")
    for name, generate in GENERATED.items():
        start, end = block(readme, name).span(1)
        readme = readme[:start] + generate() + readme[end:]
    with open(README, "w", encoding="utf-8") as file:
        file.write(readme)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        unittest.main()
