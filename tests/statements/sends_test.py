"""What a statement over tx_probe sends: what its rows show, never more. A loopback chain keeps what it was sent."""

import os
import random
import re
import sqlite3
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fleet import Chain  # noqa: E402
from queries import TABLES  # noqa: E402
from transactions import fleet_database, keys_in_environment, new_key, own_chain_id  # noqa: E402

QUERIES = 150
SEED = int(os.environ.get("RPCROUTE_SEED", "9"))
PROVIDERS = ("one", "two", "Three")
EVERYBODY = "n = 3 AND seed = 11"  # draws each once
ARGUMENTS = {"n": "1", "wait": "1", "send": "1", "timeout_sec": "30", "poll_ms": "10", "seed": "7", "signer": "'auto'",
             "max_fee_gwei": "9", "priority_fee_gwei": "1", "max_spend_gwei": "1000000", "allow_mainnet": "0"}


class Sends(unittest.TestCase):
    def setUp(self):
        chain_id = own_chain_id()
        self.chain = Chain(chain_id)
        self.addCleanup(self.chain.close)
        keys = keys_in_environment(new_key())
        keys.__enter__()
        self.addCleanup(keys.__exit__, None, None, None)
        self.database = fleet_database({name: f"{self.chain.url}/{name}" for name in PROVIDERS}, chain_id)
        self.addCleanup(self.database.close)
        self.database.row_factory = None
        self.database.executescript(TABLES)
        self.database.execute("CREATE TABLE pairs (id TEXT, chain TEXT)")
        self.database.executemany("INSERT INTO pairs VALUES (?, ?)", [
            ("one", "devnet"), ("two", "nowhere"), (None, "devnet"), ("ONE", "devnet"), ("one", "devnet")])
        self.providers = self.chain.inline(*PROVIDERS, chain="devnet")

    def run_statement(self, sql):
        """Its rows, its error (None when it had none) and what was sent: [(provider, hash)]."""
        known = len(self.chain.sent)
        self.chain.take_asked()
        rows, error = [], None
        try:
            rows = self.database.execute(sql, {"J": self.providers}).fetchall()
        except sqlite3.Error as failure:
            error = str(failure)
        return rows, error, self.chain.sent[known:]

    def hidden(self, sql):
        """What is wrong with what the statement sent; '' when all of it shows."""
        rows, error, sent = self.run_statement(sql)
        shown = re.findall("0x[0-9a-f]{64}", error if error is not None else repr(rows))
        lost = [pair for pair in sent if pair[1] not in shown]
        if lost:
            return f"sent {lost}, shown: {error if error is not None else rows}"
        return "" if error is None or error.startswith("tx_probe: ") else error

    def shows(self, sql, sent, propensity=None):
        """Sends exactly one through each of these providers, and shows each."""
        with self.subTest(sql):
            rows, error, really = self.run_statement(sql)
            self.assertIsNone(error)
            self.assertEqual(sorted(provider for provider, _ in really), sorted(sent))
            self.assertEqual({(row[0], row[1]) for row in rows if row[1] is not None}, set(really))
            self.assertEqual({row[2] for row in rows if row[1] is not None}, {propensity} if sent else set())
            return rows

    def sends_nothing(self, sql, message=None):
        """Not even a question; with a message, as an error."""
        with self.subTest(sql):
            rows, error, sent = self.run_statement(sql)
            self.assertEqual(sent, [])
            if message is None:
                self.assertEqual((rows, error), ([], None))
            else:
                self.assertRegex(error or "no error", message)
            self.assertEqual(self.chain.take_asked(), {})

    SHOWN = "t.provider_id, t.tx_hash, t.propensity"


