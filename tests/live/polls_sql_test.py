"""Polls in every place that SQL allows: arguments from other tables, plans that ask twice, errors, long lives, threads
and children. A loopback server counts what is really asked."""

import json
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "clients"))
from support import CountingServer, connect, inline, script  # noqa: E402

COLUMNS = ["timestamp", "provider_id", "chain", "region", "method", "sample", "ok", "latency_ms", "setup_ms", "total_ms",
           "first_message_ms", "block_number", "http_status", "error_class", "error_kind", "error", "retry_after_sec",
           "response_bytes"]


class Polls(unittest.TestCase):
    def setUp(self):
        self.a, self.b = CountingServer(), CountingServer()
        self.addCleanup(self.a.close)
        self.addCleanup(self.b.close)
        self.database = connect()
        self.addCleanup(lambda: self.database.close())
        self.database.execute("CREATE TABLE t (u)")
        self.database.executemany("INSERT INTO t VALUES (?)", [(inline(a=self.a.url),), (inline(b=self.b.url),)])
        self.both = inline(a=self.a.url, b=self.b.url)

    def rows(self, sql, *values):
        return self.database.execute(sql, values).fetchall()

    def asked(self):
        count = len(self.a.requests) + len(self.b.requests)
        self.a.requests.clear()
        self.b.requests.clear()
        return count

    def fails(self, sql, message, *values):
        with self.assertRaisesRegex(sqlite3.Error, message):
            self.rows(sql, *values)
        self.assertEqual(self.asked(), 0)


