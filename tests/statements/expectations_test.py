"""The expectations of tests/sql once more, without the stock shell: it refuses to run on another SQLite than its own."""

import os
import sqlite3
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "clients"))
from support import ROOT, connect  # noqa: E402


def statements(text):
    """One after the other."""
    begun = ""
    for line in text.splitlines(keepends=True):
        begun += line
        if sqlite3.complete_statement(begun):
            yield begun
            begun = ""


class Expectations(unittest.TestCase):
    def test_all_hold(self):
        files = sorted((ROOT / "tests" / "sql").glob("*.sql"))
        self.assertTrue(files)
        for file in files:
            database = connect()
            for statement in statements(file.read_text(encoding="utf-8")):
                with self.subTest(file.name, statement=statement):
                    for row in database.execute(statement):
                        self.assertEqual(row[-1], 1)


if __name__ == "__main__":
    unittest.main()
