#!/usr/bin/env python3
"""What loading adds to SQLite: exactly what rpcroute_reference documents, however the library is named and loaded."""

import os
import pathlib
import re
import sqlite3
import subprocess
import tempfile
import unittest

from support import EXTENSION, FULL, OFFLINE, connect, load, script

# What SQL_INTERFACE promises by name; more may be there, if it is documented.
FUNCTIONS = {"asof_join", "block_lag", "chain_head", "median", "percentile", "predict_confirm",
             "predict_confirm_contributions", "predict_confirm_named", "rpcroute_debug", "rpcroute_version",
             "rpc_canonical", "rpc_diff", "rpc_digest", "train_confirm"}
TABLES = {"asof_join", "model_importance", "rpc_call", "rpc_probe", "rpcroute_reference", "tx_probe", "tx_wait"}

# What touches network, keys or files.
OUTSIDE = {"rpc_probe", "rpc_call", "tx_probe", "tx_send", "tx_wait"}


def functions(database):
    return set(database.execute("SELECT name, narg, type, enc, flags FROM pragma_function_list"))


def modules(database):
    return {name for name, in database.execute("SELECT name FROM pragma_module_list")}


def inventory(database):
    return functions(database), modules(database)


def added(entry):
    """Functions as {name: {numbers of arguments}}, and tables, that loading adds."""
    database = sqlite3.connect(":memory:")
    functions_before, modules_before = inventory(database)
    functions_after, modules_after = inventory(load(database, entry))
    arities = {}
    for name, count, *_ in functions_after - functions_before:
        arities.setdefault(name, set()).add(count)
    return arities, modules_after - modules_before


def documented(database):
    """{name: signature} of functions, and of tables."""
    rows = database.execute("SELECT name, kind, signature FROM rpcroute_reference").fetchall()
    return ({name: signature for name, kind, signature in rows if kind != "table"},
            {name: signature for name, kind, signature in rows if kind == "table"})


def accepted_counts(signature):
    """`f(a, b [, c [, d]])` takes 2, 3 or 4 arguments; with `…` any number."""
    inside = signature[signature.index("(") + 1:-1]
    if "…" in inside:
        return {-1}
    required, *optional = inside.split("[")
    least = len([part for part in required.split(",") if part.strip()])
    return set(range(least, least + len(optional) + 1))