class Plans(Polls):
    def test_an_argument_may_come_from_a_column_in_any_join_order(self):
        for sql in ("SELECT provider_id FROM t, rpc_probe(t.u) ORDER BY 1",
                    "SELECT p.provider_id FROM rpc_probe(t.u) p JOIN t ON t.u = p.providers ORDER BY 1",
                    "SELECT p.provider_id FROM t LEFT JOIN rpc_probe(t.u) p ON p.error IS NULL ORDER BY 1",
                    "SELECT provider_id FROM t, rpc_probe(t.u, 'sequential', 1, 5000) ORDER BY 1",
                    "SELECT provider_id FROM t JOIN rpc_probe ON providers = t.u ORDER BY 1",
                    "SELECT (SELECT provider_id FROM rpc_probe(t.u)) AS p FROM t ORDER BY 1"):
            with self.subTest(sql):
                self.assertEqual(self.rows(sql), [("a",), ("b",)])
                self.assertEqual(self.asked(), 2)

    def test_arguments_are_taken_by_name_in_any_selection(self):
        for where in ("timeout_ms = 5000 AND providers = ?1", "providers = ?1 AND deadline_ms = 60000",
                      "params = '[]' AND mode = 'parallel' AND providers = ?1", "providers IS ?1 AND samples IS 1"):
            with self.subTest(where):
                self.assertEqual(self.rows(f"SELECT count(*) FROM rpc_probe WHERE {where}", self.both), [(2,)])
                self.assertEqual(self.asked(), 2)

    def test_an_argument_given_twice_must_be_the_same(self):
        for where in ("samples = 1 AND samples = 2", "providers = ?1 || ' '"):
            self.assertEqual(self.rows(f"SELECT count(*) FROM rpc_probe(?1) WHERE {where}", self.both), [(0,)], where)
            self.assertEqual(self.asked(), 0)
        self.assertEqual(self.rows("SELECT count(*) FROM rpc_probe(?1) WHERE providers = ?1", self.both), [(2,)])

    def test_every_operator_on_every_column_agrees_with_a_copy(self):
        self.database.execute("CREATE TABLE copy AS SELECT * FROM rpc_probe(?)", (self.both,))
        (a_row,) = self.rows("SELECT * FROM copy WHERE provider_id = 'a'")
        self.database.execute("CREATE VIRTUAL TABLE temp.p USING rpc_probe")
        constant = {"provider_id", "method", "sample", "ok", "block_number", "http_status", "error", "chain", "region",
                    "error_class", "error_kind", "retry_after_sec", "first_message_ms"}
        for name, value in zip(COLUMNS, a_row):
            if name not in constant:
                continue
            # Which methods there are to see depends on terms: one that SQLite does not offer the table is refused.
            for operator in ("=", "<>", "<", "<=", ">", ">=", "IS", "IS NOT", "LIKE", "GLOB", "IN", "NOT IN"):
                if (name, operator) == ("method", "NOT IN"):
                    self.asked()
                    self.fails("SELECT * FROM rpc_probe(?) WHERE method NOT IN (?)", "method is compared", self.both, value)
                    continue
                right = "(?2)" if "IN" in operator else "?2"
                where = f"{name} {operator} {right}"
                expected = self.rows(f"SELECT provider_id FROM copy WHERE {where} AND ?1 IS NOT 5 ORDER BY 1", self.both,
                                     value)
                for source in ("rpc_probe", "temp.p"):
                    got = self.rows(f"SELECT provider_id FROM {source} WHERE providers = ?1 AND {where} ORDER BY 1",
                                    self.both, value)
                    self.assertEqual(got, expected, where)
        with self.assertRaisesRegex(sqlite3.Error, "MATCH"):
            self.rows("SELECT * FROM rpc_probe(?) WHERE error MATCH 'x'", self.both)

    def test_order_and_limit_are_sqlites(self):
        for sql, rows in (("SELECT provider_id FROM rpc_probe(?) ORDER BY provider_id DESC LIMIT 1", [("b",)]),
                          ("SELECT provider_id FROM rpc_probe(?) WHERE block_number < 0 LIMIT 1", []),
                          ("SELECT provider_id FROM rpc_probe(?) ORDER BY provider_id LIMIT 1 OFFSET 1", [("b",)]),
                          ("SELECT provider_id FROM rpc_probe(?) JOIN t ON t.u LIKE '%\"b\"%' AND provider_id = 'b' "
                           "LIMIT 5", [("b",)])):
            with self.subTest(sql):
                self.assertEqual(self.rows(sql, self.both), rows)

    def test_stopping_after_the_first_row_leaves_nothing_open(self):
        for _ in range(50):
            cursor = self.database.execute("SELECT * FROM rpc_probe(?)", (self.both,))
            cursor.fetchone()
            cursor.close()
        self.database.execute("VACUUM")

    def test_a_join_with_a_table_that_has_no_index_asks_once(self):
        self.database.execute("CREATE TABLE big AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                              "WHERE i < 1000) SELECT i, 'a' AS p, NULL AS off FROM n")
        self.assertEqual(self.rows("SELECT count(*) FROM rpc_probe(?) p JOIN big b ON b.p = p.provider_id "
                                   "WHERE b.off IS NULL", self.both), [(1000,)])
        self.assertEqual(self.asked(), 2)

    def test_no_outer_row_asks_nobody(self):
        self.assertEqual(self.rows("SELECT count(*) FROM t, rpc_probe(t.u) WHERE t.u = 'nope'"), [(0,)])
        self.assertEqual(self.asked(), 0)

    def test_each_firing_of_a_temp_trigger_is_an_execution(self):
        self.database.executescript(f"""
            CREATE TABLE log (x); CREATE TABLE seen (provider_id);
            CREATE TEMP TRIGGER fired AFTER INSERT ON main.log BEGIN
              INSERT INTO seen SELECT provider_id FROM rpc_probe('{self.both}'); END;""")
        self.database.execute("INSERT INTO log VALUES (1), (2)")
        self.assertEqual(self.rows("SELECT count(*) FROM seen"), [(4,)])
        self.assertEqual(self.asked(), 4)

    def test_a_temp_view_and_a_common_table_expression_may_poll(self):
        self.database.execute(f"CREATE TEMP VIEW v AS SELECT * FROM rpc_probe('{self.both}')")
        self.assertEqual(self.rows("SELECT count(*) FROM v x JOIN v y USING (provider_id)"), [(2,)])
        self.assertEqual(self.asked(), 2)
        self.assertEqual(self.rows("WITH p AS MATERIALIZED (SELECT * FROM rpc_probe(?)) SELECT count(*) FROM t LEFT JOIN p "
                                   "ON p.provider_id = substr(t.u, 18, 1)", self.both), [(2,)])


