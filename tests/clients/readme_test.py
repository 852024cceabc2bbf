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