class Inventory(unittest.TestCase):
    def test_everything_that_loading_adds_is_documented_and_nothing_else(self):
        for entry in (FULL, OFFLINE):
            with self.subTest(entry):
                arities, tables = added(entry)
                documented_functions, documented_tables = documented(connect(entry=entry))
                self.assertEqual(set(arities), set(documented_functions))
                self.assertEqual(tables, set(documented_tables))

    def test_the_promised_names_are_there(self):
        arities, tables = added(FULL)
        self.assertLessEqual(FUNCTIONS, set(arities))
        self.assertLessEqual(TABLES, tables)

    def test_signatures_tell_the_numbers_of_arguments_that_are_registered(self):
        arities, _ = added(FULL)
        for name, signature in documented(connect())[0].items():
            self.assertTrue(signature.startswith(name + "("), signature)
            self.assertEqual(arities[name], accepted_counts(signature), signature)

    def test_signatures_of_tables_name_their_hidden_columns_in_order(self):
        database = connect()
        for name, signature in documented(database)[1].items():
            hidden = [column for column, in database.execute(
                "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 1 AND name NOT GLOB 'c[0-9]*'", (name,))]
            inside = signature[len(name):].strip("()")
            self.assertEqual(hidden, re.findall(r"\w+", inside), signature)

    def test_offline_has_everything_but_what_touches_network_keys_or_files(self):
        full_functions, full_tables = added(FULL)
        offline_functions, offline_tables = added(OFFLINE)
        self.assertEqual(offline_functions, full_functions)
        self.assertEqual(offline_tables, full_tables - OUTSIDE)
        for name in OUTSIDE:
            with self.assertRaisesRegex(sqlite3.Error, "no such (table|module)"):
                connect(entry=OFFLINE).execute(f"SELECT * FROM {name}")

    def test_a_function_that_is_direct_only_refuses_stored_calls_itself(self):
        """SQLite 3.40 runs even DIRECTONLY functions from a stored CHECK constraint, the newest one from what it read
        before the function was there."""
        direct_only = 0x80000
        found = [(name, count) for name, count, *_, flags in functions(connect()) - functions(sqlite3.connect(":memory:"))
                 if flags & direct_only]
        self.assertIn(("asof_join", 7), found)
        for name, count in found:
            with self.subTest(name, arguments=count):
                with tempfile.TemporaryDirectory() as directory:
                    path = os.path.join(directory, "a.db")
                    stranger = sqlite3.connect(path, isolation_level=None)
                    stranger.executescript("CREATE TABLE k (x); PRAGMA writable_schema = ON")
                    call = f"{name}({', '.join(['NULL'] * max(count, 0))})"
                    stranger.execute(f"UPDATE sqlite_schema SET sql = 'CREATE TABLE k (x, CHECK ({call}))'")
                    stranger.close()
                    database = sqlite3.connect(path, isolation_level=None)
                    database.execute("SELECT * FROM k")
                    load(database)
                    with self.assertRaisesRegex(sqlite3.Error, "calls it|refuses"):
                        database.execute("INSERT INTO k VALUES (1)")
                    database.close()

    def test_loading_again_changes_nothing(self):
        for first, second in ((FULL, FULL), (FULL, OFFLINE), (OFFLINE, OFFLINE)):
            with self.subTest(first=first, second=second):
                database = connect(entry=first)
                before = inventory(database)
                load(database, second)
                self.assertEqual(inventory(database), before)

    def test_loading_everything_after_offline_adds_the_rest_and_its_documentation(self):
        database = load(connect(entry=OFFLINE), FULL)
        self.assertEqual(inventory(database), inventory(connect()))
        self.assertLessEqual(OUTSIDE & modules(database), set(documented(database)[1]))

    def test_loading_works_while_a_statement_runs_and_while_another_connection_writes(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "a.db")
            for journal in ("DELETE", "WAL"):
                writer = sqlite3.connect(path, isolation_level=None)
                writer.execute(f"PRAGMA journal_mode = {journal}")
                writer.execute("BEGIN EXCLUSIVE")
                writer.execute("CREATE TABLE IF NOT EXISTS t (x)")
                reader = sqlite3.connect(path, timeout=0)
                running = reader.execute("VALUES (1), (2)")
                running.fetchone()
                self.assertTrue(load(load(reader)).execute("SELECT rpcroute_version()").fetchone()[0])
                self.assertEqual(running.fetchone(), (2,))
                writer.execute("COMMIT")
                reader.close()
                writer.close()

    def test_a_function_of_the_host_under_one_of_our_names_stays(self):
        database = sqlite3.connect(":memory:")
        database.create_function("block_lag", 2, lambda height, head: "the host's")
        load(database)
        self.assertEqual(database.execute("SELECT block_lag(1, 2)").fetchone(), ("the host's",))