class Arguments(Polls):
    def test_null_options_are_errors_that_name_them(self):
        for name in ("mode", "samples", "timeout_ms", "params", "deadline_ms"):
            self.fails(f"SELECT * FROM rpc_probe WHERE providers = ?1 AND {name} = NULL", f"rpc_probe: {name}.*NULL",
                       self.both)
        self.fails("SELECT * FROM rpc_probe(NULL)", "rpc_probe: providers.*NULL")
        self.fails("SELECT * FROM rpc_probe(?, NULL)", "rpc_probe: mode.*NULL", self.both)

    def test_wrong_types_are_errors_that_name_them(self):
        for name, value in (("providers", 5), ("providers", b"[]"), ("providers", "{}"), ("providers", "[1]"),
                            ("providers", "not a url"), ("providers", "["), ("samples", 0), ("samples", 1.5),
                            ("samples", "2.5"), ("samples", "two"), ("timeout_ms", 0), ("timeout_ms", 10**9), ("timeout_ms", 1e300),
                            ("deadline_ms", -1), ("mode", 7), ("mode", ""), ("params", "nope"), ("params", 7)):
            with self.subTest(name, value=value):
                providers = value if name == "providers" else self.both
                extra = "" if name == "providers" else f"AND {name} = ?2"
                values = (providers,) if name == "providers" else (providers, value)
                self.fails(f"SELECT * FROM rpc_probe WHERE providers = ?1 {extra}", f"rpc_probe: .*{name}", *values)

    def test_numbers_as_some_hosts_bind_them(self):
        for value in (2, 2.0, "2", "2.0", " 2 "):
            self.assertEqual(self.rows("SELECT count(*) FROM rpc_probe(?1) WHERE samples = ?2 AND timeout_ms = ?3",
                                       self.both, value, "5000"), [(4,)], value)

    def test_text_with_a_nul_or_without_utf8_is_refused(self):
        self.fails("SELECT * FROM rpc_probe(?1 || char(0) || '@evil')", "providers.*NUL", self.both)
        self.fails("SELECT * FROM rpc_probe(CAST(x'5bff5d' AS TEXT))", "providers")
        self.fails("SELECT * FROM rpc_probe(?) WHERE method = CAST(x'ff' AS TEXT)", "method", self.both)

    def test_a_line_break_after_a_url_is_that_providers_error(self):
        self.assertEqual(self.rows("SELECT provider_id, error_class FROM rpc_probe(?) ORDER BY 1",
                                   inline(a=self.a.url + "\r\nX: y", b=self.b.url)), [("a", "config"), ("b", None)])
        self.assertEqual(self.asked(), 1)

    def test_a_null_method_or_provider_matches_nobody(self):
        for where in ("provider_id = NULL", "provider_id IN (NULL)", "method = NULL", "method IN (NULL)"):
            self.assertEqual(self.rows(f"SELECT count(*) FROM rpc_probe(?) WHERE {where}", self.both), [(0,)], where)
        self.assertEqual(self.asked(), 0)
        self.assertEqual(self.rows("SELECT count(*) FROM rpc_probe(?) WHERE provider_id IN (NULL, 'a')", self.both),
                         [(1,)])


