"""Each execution of a statement asks, sends and reads anew, whatever other statements of the connection hold; within one
execution nothing is done twice."""

import json
import os
import sqlite3
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fleet import Chain, Fleet  # noqa: E402
from support import ROOT  # noqa: E402
from transactions import fleet_database, keys_in_environment, new_key, own_chain_id  # noqa: E402

MODELS = [(ROOT / "tests" / "unit" / "fixtures" / "model" / name).read_bytes()
          for name in ("squarederror_2f.json", "gamma_1f.json")]


class Subject:
    """One of our tables, in a statement that SQLite may scan twice. `check` changes what it must see, runs `sql` and looks;
    `holder` opens a cursor of it that is not filtered before held() returns."""

    def __init__(self, test):
        self.test = test
        self.values = {}

    def rows(self, sql=None):
        return self.test.database.execute(sql or self.sql, self.values).fetchall()

    def check(self, sql=None):
        wanted = self.change()
        self.test.assertEqual(self.rows(sql), wanted)
        self.check_asked(1)

    def check_asked(self, times):
        pass


class Polls(Subject):
    table = "rpc_probe(:J)"
    sql = "SELECT a.block_number, b.block_number FROM rpc_probe(:J) a JOIN rpc_probe(:J) b ON a.rowid = b.rowid"
    number = 100

    def __init__(self, test):
        super().__init__(test)
        self.values = {"J": test.fleet.inline("one")}

    def change(self):
        Polls.number += 1
        self.test.fleet.answers["one", "eth_blockNumber"] = hex(Polls.number)
        self.test.fleet.take_asked()
        return [(Polls.number, Polls.number)]

    def check_asked(self, times):
        self.test.assertEqual(self.test.fleet.take_asked(), {("one", "eth_blockNumber"): times})


class Instances(Polls):
    table = "temp.instance(:J)"
    sql = Polls.sql.replace("rpc_probe(", "temp.instance(")


class Calls(Polls):
    table = "rpc_call('eth_blockNumber', '[]', :J)"
    sql = "SELECT a.result, b.result FROM {0} a JOIN {0} b ON a.rowid = b.rowid".format(table)

    def change(self):
        (number, _), = super().change()
        return [(json.dumps(hex(number)),) * 2]


class Transactions(Subject):
    table = "tx_probe(:J)"
    sql = "SELECT a.tx_hash, b.tx_hash FROM tx_probe(:J) a JOIN tx_probe(:J) b ON a.rowid = b.rowid"

    def __init__(self, test):
        super().__init__(test)
        self.values = {"J": test.chain.inline("one", chain="devnet")}

    def check(self, sql=None):
        known = len(self.test.chain.sent)
        rows = self.rows(sql)
        self.test.assertEqual(rows, [(tx_hash,) * 2 for _, tx_hash in self.test.chain.sent[known:]])
        self.test.assertEqual(len(rows), 1)


class AsOf(Subject):
    table = "asof_join('lefts', 'rights', 'k', 't')"
    sql = "SELECT a.right_rowid, b.right_rowid FROM {0} a JOIN {0} b ON a.rowid = b.rowid".format(table)

    def change(self):
        cursor = self.test.database.execute("INSERT INTO rights (k, t) VALUES ('a', (SELECT max(t) + 1 FROM rights))")
        return [(cursor.lastrowid,) * 2]


class ScalarAsOf(AsOf):
    sql = "SELECT asof_join('rights', 'k', 't', 'a', 1e9), asof_join('rights', 'k', 't', 'a', 1e9)"


class Info(Subject):
    table = "model_info('m')"
    sql = "SELECT a.objective, b.objective FROM model_info('m') a JOIN model_info('m') b ON a.rowid = b.rowid"
    seen = ["reg:squarederror", "reg:gamma"]

    def change(self):
        self.test.model = 1 - self.test.model
        self.test.database.execute("UPDATE rpc_models SET content = ? WHERE model = 'm'", (MODELS[self.test.model],))
        return [(self.seen[self.test.model],) * 2]


