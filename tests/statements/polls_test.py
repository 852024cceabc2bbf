"""What a statement over rpc_probe means: the same rows as over a table that its polls were inserted into, or an error that
says what to write, and never a request more than rows could need."""

import os
import random
import sqlite3
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fleet import DEFAULT, Fleet, Refusal  # noqa: E402
from queries import METHODS, PROVIDERS, TABLES, Generator  # noqa: E402
from support import connect  # noqa: E402

QUERIES = 300
SEED = int(os.environ.get("RPCROUTE_SEED", "9"))


def answers():
    constant = {}
    for i, provider in enumerate(PROVIDERS):
        constant[provider, "eth_blockNumber"] = hex(16 + i)
        constant[provider, "eth_chainId"] = hex(7 + i)
        constant[provider, "eth_gasPrice"] = hex(10**9 + i)
    constant["two", "eth_gasPrice"] = Refusal("no price here")
    constant["5", "eth_chainId"] = Refusal("not now")
    return constant


class Polls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = Fleet(answers())
        cls.addClassCleanup(cls.fleet.close)
        cls.providers = cls.fleet.inline(*PROVIDERS)
        cls.database = connect()
        cls.addClassCleanup(cls.database.close)
        cls.database.executescript(TABLES)
        cls.database.execute("CREATE VIRTUAL TABLE temp.instance USING rpc_probe")
        declared = ", ".join(f'"{name}" {kind}' for name, kind in cls.database.execute(
            "SELECT name, type FROM pragma_table_xinfo('rpc_probe') WHERE hidden = 0"))
        for samples in (1, 2):
            for name, where in (("default", ""), ("asked", "WHERE method IN ({})".format(
                    ", ".join(f"'{method}'" for method in METHODS)))):
                cls.database.execute(f"CREATE TABLE {name}_{samples} ({declared})")
                cls.database.execute(f"INSERT INTO {name}_{samples} SELECT * FROM rpc_probe(:J, 'parallel', {samples}) "
                                     + where, {"J": cls.providers})
        cls.fleet.take_asked()

    def rows(self, sql):
        return self.database.execute(sql, {"J": self.providers}).fetchall()

    def plan(self, sql):
        try:
            return "\n".join("      " + row[3] for row in self.rows("EXPLAIN QUERY PLAN " + sql))
        except sqlite3.Error as error:
            return f"      {error}"

    def expected(self, query, samples=1):
        """The sorted results that are right."""
        tables = {"{default}": f"default_{samples}", "{asked}": f"asked_{samples}"}
        found = []
        for aliases in query.expected:
            sql = query.over(aliases)
            for name, table in tables.items():
                sql = sql.replace(name, table)
            found.append(sorted(self.rows(sql), key=repr))
        return found


FORMS = (("rpc_probe(:J)", 1), ("rpc_probe(:J)", 1), ("rpc_probe(:J, 'sequential')", 1),
         ("rpc_probe(:J, 'parallel', 2)", 2), ("temp.instance(:J)", 1))


class RandomQueries(Polls):
    def test_they_mean_what_they_mean_over_a_table_or_say_why_not(self):
        print(f"RPCROUTE_SEED={SEED}", file=sys.stderr)
        generator = Generator(SEED, sqlite3.sqlite_version_info[:2])
        faults, refused = [], 0
        for number in range(QUERIES):
            query = generator.query()
            form, samples = generator.pick(*FORMS)
            sql = query.over({alias: form for alias in query.expected[0]})
            expected = self.expected(query, samples)
            self.fleet.take_asked()
            wrong = None
            try:
                rows = sorted(self.rows(sql), key=repr)
                if rows not in expected:
                    wrong = f"    gave {rows}\n    not " + "\n     or ".join(map(str, expected))
            except sqlite3.Error as error:
                refused += 1
                if not str(error).startswith("rpc_probe: "):
                    wrong = f"    {error}"
            often = {key: times for key, times in self.fleet.take_asked().items() if times > samples}
            if often:
                wrong = (wrong or "") + f"\n    asked too often: {often}"
            if wrong:
                faults.append(f"  query {number}: {sql}\n{self.plan(sql)}\n{wrong}")
        if faults:
            self.fail(f"{len(faults)} of {QUERIES} random queries:\n" + "\n".join(faults[:12]))
        self.assertLess(refused, QUERIES / 3, "a table that refuses everything is never wrong")


if __name__ == "__main__":
    unittest.main()