class Environment(Polls):
    def test_upkeep_works_after_a_poll(self):
        with tempfile.TemporaryDirectory() as directory:
            database = connect(os.path.join(directory, "a.db"))
            script(database, "schema")
            database.execute("INSERT INTO rpc_providers (provider_id, chain, url) VALUES ('a', 'devnet', ?)", (self.a.url,))
            self.assertEqual(database.execute("SELECT block_number FROM rpc_probe").fetchall(), [(16,)])
            database.execute(f"ATTACH '{directory}/b.db' AS other")
            database.execute("VACUUM")
            self.assertEqual(database.execute("PRAGMA journal_mode = DELETE").fetchone(), ("delete",))
            database.execute("DETACH other")
            database.close()

    def test_a_table_in_temp_or_in_the_file_shadows_ours_without_harm(self):
        self.database.execute("CREATE TABLE rpc_probe (x)")
        self.assertEqual(self.rows("SELECT * FROM rpc_probe"), [])
        self.assertEqual(self.asked(), 0)

    def test_a_virtual_table_lives_and_dies_like_any_other(self):
        self.database.execute("CREATE VIRTUAL TABLE temp.p USING rpc_probe")
        open_cursor = self.database.execute("SELECT * FROM temp.p(?)", (self.both,))
        open_cursor.fetchone()
        with self.assertRaises(sqlite3.Error):
            self.database.execute("DROP TABLE temp.p")
        open_cursor.close()
        self.database.execute("ALTER TABLE temp.p RENAME TO q")
        self.assertEqual(self.rows("SELECT count(*) FROM temp.q(?)", self.both), [(2,)])
        self.database.execute("DROP TABLE temp.q")
        for wrong in ("CREATE VIRTUAL TABLE temp.p USING rpc_probe(1)", "CREATE VIRTUAL TABLE p USING rpc_probe"):
            with self.assertRaisesRegex(sqlite3.Error, "rpc_probe"):
                self.database.execute(wrong)

    def test_connections_share_no_settings(self):
        other = connect()
        other.execute("CREATE TABLE rpc_settings AS SELECT 'max_response_bytes' AS key, 5 AS value")
        self.assertEqual(other.execute("SELECT error_class FROM rpc_probe(?)", (inline(a=self.a.url),)).fetchall(),
                         [("too_large",)])
        self.assertEqual(self.rows("SELECT error_class FROM rpc_probe(?)", inline(a=self.a.url)), [(None,)])
        other.close()

    def test_a_setting_that_is_no_number_is_named(self):
        self.database.execute("CREATE TABLE rpc_settings AS SELECT 'timeout_ms' AS key, 'soon' AS value")
        self.fails("SELECT * FROM rpc_probe(?)", "rpc_settings.timeout_ms.*soon", self.both)

    def test_loading_polling_and_closing_may_be_repeated(self):
        for _ in range(5):
            database = connect()
            self.assertEqual(database.execute("SELECT count(*) FROM rpc_probe(?)", (self.both,)).fetchone(), (2,))
            database.close()

    def test_a_poll_in_a_transaction_that_is_rolled_back_stays_a_poll(self):
        self.database.execute("BEGIN")
        self.database.execute("CREATE TABLE polled AS SELECT * FROM rpc_probe(?)", (self.both,))
        self.database.execute("ROLLBACK")
        self.assertEqual(self.asked(), 2)

    def test_threads_with_connections_of_their_own_poll_side_by_side(self):
        urls = {"a": self.a.url, "closed": "http://127.0.0.1:9", "nowhere": f"http://{'a' * 64}.invalid"}
        seen, failures = [], []

        def poll():
            try:
                database = connect()
                for _ in range(10):
                    seen.append(database.execute("SELECT provider_id, error_class FROM rpc_probe(?) ORDER BY 1",
                                                 (inline(**urls),)).fetchall())
                database.close()
            except Exception as failure:  # shown by the main thread
                failures.append(failure)

        threads = [threading.Thread(target=poll) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(seen, [[("a", None), ("closed", "connect"), ("nowhere", "dns")]] * 80)

    def test_a_child_process_polls_and_leaves_the_parents_connections_alone(self):
        self.assertEqual(self.rows("SELECT setup_ms > 0 FROM rpc_probe(?)", inline(a=self.a.url)), [(1,)])
        context = multiprocessing.get_context("fork")
        receiver, sender = context.Pipe()

        def child():
            sender.send(connect().execute("SELECT ok, setup_ms > 0 FROM rpc_probe(?)", (inline(a=self.a.url),)).fetchall())
            sender.send(self.rows("SELECT ok, setup_ms > 0 FROM rpc_probe(?)", inline(a=self.a.url)))

        process = context.Process(target=child)
        process.start()
        self.assertEqual([receiver.recv(), receiver.recv()], [[(1, 1)], [(1, 1)]])
        process.join()
        self.assertEqual(self.rows("SELECT ok, setup_ms FROM rpc_probe(?)", inline(a=self.a.url)), [(1, 0.0)])


SCARCE = """
import ctypes, json, sqlite3, sys
sys.path[:0] = {path!r}
from support import inline, load
library = ctypes.CDLL("libsqlite3.so.0")  # the one that Python uses
library.sqlite3_hard_heap_limit64.argtypes = [ctypes.c_int64]
library.sqlite3_memory_used.restype = ctypes.c_int64
statements = ["CREATE TABLE t AS SELECT 1 AS x, 'a' AS p",
              "SELECT count(*) FROM rpc_probe('" + inline(a="http://127.0.0.1:9") + "')",
              "SELECT chain_head(x, 64, p) OVER () FROM t", "SELECT median(x), percentile(x, 50) FROM t",
              "SELECT count(*) FROM rpcroute_reference", "SELECT asof_join('t', 'p', 'x', 'a', 5)",
              "SELECT * FROM asof_join('t', 't', 'p', 'x')"]

def works_with(more):
    database = sqlite3.connect(":memory:", isolation_level=None)
    library.sqlite3_hard_heap_limit64(library.sqlite3_memory_used() + more)
    try:
        load(database)
        for sql in statements:
            database.execute(sql).fetchall()
        return True
    except (sqlite3.Error, MemoryError):
        return False
    finally:
        library.sqlite3_hard_heap_limit64(0)
        database.close()

assert works_with(10**9)
base = library.sqlite3_memory_used()
worked = [works_with(more) for more in range(0, 300_000, 499)]
print(json.dumps([worked.count(False), worked.count(True), library.sqlite3_memory_used() - base]))
"""


class Memory(unittest.TestCase):
    def test_with_however_little_memory_loading_and_polling_fail_cleanly_and_leave_nothing(self):
        run = subprocess.run([sys.executable, "-c", SCARCE.format(path=sys.path)], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        failed, worked, left = json.loads(run.stdout)
        self.assertGreater(failed, 10)
        self.assertGreater(worked, 10)
        self.assertEqual(left, 0)


if __name__ == "__main__":
    unittest.main()
