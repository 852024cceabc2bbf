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


    def agrees(self, sql, table):
        """The same rows over `{p}` = rpc_probe and over the table, or an error of ours; nobody asked twice."""
        expected = sorted(self.rows(sql.replace("{p}", table)), key=repr)
        self.fleet.take_asked()
        with self.subTest(sql):
            try:
                self.assertEqual(sorted(self.rows(sql.replace("{p}", "rpc_probe(:J)")), key=repr), expected)
            except sqlite3.Error as error:
                self.assertRegex(str(error), "^rpc_probe: .*method")
            self.assertLessEqual(set(self.fleet.take_asked().values()), {1})

    def fails_before_it_asks(self, sql, message):
        with self.subTest(sql):
            with self.assertRaisesRegex(sqlite3.Error, message):
                self.rows(sql)
            self.assertEqual(self.fleet.take_asked(), {})


class Terms(Polls):
    def test_a_provider_that_can_be_nobody_asks_nobody(self):
        for term in ("IS NULL", "ISNULL", "= NULL", "IS NOT DISTINCT FROM NULL", "IN (NULL)", "IN ()", "IS (SELECT NULL)",
                     "= x'6f6e65'", "IS x'6f6e65'", "IN (x'6f6e65', x'74776f')", "= 5.0", "IN (SELECT id FROM wu WHERE "
                     "typeof(id) = 'blob')", "= 'nobody'", "= ''", "IN (SELECT id FROM w WHERE n > 99)"):
            if "DISTINCT" in term and sqlite3.sqlite_version_info < (3, 39):
                continue
            for table in ("rpc_probe(:J)", "rpc_call('eth_chainId', '[]', :J)"):
                with self.subTest(term, table=table):
                    self.assertEqual(self.rows(f"SELECT * FROM {table} WHERE provider_id {term}"), [])
                    self.assertEqual(self.fleet.take_asked(), {})
    def test_a_method_that_can_be_none_asks_nobody(self):
        for term in ("IS NULL", "ISNULL", "= NULL", "IN (NULL)", "IN ()", "= x'6f6e65'", "IS x'6f6e65'", "IN (x'6f6e65', NULL)",
                     "= 5.0", "IN (SELECT id FROM wu WHERE typeof(id) = 'blob')", "IN (SELECT m FROM ms WHERE n > 99)"):
            with self.subTest(term):
                try:
                    self.assertEqual(self.rows(f"SELECT * FROM rpc_probe(:J) WHERE method {term}"), [])
                except sqlite3.Error as error:  # what is no name of a method may be refused like a misspelt one
                    self.assertRegex(str(error), "^rpc_probe: method")
                    self.assertNotIn("NULL", term)
                self.assertEqual(self.fleet.take_asked(), {})

    def test_a_join_on_such_keys_asks_nobody(self):
        for sql in ("SELECT p.ok FROM w LEFT JOIN rpc_probe(:J) p ON p.provider_id = w.id WHERE w.id IS NULL",
                    "SELECT p.ok FROM wu w LEFT JOIN rpc_probe(:J) p ON p.provider_id = w.id WHERE typeof(w.id) = 'blob'",
                    "SELECT p.ok FROM ms LEFT JOIN rpc_probe(:J) p ON p.method = ms.m WHERE ms.m IS NULL"):
            with self.subTest(sql):
                self.assertEqual(self.rows(sql), [(None,)])
                self.assertEqual(self.fleet.take_asked(), {})

    def test_a_storage_class_compares_as_sqlite_compares_it(self):
        for term in ("= 5", "IN (5, 'one')", "IN (5.0)", "IS 5", "= '5'", "= 5 + 0", "IN (SELECT id FROM wu)", "> 5", "< 'a'",
                     "BETWEEN 4 AND 6", "= CAST('one' AS BLOB)", "= CAST(x'6f6e65' AS TEXT)"):
            self.agrees(f"SELECT provider_id, ok FROM {{p}} p WHERE provider_id {term}", "default_1")
        for join in ("JOIN", "LEFT JOIN", "CROSS JOIN"):
            self.agrees(f"SELECT o.id, typeof(o.id), p.provider_id FROM wu o {join} {{p}} p ON p.provider_id = o.id", "default_1")

    def test_only_equality_reaches_an_argument(self):
        database = self.database
        database.execute("CREATE TEMP TABLE IF NOT EXISTS numbers AS SELECT 1 AS n")
        for argument, value in (("samples", "1"), ("mode", "'parallel'"), ("timeout_ms", "5000"), ("params", "'[]'"),
                                ("deadline_ms", "5000")):
            for term in (f"> {value}", f">= {value}", f"< {value}", f"<= {value}", f"<> {value}", f"IS NOT {value}",
                         f"BETWEEN {value} AND {value}", f"LIKE {value}", f"GLOB {value}", "IS NULL", "IS NOT NULL",
                         f"IN ({value}, 2)", f"IN ({value})", f"IN (SELECT {value} UNION SELECT 2)"):
                for sql in (f"SELECT * FROM rpc_probe(:J) WHERE {argument} {term}",
                            f"SELECT * FROM numbers LEFT JOIN rpc_probe(:J) p ON p.{argument} {term}"):
                    if term == f"IN ({value})":
                        continue  # SQLite makes = of it
                    self.fails_before_it_asks(sql, f"^rpc_probe: .*{argument}")
        for term in ("> '['", "LIKE '[%'", "IS NOT NULL", "<> '[]'"):
            self.fails_before_it_asks(f"SELECT * FROM rpc_probe(:J) WHERE providers {term}", "^rpc_probe: .*providers")
        for argument in ("params", "providers", "mode", "timeout_ms"):
            for term in ("> '['", "IS NOT NULL", "IN ('[]', '[1]')"):
                self.fails_before_it_asks(f"SELECT * FROM rpc_call('eth_chainId') WHERE {argument} {term}",
                                          f"^rpc_call: .*{argument}")