class Importance(Info):
    table = "model_importance('m')"
    sql = ("SELECT count(DISTINCT a.feature), count(b.feature) FROM model_importance('m') a "
           "JOIN model_importance('m') b USING (feature)")
    seen = [2, 1]


SUBJECTS = (Polls, Instances, Calls, Transactions, AsOf, ScalarAsOf, Info, Importance)
TABLES = [subject for subject in SUBJECTS if subject is not ScalarAsOf]


class Executions(unittest.TestCase):
    def setUp(self):
        chain_id = own_chain_id()
        self.fleet = Fleet({("one", "eth_blockNumber"): "0x10"})
        self.addCleanup(self.fleet.close)
        self.chain = Chain(chain_id)
        self.addCleanup(self.chain.close)
        keys = keys_in_environment(new_key())
        keys.__enter__()
        self.addCleanup(keys.__exit__, None, None, None)
        self.database = fleet_database({}, chain_id)
        self.addCleanup(self.database.close)
        self.database.row_factory = None
        self.database.executescript("""
            CREATE VIRTUAL TABLE temp.instance USING rpc_probe;
            CREATE TABLE single (n INTEGER); INSERT INTO single VALUES (1);
            CREATE TABLE lefts (k, t); INSERT INTO lefts VALUES ('a', 1e9);
            CREATE TABLE rights (k, t); INSERT INTO rights VALUES ('a', 1);""")
        self.database.execute("INSERT INTO rpc_models (model, content) VALUES ('m', ?)", (MODELS[0],))
        self.model = 0
        self.failure = None

    def each(self, check):
        """check(subject) for every subject."""
        for subject in SUBJECTS:
            with self.subTest(subject.__name__):
                check(subject(self))

    def pairs(self, check):
        """check(holder, subject) for every two."""
        for holder in TABLES:
            for subject in SUBJECTS:
                with self.subTest(subject.__name__, holder=holder.__name__):
                    check(holder(self), subject(self))

    def call_from_sql(self, body):
        """held(x) runs body() inside the statement that calls it."""

        def held(x):
            try:
                body()
            except BaseException as failure:  # SQLite would say no more than that a function failed
                self.failure = self.failure or failure
            return x

        self.database.create_function("held", 1, held)

    def while_held(self, holder, body):
        """Runs body() while a statement holds an opened cursor of the holder's table that was never filtered."""
        self.call_from_sql(body)
        self.failure = None
        self.database.execute(f"SELECT count(*) FROM single s CROSS JOIN {holder.table} h WHERE held(s.n) < 0",
                              holder.values).fetchall()
        if self.failure:
            raise self.failure


class Again(Executions):
    def test_a_statement_that_runs_again_does_everything_again(self):
        self.each(lambda subject: [subject.check() for _ in range(3)])

    def test_also_while_another_holds_a_cursor_that_was_never_filtered(self):
        def check(holder, subject):
            self.while_held(holder, lambda: [subject.check() for _ in range(3)])
            subject.check()

        self.pairs(check)

    def test_also_while_another_is_between_two_of_its_rows(self):
        def check(holder, subject):
            open_cursor = self.database.execute(f"SELECT 1 FROM {holder.table} h, (VALUES (1), (2))", holder.values)
            open_cursor.fetchone()
            for _ in range(3):
                subject.check()
            open_cursor.close()
            subject.check()

        self.pairs(check)

    def test_also_after_the_schema_changed(self):
        def check(subject):
            subject.check()
            for change in ("CREATE TABLE extra (x)", "ALTER TABLE extra ADD COLUMN y", "ANALYZE",
                           "CREATE TEMP VIEW v AS SELECT 1", "DROP TABLE extra", "DROP VIEW v"):
                self.database.execute(change)
                subject.check()
                subject.check()

        self.each(check)

    def test_also_when_the_schema_changed_while_another_holds_a_cursor(self):
        def check(holder, subject):
            def body():
                subject.check()
                extra = f"extra_{type(holder).__name__}_{type(subject).__name__}"
                for change in (f"CREATE TABLE {extra} (x)", f"ALTER TABLE {extra} ADD COLUMN y",
                               f"CREATE TEMP TABLE {extra} (z)"):
                    self.database.execute(change)
                    subject.check()
                    subject.check()

            self.while_held(holder, body)

        self.pairs(check)

    def test_also_when_it_was_reset_in_the_middle(self):
        def check(holder, subject):
            def body():
                self.database.execute(subject.sql, subject.values).fetchone()  # and never finished
                subject.check()

            self.while_held(holder, body)

        self.pairs(check)

    def test_also_after_it_failed(self):
        def check(subject):
            subject.check()
            with self.assertRaisesRegex(sqlite3.Error, "overflow"):
                self.database.execute(f"SELECT abs(-9223372036854775807 - 1) FROM {subject.table}", subject.values).fetchall()
            subject.check()

        self.each(check)

    def test_also_within_a_transaction_and_after_its_rollback(self):
        def check(subject):
            for end in ("COMMIT", "ROLLBACK"):
                self.database.execute("BEGIN")
                subject.check()
                subject.check()
                self.database.execute(end)
                subject.check()

        self.each(check)