class Keys(Sends):
    def test_a_key_that_matches_nobody_asks_nobody(self):
        for key in ("provider_id", "chain"):
            for term in ("IS NULL", "ISNULL", "= NULL", "IN (NULL)", "IN ()", "= x'6f6e65'", "IS x'6f6e65'",
                         "IN (x'6f6e65', x'6465766e6574')", "= 5", "IN (1, 2.0)", "= 'nobody'", "= ''",
                         "IN (SELECT id FROM w WHERE n > 99)", "= (SELECT id FROM w WHERE id IS NULL)",
                         "IN (SELECT id FROM wu WHERE typeof(id) = 'blob')"):
                self.sends_nothing(f"SELECT * FROM tx_probe(:J) WHERE {key} {term}")

    def test_two_terms_on_one_key_both_count(self):
        for terms in ("provider_id = 'one' AND provider_id = 'two'", "provider_id = 'one' AND provider_id IN ('two', 'Three')",
                      "provider_id IN ('one', 'two') AND provider_id = 'Three'", "chain = 'devnet' AND chain = 'nowhere'",
                      "provider_id = 'one' AND provider_id <> 'one'", "provider_id = 'one' AND provider_id IS NULL",
                      "provider_id = 'one' AND provider_id > 'one'", "chain = 'devnet' AND chain IS NOT 'devnet'"):
            with self.subTest(terms):
                rows, error, sent = self.run_statement(f"SELECT * FROM tx_probe(:J) WHERE {terms}")
                self.assertEqual((rows, sent), ([], []))
                self.assertRegex(error or "tx_probe: ", "^tx_probe: ")
        for terms in ("provider_id = 'one' AND provider_id IN ('two', 'one')", "provider_id = 'two' AND provider_id = 'two'"):
            with self.subTest(terms):
                self.assertEqual(self.hidden(f"SELECT tx_hash FROM tx_probe(:J) WHERE {terms}"), "")

    def test_a_key_compared_by_anything_but_equality_hides_nothing_that_was_sent(self):
        for key, value in (("provider_id", "'one'"), ("provider_id", "'Three'"), ("provider_id", "'z'"), ("chain", "'devnet'"),
                           ("chain", "'a'")):
            for term in (f"<> {value}", f"IS NOT {value}", f"> {value}", f">= {value}", f"< {value}", f"<= {value}",
                         f"BETWEEN {value} AND {value}", f"LIKE {value}", f"GLOB {value}", "IS NOT NULL"):
                with self.subTest(key=key, term=term):
                    self.assertEqual(self.hidden(f"SELECT tx_hash FROM tx_probe(:J) WHERE {key} {term} AND {EVERYBODY}"), "")

    def test_a_term_that_sqlite_does_not_offer_hides_nothing_either(self):
        for term in ("+provider_id = 'one'", "provider_id || '' = 'one'", "length(provider_id) = 3", "provider_id NOT IN ('one')",
                     "NOT provider_id = 'one'", "CASE provider_id WHEN 'one' THEN 1 END", "coalesce(provider_id, 'x') = 'one'",
                     "(provider_id, chain) IN (VALUES ('one', 'devnet'), ('two', 'nowhere'))", "provider_id = tx_hash",
                     "(provider_id = 'one' OR length(chain) = 3)", "substr(chain, 1, 1) = 'x'", "chain NOT IN ('devnet')",
                     "provider_id IN ('one', 'two') AND (provider_id = 'Three' OR chain = 'nowhere')",
                     "chain = 'devnet' AND (provider_id = 'one' OR chain = 'nowhere')"):
            with self.subTest(term):
                self.assertEqual(self.hidden(f"SELECT tx_hash FROM tx_probe(:J) WHERE {term} AND {EVERYBODY}"), "")
        for sql in ("SELECT q.tx_hash FROM (SELECT * FROM tx_probe(:J) LIMIT 5) q WHERE q.provider_id = 'nobody'",
                    "SELECT t.tx_hash FROM w JOIN tx_probe(:J) t ON t.provider_id || '' = w.id AND w.n = 5",
                    "SELECT w.id, t.tx_hash FROM w LEFT JOIN tx_probe(:J) t ON length(t.provider_id) = w.n"):
            with self.subTest(sql):
                self.assertEqual(self.hidden(sql), "")

    def test_collations_and_storage_classes_force_whom_they_match(self):
        for term, provider in (("= 'ONE' COLLATE NOCASE", "one"), ("COLLATE NOCASE = 'THREE'", "Three"),
                               ("= 'two  ' COLLATE RTRIM", "two"), ("COLLATE NOCASE IN ('ONE')", "one"), ("= 'one'", "one"),
                               ("IS 'one'", "one"), ("= CAST(x'6f6e65' AS TEXT)", "one")):
            self.shows(f"SELECT {self.SHOWN} FROM tx_probe(:J) t WHERE t.provider_id {term}", [provider])
        self.shows(f"SELECT {self.SHOWN} FROM tx_probe(:J) t WHERE t.chain = 'DEVNET' COLLATE NOCASE AND t.provider_id = 'one'",
                   ["one"])

    def test_row_values_are_honoured_or_refused(self):
        for term in ("= ('one', 'devnet')", "IS ('one', 'devnet')", "IN (VALUES ('one', 'devnet'))",
                     "IN (SELECT id, chain FROM pairs)", "= ('one', 'nowhere')", "= ('one', NULL)", "> ('one', 'devnet')",
                     "IN (VALUES ('nobody', 'devnet'))"):
            with self.subTest(term):
                self.assertEqual(self.hidden(f"SELECT tx_hash FROM tx_probe(:J) WHERE (provider_id, chain) {term} "
                                             f"AND {EVERYBODY}"), "")

    def test_a_join_on_the_provider_forces_one_probe_for_each_distinct_key(self):
        for join in ("w JOIN tx_probe(:J) t ON t.provider_id = w.id", "tx_probe(:J) t JOIN w ON t.provider_id = w.id",
                     "w, tx_probe(:J) t WHERE w.id = t.provider_id", "w CROSS JOIN tx_probe(:J) t WHERE t.provider_id = w.id",
                     "w LEFT JOIN tx_probe(:J) t ON t.provider_id = w.id", "w LEFT JOIN tx_probe(:J) t ON t.provider_id IS w.id",
                     "(SELECT DISTINCT id FROM w) w JOIN tx_probe(:J) t ON t.provider_id = w.id"):
            rows = self.shows(f"SELECT {self.SHOWN}, w.id FROM {join}", ["one", "two"])
            if rows is not None:
                self.assertLessEqual({row[3] for row in rows if row[1] is not None}, {"one", "two"})
        for join in ("wn o JOIN tx_probe(:J) t ON o.id = t.provider_id", "wn o LEFT JOIN tx_probe(:J) t ON o.id = t.provider_id"):
            self.shows(f"SELECT {self.SHOWN} FROM {join}", ["one", "Three"])
        for join in ("wu o JOIN tx_probe(:J) t ON o.id = t.provider_id", "wu o LEFT JOIN tx_probe(:J) t ON o.id = t.provider_id"):
            self.shows(f"SELECT {self.SHOWN} FROM {join}", ["one", "Three"])
        self.sends_nothing(f"SELECT {self.SHOWN} FROM w JOIN tx_probe(:J) t ON t.provider_id = w.id AND w.n > 99")

    def test_a_sub_select_forces_by_the_row_it_stands_in(self):
        rows, error, sent = self.run_statement(
            "SELECT w.id, (SELECT t.tx_hash FROM tx_probe(:J) t WHERE t.provider_id = w.id) FROM w WHERE w.n < 6")
        self.assertIsNone(error)
        self.assertEqual(sorted(provider for provider, _ in sent), ["one", "two"])
        self.assertEqual({(provider, tx_hash) for provider, tx_hash in rows if tx_hash}, set(sent))

    def test_a_join_on_the_chain_draws_once_for_each_chain(self):
        rows, error, sent = self.run_statement(
            f"SELECT {self.SHOWN} FROM pairs p JOIN tx_probe(:J) t ON t.chain = p.chain")
        self.assertIsNone(error)
        self.assertEqual([(row[0], row[1]) for row in rows], sent * 4)
        self.assertAlmostEqual(rows[0][2], 1 / 3)

    def test_a_plan_that_would_draw_first_and_compare_afterwards_is_refused(self):
        for sql in ("SELECT t.tx_hash FROM tx_probe(:J) t CROSS JOIN w WHERE t.provider_id = w.id",
                    "SELECT t.tx_hash FROM tx_probe(:J) t CROSS JOIN pairs p WHERE t.chain = p.chain AND p.id = 'two'"):
            self.sends_nothing(sql, "^tx_probe: .*(provider_id|chain)")

    def test_nothing_is_sent_for_no_row_of_the_other_side(self):
        for sql in ("SELECT * FROM w, tx_probe(:J) t WHERE w.id = 'none'", "SELECT * FROM tx_probe(:J) t, w WHERE w.n > 99",
                    "SELECT * FROM w LEFT JOIN tx_probe(:J) t WHERE w.n > 99",
                    "SELECT * FROM tx_probe(:J) LIMIT 0", "SELECT * FROM tx_probe(:J) WHERE 1 = 0",
                    "SELECT * FROM w JOIN tx_probe(:J) t ON t.provider_id = 'one' AND w.n > 99"):
            self.sends_nothing(sql)

    def test_an_or_of_keys_sends_what_it_shows(self):
        for terms in ("provider_id = 'one' OR provider_id = 'two'", "provider_id = 'one' OR chain = 'nowhere'",
                      "provider_id = 'nobody' OR chain = 'nowhere'", "provider_id = 'one' OR provider_id IS NULL",
                      "provider_id = 'nobody' OR provider_id = x'6f6e65'",
                      "(provider_id = 'one' AND chain = 'devnet') OR (provider_id = 'two' AND chain = 'nowhere')",
                      "provider_id = 'ONE' COLLATE NOCASE OR provider_id = 'nobody'",
                      "provider_id = 'one' OR provider_id > 'zzz'"):
            with self.subTest(terms):
                self.assertEqual(self.hidden(f"SELECT tx_hash FROM tx_probe(:J) WHERE {EVERYBODY} AND ({terms})"), "")