class Plans(Polls):
    def test_a_method_from_another_table_is_asked_in_every_kind_of_join(self):
        for join in ("ms o JOIN {p} p ON p.method = o.m", "{p} p JOIN ms o ON p.method = o.m", "ms o, {p} p WHERE p.method = o.m",
                     "ms o CROSS JOIN {p} p WHERE p.method = o.m", "{p} p CROSS JOIN ms o WHERE p.method = o.m",
                     "ms o LEFT JOIN {p} p ON p.method = o.m", "ms o JOIN {p} p ON o.m = p.method WHERE p.provider_id = 'one'",
                     "mk o JOIN {p} p ON p.method = o.m", "{p} p JOIN mk o ON o.m = p.method WHERE o.n > 1",
                     "mk o JOIN {p} p ON p.method IN (o.m, 'eth_blockNumber')"):
            self.agrees(f"SELECT o.n, p.provider_id, p.method, p.ok FROM {join}", "asked_1")

    def test_row_values_that_name_method_and_provider_are_honoured(self):
        rows = "('one', 'eth_chainId')"
        several = rows + ", ('two', 'eth_blockNumber'), ('Three', 'eth_gasPrice'), (NULL, 'eth_chainId')"
        shown = [f"IN (VALUES {rows})", "IN (SELECT provider_id, method FROM km)", f"= {rows}", f"IS {rows}"]
        if sqlite3.sqlite_version_info >= (3, 46):  # before, SQLite shows a table no row values of several rows
            shown.append(f"IN (VALUES {several})")
        for term in shown:
            self.agrees(f"SELECT provider_id, method, ok FROM {{p}} p WHERE (provider_id, method) {term}", "asked_1")

    def test_an_or_loses_no_branch(self):
        default = "method = 'eth_blockNumber'"
        for term, table in (("(method = 'eth_chainId') OR (provider_id = 'one'{})", "asked_1"),
                            ("(provider_id = 'two'{}) OR (method = 'eth_gasPrice' AND provider_id = 'Three')", "asked_1"),
                            ("(method = 'eth_chainId') OR (block_number = 17{})", "asked_1"),
                            ("(method = 'eth_chainId') OR (method = 'eth_gasPrice')", "asked_1"),
                            ("(method = 'eth_chainId' AND ok = 1) OR (method IN ('eth_gasPrice', 'eth_chainId'))", "asked_1"),
                            ("(provider_id = 'one') OR (provider_id = 'two') OR (block_number = 18)", "default_1")):
            expected = sorted(self.rows(f"SELECT provider_id, method FROM {table} WHERE {term.format(' AND ' + default)}"))
            self.fleet.take_asked()
            with self.subTest(term):
                try:
                    self.assertEqual(sorted(self.rows("SELECT provider_id, method FROM rpc_probe(:J) WHERE "
                                                      + term.format(""))), expected)
                except sqlite3.Error as error:
                    self.assertRegex(str(error), "^rpc_probe: .*method")
                self.assertLessEqual(set(self.fleet.take_asked().values()), {1})

    def test_a_method_of_a_sub_select_is_asked(self):
        for sql in ("SELECT o.m, (SELECT count(*) FROM {p} p WHERE p.method = o.m) FROM ms o",
                    "SELECT o.m FROM ms o WHERE EXISTS (SELECT 1 FROM {p} p WHERE p.method = o.m AND NOT p.ok)",
                    "SELECT o.m FROM ms o WHERE o.n IN (SELECT p.sample FROM {p} p WHERE p.method = o.m)",
                    "SELECT m FROM ms WHERE m IN (SELECT method FROM {p} WHERE method IN (SELECT m FROM mk))",
                    "WITH q AS (SELECT * FROM {p} WHERE method = 'eth_chainId') "
                    "SELECT x.ok FROM q x JOIN q y USING (provider_id)"):
            self.agrees(sql, "asked_1")