class Nested(Executions):
    def test_a_statement_inside_itself_is_another_execution(self):
        def check(subject):
            depth = []

            def body():
                if len(depth) < 3:
                    depth.append(subject)
                    subject.rows(f"SELECT 1 FROM single s CROSS JOIN {subject.table} h WHERE held(s.n) > 0")
                subject.check()

            self.while_held(subject, body)
            self.assertEqual(len(depth), 3)

        self.each(check)

    def test_a_function_that_reads_the_table_its_caller_reads_is_another_execution(self):
        def check(subject):
            self.call_from_sql(subject.check)
            self.failure = None
            self.database.execute(f"SELECT held(1) FROM {subject.table}, (VALUES (1), (2), (3))", subject.values).fetchall()
            if self.failure:
                raise self.failure

        self.each(check)

    def while_each_holds(self, body):
        for holder in TABLES:
            with self.subTest(holder=holder.__name__):
                self.while_held(holder(self), body)

    def test_each_firing_of_a_temp_trigger_is_an_execution(self):
        """Also while others hold cursors; its second firing asks again, as the README says."""
        polls = "rpc_probe('{}')".format(self.fleet.inline("one"))
        self.database.executescript(f"""
            CREATE TABLE log (x); CREATE TABLE seen (height);
            CREATE TEMP TRIGGER fired AFTER INSERT ON main.log BEGIN
              INSERT INTO seen SELECT a.block_number FROM {polls} a JOIN {polls} b ON a.rowid = b.rowid; END;""")

        def body():
            for rows in (1, 2, 3):
                self.fleet.take_asked()
                self.database.execute("DELETE FROM seen")
                self.database.execute("INSERT INTO log SELECT value FROM json_each('[1,2,3]') LIMIT ?", (rows,))
                self.assertEqual(self.fleet.take_asked(), {("one", "eth_blockNumber"): rows})
                self.assertEqual(self.database.execute("SELECT count(*) FROM seen").fetchone(), (rows,))

        body()
        self.while_each_holds(body)

    def test_a_trigger_inside_a_statement_that_polls_itself(self):
        polls = Polls(self)
        self.database.executescript(f"""
            CREATE TABLE log (x); CREATE TABLE seen (height);
            CREATE TEMP TRIGGER fired AFTER INSERT ON main.log BEGIN
              INSERT INTO seen SELECT block_number FROM rpc_probe('{polls.values["J"]}'); END;""")
        for _ in range(2):
            self.fleet.take_asked()
            self.database.execute("INSERT INTO log SELECT p.block_number FROM rpc_probe(:J) p, json_each('[1,2]')", polls.values)
            self.assertEqual(self.fleet.take_asked(), {("one", "eth_blockNumber"): 3})

    def test_a_firing_sends_once_and_the_next_one_again(self):
        sends = "tx_probe('{}')".format(Transactions(self).values["J"])
        self.database.executescript(f"""
            CREATE TABLE log (x); CREATE TABLE seen (tx_hash);
            CREATE TEMP TRIGGER fired AFTER INSERT ON main.log BEGIN
              INSERT INTO seen SELECT a.tx_hash FROM {sends} a JOIN {sends} b ON a.rowid = b.rowid; END;""")

        def body():
            known = len(self.chain.sent)
            self.database.execute("DELETE FROM seen")
            self.database.execute("INSERT INTO log VALUES (1), (2)")
            sent = self.chain.sent[known:]
            self.assertEqual(len(sent), 2)
            self.assertEqual(self.database.execute("SELECT tx_hash FROM seen ORDER BY rowid").fetchall(),
                             [(tx_hash,) for _, tx_hash in sent])

        body()
        self.while_each_holds(body)