class Arguments(Sends):
    def test_any_other_comparison_of_an_argument_is_an_error_before_anything_is_asked(self):
        for name, value in ARGUMENTS.items():
            for term in (f"> {value}", f"<= {value}", f"<> {value}", f"IS NOT {value}", f"BETWEEN {value} AND {value}",
                         f"LIKE {value}", "IS NULL", "IS NOT NULL", f"IN ({value}, 2)",
                         f"IN (SELECT {value} UNION SELECT 2)"):
                self.sends_nothing(f"SELECT * FROM tx_probe(:J) WHERE {name} {term}", f"^tx_probe: .*{name}")
                self.sends_nothing(f"SELECT * FROM w LEFT JOIN tx_probe(:J) t ON t.{name} {term}", f"^tx_probe: .*{name}")
        for term in ("> '['", "IS NOT NULL", "IN (:J, '[]')"):
            self.sends_nothing(f"SELECT * FROM tx_probe WHERE providers {term}", "^tx_probe: .*providers")
        self.sends_nothing("SELECT * FROM w JOIN tx_probe(:J) t ON t.n > w.n", "^tx_probe: .*n")
        self.sends_nothing("SELECT * FROM tx_probe(:J) WHERE n > 1 OR n < 0", "^tx_probe: .*n")

    def test_an_argument_given_twice_sends_nothing_unless_both_are_the_same(self):
        for sql in ("SELECT * FROM tx_probe(:J, 1) WHERE n = 2", "SELECT * FROM tx_probe(:J) WHERE seed = 1 AND seed = 2",
                    "SELECT * FROM tx_probe(:J) WHERE providers = '[]'"):
            with self.subTest(sql):
                rows, error, sent = self.run_statement(sql)
                self.assertEqual((rows, sent), ([], []))
        self.assertEqual(self.hidden("SELECT tx_hash FROM tx_probe(:J, 1) WHERE n = 1"), "")

    def test_a_second_set_of_arguments_is_an_error_that_holds_what_was_sent(self):
        for sql in ("SELECT * FROM tx_probe(:J) WHERE n = 1 OR n = 2",
                    "SELECT * FROM tx_probe(:J) WHERE (n = 1 AND seed = 7) OR (n = 2 AND seed = 8)",
                    "SELECT * FROM tx_probe(:J) WHERE (n = 2 AND provider_id = 'one') OR (n = 1 AND provider_id = 'two')",
                    "SELECT * FROM tx_probe(:J) WHERE n = 1 OR seed = 5",
                    "SELECT * FROM tx_probe(:J) WHERE n = 2 OR provider_id = 'one'",
                    "SELECT a.tx_hash, b.tx_hash FROM tx_probe(:J, 1) a, tx_probe(:J, 2) b",
                    "SELECT a.tx_hash FROM tx_probe(:J, 2) a UNION ALL SELECT b.tx_hash FROM tx_probe(:J, 1) b",
                    "SELECT t.tx_hash FROM (VALUES (1), (2)) v, tx_probe(:J, v.column1) t",
                    "SELECT t.tx_hash FROM (VALUES (1), (2)) v LEFT JOIN tx_probe(:J) t ON t.n = v.column1",
                    "SELECT (SELECT t.tx_hash FROM tx_probe(:J) t WHERE t.seed = v.column1) FROM (VALUES (1), (2)) v"):
            with self.subTest(sql):
                rows, error, sent = self.run_statement(sql)
                self.assertRegex(error or "no error", "^tx_probe: ")
                self.assertLessEqual(len(sent), 2)
                self.assertEqual(set(re.findall("0x[0-9a-f]{64}", error or "")), {tx_hash for _, tx_hash in sent})