class Collations(Polls):
    TERMS = ("= 'ONE' COLLATE NOCASE", "COLLATE NOCASE = 'ONE'", "COLLATE NOCASE IN ('ONE', 'three')", "= 'two  ' COLLATE RTRIM",
             "COLLATE RTRIM IN ('two ', 'ONE')", "IS 'ONE' COLLATE NOCASE", "COLLATE NOCASE IN (SELECT id FROM w)",
             "IN (SELECT id FROM wn)", "= 'o-n-e' COLLATE DASHLESS", "COLLATE DASHLESS IN ('o-n-e', 't-wo')",
             "COLLATE NOCASE BETWEEN 'ONE' AND 'ONE'", "COLLATE NOCASE <> 'ONE'")

    def setUp(self):
        strip = lambda text: text.replace("-", "")
        self.database.create_collation("DASHLESS", lambda a, b: (strip(a) > strip(b)) - (strip(a) < strip(b)))

    def test_a_term_compares_by_its_collation(self):
        for term in self.TERMS:
            self.agrees(f"SELECT provider_id, ok FROM {{p}} p WHERE provider_id {term}", "default_1")
            with self.subTest(term, table="rpc_call"):
                self.assertEqual(self.rows(f"SELECT provider_id FROM rpc_call('eth_blockNumber', '[]', :J) "
                                           f"WHERE provider_id {term} ORDER BY 1"),
                                 self.rows(f"SELECT provider_id FROM default_1 WHERE provider_id {term} ORDER BY 1"))

    def test_every_kind_of_join_compares_by_the_collation_of_the_column(self):
        for other in ("wn", "wr"):
            for join in ("JOIN", "LEFT JOIN", "CROSS JOIN"):
                for condition in ("o.id = p.provider_id", "p.provider_id = o.id COLLATE NOCASE",
                                  "o.id COLLATE RTRIM = p.provider_id", "p.provider_id = o.id",
                                  "p.provider_id IN (o.id, 'two')", "o.id IN (p.provider_id)"):
                    self.agrees(f"SELECT o.n, p.provider_id FROM {other} o {join} {{p}} p ON {condition}", "default_1")
            self.agrees(f"SELECT o.n FROM {other} o WHERE EXISTS (SELECT 1 FROM {{p}} p WHERE o.id = p.provider_id)", "default_1")
            self.agrees(f"SELECT o.n FROM {other} o WHERE o.id IN (SELECT provider_id FROM {{p}})", "default_1")

    def test_a_method_compares_by_its_collation_or_is_refused(self):
        for term in ("= 'ETH_CHAINID' COLLATE NOCASE", "COLLATE NOCASE IN ('ETH_CHAINID', 'eth_gasPrice')",
                     "= 'eth_chainId  ' COLLATE RTRIM", "= 'eth-_-chainId' COLLATE DASHLESS"):
            self.agrees(f"SELECT provider_id, method FROM {{p}} p WHERE method {term}", "asked_1")


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