class Interleaved(Executions):
    def test_two_cursors_of_one_text_poll_for_themselves(self):
        polls = Polls(self)
        sql = "SELECT p.block_number FROM rpc_probe(:J) p, (VALUES (1), (2), (3))"
        for _ in range(2):
            (first, _), = polls.change()
            one = self.database.execute(sql, polls.values)
            got = [one.fetchone()]
            (second, _), = polls.change()
            other = self.database.execute(sql, polls.values)
            other_got = [other.fetchone()]
            polls.change()
            for _ in range(2):
                got.append(one.fetchone())
                other_got.append(other.fetchone())
            self.assertEqual((got, other_got), ([(first,)] * 3, [(second,)] * 3))
            self.assertEqual((one.fetchone(), other.fetchone()), (None, None))
            self.assertEqual(self.fleet.take_asked(), {})  # since the last change

    def test_two_cursors_of_one_text_send_for_themselves(self):
        sends = Transactions(self)
        sql = "SELECT tx_hash FROM tx_probe(:J, 2)"
        for _ in range(2):
            known = len(self.chain.sent)
            one, other = (self.database.execute(sql, sends.values) for _ in range(2))
            got = [cursor.fetchone() for _ in range(2) for cursor in (one, other)]
            self.assertEqual((one.fetchone(), other.fetchone()), (None, None))
            self.assertEqual(sorted(got), sorted((tx_hash,) for _, tx_hash in self.chain.sent[known:]))
            self.assertEqual(len(set(got)), 4)

    def test_generators_in_turn_with_a_schema_change_between(self):
        polls = Polls(self)
        texts = [f"SELECT {i}, a.block_number FROM rpc_probe(:J) a JOIN rpc_probe(:J) b ON a.rowid = b.rowid, (VALUES (1), (2))"
                 for i in range(3)]
        for step in range(3):
            cursors, wanted = [], []
            for i, text in enumerate(texts):
                (number, _), = polls.change()
                cursors.append(self.database.execute(text, polls.values))
                self.assertEqual(cursors[-1].fetchone(), (i, number))
                polls.check_asked(1)
                wanted.append([(i, number)])
                self.database.execute(f"CREATE TABLE between_{step}_{i} (x)")
            polls.change()
            self.assertEqual([cursor.fetchall() for cursor in cursors], wanted)
            self.assertEqual(self.fleet.take_asked(), {})

    def test_other_values_bound_to_the_same_statement(self):
        self.fleet.answers["two", "eth_blockNumber"] = "0x99"
        polls = Polls(self)

        def body():
            for provider in ("one", "two", "one", "two"):
                self.fleet.take_asked()
                self.database.execute(Polls.sql, {"J": self.fleet.inline(provider)}).fetchall()
                self.assertEqual(self.fleet.take_asked(), {(provider, "eth_blockNumber"): 1})

        self.while_held(polls, body)

    def test_executemany_is_as_many_executions(self):
        polls = Polls(self)
        self.database.execute("CREATE TABLE log (height)")

        def body():
            self.fleet.take_asked()
            self.database.executemany("INSERT INTO log SELECT block_number FROM rpc_probe(:J)", [polls.values] * 3)
            polls.check_asked(3)

        body()
        self.while_held(polls, body)


if __name__ == "__main__":
    unittest.main()