class Random(Sends):
    """Terms on keys, whether SQLite offers them to the table or not."""

    def value(self, column):
        return self.random.choice(["'one'", "'two'", "'Three'", "'ONE'", "'two '", "NULL", "x'6f6e65'", "5", "'nobody'"]
                                  if column.endswith("provider_id") else ["'devnet'", "'DEVNET'", "'nowhere'", "NULL"])

    def term(self, other=None):
        column = self.random.choice(["t.provider_id", "t.provider_id", "t.chain"])
        if other and self.random.random() < 0.7:
            return self.random.choice(["t.provider_id = {0}", "{0} = t.provider_id", "t.provider_id IS {0}",
                                       "t.provider_id = {0} COLLATE NOCASE", "{0} COLLATE RTRIM = t.provider_id",
                                       "t.provider_id IN ({0}, 'two')", "t.provider_id > {0}"]).format(other)
        value, second = self.value(column), self.value(column)
        return self.random.choice([
            f"{column} = {value}", f"{column} = {value}", f"{value} = {column}", f"{column} IS {value}",
            f"{column} = {value} COLLATE NOCASE", f"{column} COLLATE RTRIM = {value}", f"{column} IN ({value}, {second})",
            f"{column} COLLATE NOCASE IN ({value}, {second})", f"{column} IN (SELECT id FROM w)",
            f"{column} IN (SELECT id FROM wn)", f"{column} IS NULL", f"{column} <> {value}", f"{column} IS NOT {value}",
            f"{column} > {value}", f"{column} BETWEEN {value} AND {second}", f"{column} LIKE {value}",
            f"(t.provider_id, t.chain) = ({self.value('provider_id')}, 'devnet')",
            f"(t.provider_id, t.chain) IN (VALUES ({self.value('provider_id')}, 'devnet'))",
            "(t.chain, t.provider_id) IN (SELECT chain, id FROM pairs)", f"+{column} = {value}", f"length({column}) = 3",
            f"{column} NOT IN ({value}, {second})", f"NOT {column} = {value}", f"{column} || '' = {value}",
            f"(t.provider_id, t.chain) IN (VALUES ({self.value('provider_id')}, 'devnet'), ('two', 'devnet'))",
            f"(t.provider_id = {self.value('provider_id')} OR t.chain = {self.value('chain')})"])

    def terms(self, other=None):
        if self.random.random() < 0.2:
            provider, second = self.value("provider_id"), self.value("provider_id")
            if other is None and self.random.random() < 0.5:
                return f"(t.provider_id = {provider} OR t.chain = {self.value('chain')})"
            return f"(t.provider_id = {provider} OR t.provider_id = {second})"
        return " AND ".join(self.term(other) for _ in range(self.random.choice([1, 1, 2])))

    def query(self):
        table = self.random.choice(["tx_probe(:J)", "tx_probe(:J)", "tx_probe(:J, 2)", "temp.instance(:J)"])
        other = self.random.choice(["w", "wn", "wr", "wu"])
        linked = self.random.choice(["t.provider_id = o.id", "o.id = t.provider_id"])
        return self.random.choice([
            lambda: f"SELECT t.tx_hash FROM {table} t WHERE {self.terms()}",
            lambda: f"SELECT t.tx_hash FROM {table} t WHERE {self.terms()} ORDER BY t.nonce DESC",
            lambda: f"SELECT t.tx_hash FROM {other} o JOIN {table} t ON {linked} AND {self.terms('o.id')}",
            lambda: f"SELECT t.tx_hash FROM {table} t JOIN {other} o ON {linked} WHERE {self.terms('o.id')}",
            lambda: f"SELECT t.tx_hash FROM {other} o, {table} t WHERE {linked}",
            lambda: f"SELECT o.id, t.tx_hash FROM {other} o LEFT JOIN {table} t ON {self.terms('o.id')}",
            lambda: f"SELECT o.id, t.tx_hash FROM {table} t LEFT JOIN {other} o ON {linked} WHERE {self.terms()}",
            lambda: f"SELECT (SELECT group_concat(t.tx_hash) FROM {table} t WHERE {self.terms('o.id')}) FROM {other} o",
            lambda: f"WITH q AS (SELECT t.* FROM {table} t WHERE {self.terms()}) "
                    f"SELECT a.tx_hash, b.tx_hash FROM q a LEFT JOIN q b ON a.tx_hash = b.tx_hash",
            lambda: f"SELECT t.tx_hash FROM {table} t WHERE {self.terms()} UNION SELECT t.tx_hash FROM {table} t WHERE "
                    f"{self.terms()}",
            lambda: f"SELECT a.tx_hash, t.tx_hash FROM {table} a, {table} t WHERE a.provider_id = 'one' AND "
                    f"t.provider_id = a.provider_id"])()

    def test_what_they_send_shows(self):
        print(f"RPCROUTE_SEED={SEED}", file=sys.stderr)
        self.random = random.Random(SEED)
        self.database.execute("CREATE VIRTUAL TABLE temp.instance USING tx_probe")
        faults = []
        for number in range(QUERIES):
            sql = self.query()
            if fault := self.hidden(sql):
                plan = "".join(f"      {row[3]}\n" for row in self.database.execute("EXPLAIN QUERY PLAN " + sql,
                                                                                  {"J": self.providers}))
                faults.append(f"  query {number}: {sql}\n{plan}    {fault}")
        self.assertTrue(self.chain.sent)
        if faults:
            self.fail(f"{len(faults)} of {QUERIES} random queries:\n" + "\n".join(faults[:12]))


if __name__ == "__main__":
    unittest.main()