class Names(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def shell(self, command, **environment):
        """What the stock shell prints, run in a directory where nothing of ours is."""
        return subprocess.run(["sqlite3", "-bail", "-cmd", command, ":memory:", "SELECT rpcroute_version()"],
                              cwd=self.directory, env={**os.environ, **environment}, capture_output=True, text=True)

    def test_the_file_may_be_renamed_as_distributions_do(self):
        version = connect().execute("SELECT rpcroute_version()").fetchone()[0]
        for name in ("rpcroute.so", "librpcroute.so", "rpcroute0.so", "rpcroute-0.1.so"):
            with self.subTest(name):
                copy = self.directory / name
                os.symlink(EXTENSION, copy)
                self.assertEqual(self.shell(f".load {copy}").stdout, version + "\n")
                database = sqlite3.connect(":memory:")
                database.enable_load_extension(True)
                database.load_extension(str(copy))
                self.assertEqual(database.execute("SELECT rpcroute_version()").fetchone()[0], version)

    def test_it_needs_no_sqlite_library_and_exports_its_entry_points_alone(self):
        linked = subprocess.run(["ldd", EXTENSION], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("libsqlite3", linked)
        for heavy in ("libxgboost", "libcurl", "libcrypto++"):  # loading them takes longer than all the rest
            self.assertNotIn(heavy, linked)
        symbols = subprocess.run(["nm", "-D", "--defined-only", EXTENSION], capture_output=True, text=True, check=True)
        self.assertEqual({line.split()[-1].split("@")[0] for line in symbols.stdout.splitlines()}, {FULL, OFFLINE})

    def test_once_installed_it_loads_by_its_bare_name_from_any_directory(self):
        build = pathlib.Path(EXTENSION).parent
        if not (build / "cmake_install.cmake").exists():
            self.skipTest(f"{build} is not a build directory")
        subprocess.run(["cmake", "--install", str(build), "--prefix", "/usr"], check=True, capture_output=True,
                       env={**os.environ, "DESTDIR": str(self.directory)})
        installed, = self.directory.rglob("rpcroute.so")
        folder = installed.parent
        self.assertIn("/" + str(folder.relative_to(self.directory)), self.system_folders())
        self.assertIn("rpcroute", self.shell(".load rpcroute", LD_LIBRARY_PATH="").stderr)  # it is not there anyway
        found = self.shell(".load rpcroute", LD_LIBRARY_PATH=str(folder))
        self.assertEqual((found.returncode, found.stderr), (0, ""))
        self.assertTrue((self.directory / "usr/share/rpcroute/sql/schema.sql").exists())

    @staticmethod
    def system_folders():
        """Where dlopen() looks for a bare name."""
        configured = subprocess.run(["/sbin/ldconfig", "-v", "-N", "-X"], capture_output=True, text=True).stdout
        folders = {line.split(":")[0] for line in configured.splitlines() if line.startswith("/")}
        return folders | {"/lib", "/usr/lib"} | {os.path.realpath(folder) for folder in folders}


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.database = connect()
        script(cls.database, "schema")
        cls.database.executescript("""
            INSERT INTO rpc_providers (provider_id, chain, url)
              VALUES ('infura', 'devnet', 'http://127.0.0.1:9'), ('drpc', 'devnet', 'http://127.0.0.1:9');
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
            INSERT INTO rpc_metrics (cycle_id, timestamp, provider_id, chain, region, method, sample, ok, latency_ms,
                                     block_number)
              SELECT i, 1e9 + 10 * i, provider_id, 'devnet', 'local', 'eth_blockNumber', 1, 1, 40 + i % 7, 1000 + i
                FROM n, rpc_providers;
            INSERT INTO tx_outcomes (timestamp, provider_id, chain, region, propensity, state, status, duration_sec,
                                     duration_source, overlap)
              SELECT timestamp + 1, provider_id, chain, region, 0.5, 'confirmed', 1, 12 + latency_ms / 10, 'receipt', 0
                FROM rpc_metrics;""")
        script(cls.database, "align")
        script(cls.database, "train")

    def examples(self, kind):
        return self.database.execute(
            f"SELECT name, example FROM rpcroute_reference WHERE (kind = 'table') = {kind == 'table'}").fetchall()

    def test_the_example_of_every_function_runs_on_a_trained_database(self):
        for name, example in self.examples("function"):
            with self.subTest(example):
                self.assertIn(name, example)
                self.assertTrue(self.database.execute(example).fetchall())

    def test_the_example_of_every_table_runs_and_those_that_reach_outside_compile(self):
        for name, example in self.examples("table"):
            with self.subTest(example):
                self.assertIn(name, example)
                if name in OUTSIDE:
                    self.database.execute("EXPLAIN " + example).fetchall()
                else:
                    self.assertTrue(self.database.execute(example).fetchall())

    def test_every_column_of_every_table_is_explained(self):
        for name, column in self.database.execute(
                "SELECT name, value ->> 'name' FROM rpcroute_reference, json_each(columns) "
                "WHERE trim(value ->> 'meaning') = ''"):
            self.fail(f"{name}.{column} has no meaning")


if __name__ == "__main__":
    unittest.main()
