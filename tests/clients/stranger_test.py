#!/usr/bin/env python3
"""A database from a stranger, opened with the extension loaded: whatever it holds, using it asks nobody and reads no
variable. The stock shell runs it under a shim that notes every look at an RPCROUTE_ variable."""

import hashlib
import json
import os
import pathlib
import sqlite3
import subprocess
import tempfile
import unittest

from support import EXTENSION, OFFLINE, CountingServer, connect, inline, load, script

SECRETS = {"RPCROUTE_KEY": "0x" + "5ec2e7" * 10 + "0001", "RPCROUTE_KEY_2": "0x" + "5ec2e7" * 10 + "0002",
           "RPCROUTE_TOKEN": "t0ken-5ec2e7"}

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
static char *note(const char *name, const char *function) {
  char *(*real)(const char *) = (char *(*)(const char *))dlsym(RTLD_NEXT, function);
  if (strncmp(name, "RPCROUTE_", 9) == 0) {
    const int log = open(real("SHIM_LOG"), O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (write(log, name, strlen(name)) < 0 || write(log, "\n", 1) < 0) _exit(99);
    close(log);
  }
  return real(name);
}
char *getenv(const char *name) { return note(name, "getenv"); }
char *secure_getenv(const char *name) { return note(name, "secure_getenv"); }
"""

# What a stranger may put into views, triggers and expressions. {} is the providers argument.
READS = {
    "rpc_probe": "SELECT * FROM rpc_probe",
    "an inline provider": "SELECT * FROM rpc_probe('{}')",
    "a scalar subquery": "SELECT (SELECT count(*) FROM rpc_probe('{}')) AS n",
    "a common table expression": "WITH p AS MATERIALIZED (SELECT * FROM rpc_probe('{}')) SELECT * FROM p",
    "a window over a poll": "SELECT chain_head(block_number) OVER () AS head FROM rpc_probe('{}')",
    "rpc_call": "SELECT * FROM rpc_call('eth_blockNumber', '[]', '{}')",
    "tx_probe": "SELECT * FROM tx_probe('{}')",
    "tx_probe that only signs": "SELECT * FROM tx_probe('{}') WHERE send = 0",
    "tx_send": "SELECT * FROM tx_send('[{{\"provider_id\":\"a\",\"raw\":\"0x00\"}}]', '{}')",
    "tx_wait": "SELECT * FROM tx_wait('[{{\"provider_id\":\"a\",\"tx_hash\":\"0x00\"}}]', '{}')",
    "scalar asof_join": "SELECT asof_join('rpc_probe', 'provider_id', 'timestamp', 'a', 1e18) AS r",
    "scalar asof_join, quoted": "SELECT asof_join('main.\"rpc_probe\"', 'provider_id', 'timestamp', 'a', 1e18) AS r",
    "table asof_join": "SELECT * FROM asof_join('rpc_probe', 'rpc_probe', 'provider_id', 'timestamp')",
    "table asof_join, right": "SELECT * FROM asof_join('t', 'rpc_probe', 'provider_id', 'timestamp')",
    "asof_join over a view": "SELECT asof_join('poll', 'provider_id', 'timestamp', 'a', 1e18) AS r",
    "asof_join over two views": "SELECT * FROM asof_join('t', 'poll_of_poll', 'provider_id', 'timestamp')",
    "a model from a poll": "SELECT predict_confirm((SELECT error FROM rpc_probe('{}')), 1, 2) AS s",
    "model_importance of a poll": "SELECT * FROM model_importance((SELECT error FROM rpc_probe('{}')))",
}

# A poll or a script that the user starts may ask where it runs, before it fails.
REGION = frozenset({"RPCROUTE_REGION"})

# Tables that ours read, replaced by views over the network.
DISGUISED = {
    "rpc_models": ["SELECT predict_confirm(1, 2)", "SELECT predict_confirm('m', 1, 2)",
                   "SELECT predict_confirm_named(NULL, '{}')", "SELECT predict_confirm_contributions('m', 1, 2)",
                   "SELECT * FROM model_importance('m')", "SELECT * FROM model_info('m')"],
    "rpc_providers": ["SELECT * FROM rpc_probe", "SELECT * FROM tx_probe WHERE send = 0",
                      "SELECT * FROM tx_wait('[]')"],
    "rpc_settings": ["SELECT * FROM rpc_probe", "SELECT * FROM tx_probe WHERE send = 0", "SELECT * FROM tx_wait('[]')"],
    "rpc_chains": ["SELECT * FROM rpc_probe", "SELECT * FROM tx_probe WHERE send = 0"],
}
COLUMNS = {  # of the disguised tables, taken from any network table
    "rpc_models": "'m' AS model, error AS content, 1 AS active",
    "rpc_providers": "provider_id, chain, error AS url, NULL AS ws_url, NULL AS operator, 1 AS enabled, NULL AS headers",
    "rpc_settings": "provider_id AS key, error AS value",
    "rpc_chains": "chain, 'evm' AS kind, NULL AS chain_id, 0 AS is_mainnet",
}

UPKEEP = "PRAGMA integrity_check; ANALYZE; REINDEX; VACUUM; PRAGMA optimize;"


class Stranger(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.directory = pathlib.Path(directory.name)
        cls.shim = cls.directory / "shim.so"
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-x", "c", "-o", cls.shim, "-", "-ldl"],
                       input=SHIM, text=True, check=True)
        cls.server = CountingServer()
        cls.addClassCleanup(cls.server.close)
        # An apostrophe cannot occur in it, so that it can stand in an SQL string.
        cls.providers = inline(a=cls.server.url + "/${RPCROUTE_KEY}", b=cls.server.url + "/${RPCROUTE_TOKEN}",
                               c={"url": cls.server.url, "headers": '{"X": "${RPCROUTE_TOKEN}"}'})

    def setUp(self):
        self.path = self.directory / (self.id().rsplit(".", 1)[1] + ".db")
        self.log = self.directory / "looked_at"
        self.server.requests.clear()

    def database(self, *statements, schema=()):
        """A new database file with our schema and providers whose URLs ask for secrets. `schema` is (type, name, SQL) of
        objects that CREATE would refuse, written past SQLite's checks as a stranger can."""
        self.path.unlink(missing_ok=True)
        database = connect(self.path)
        script(database, "schema")
        database.executemany("INSERT INTO rpc_providers (provider_id, chain, url, headers) "
                             "SELECT ?, 'devnet', ?, ?", [
                                 ("a", self.server.url + "/${RPCROUTE_KEY}", None),
                                 ("b", self.server.url + "/${RPCROUTE_TOKEN}", None),
                                 ("c", self.server.url, '{"X": "${RPCROUTE_TOKEN}"}')])
        database.executescript("""
            CREATE TABLE t (x, provider_id, timestamp);
            INSERT INTO t VALUES (1, 'a', 1.0), (2, 'b', 2.0);
            CREATE VIEW poll AS SELECT *, 1 AS rowid FROM rpc_probe;
            CREATE VIEW poll_of_poll AS SELECT * FROM poll;""")
        for statement in statements:
            database.execute(statement)
        if schema:
            database.execute("PRAGMA writable_schema = ON")
            database.executemany("INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql) VALUES (?, ?, ?, ?, ?)",
                                 [(kind, name, on, 0 if kind in ("view", "trigger") else None, sql)
                                  for kind, name, on, sql in schema])
        database.close()

    def shell(self, sql, trusted="ON"):
        """What the stock shell prints for the statements, one after the other whatever fails."""
        self.log.unlink(missing_ok=True)
        run = subprocess.run(
            ["sqlite3", "-cmd", f".load {EXTENSION}", "-cmd", f"PRAGMA trusted_schema = {trusted};", self.path],
            input=sql, capture_output=True, text=True, timeout=60,
            env={**os.environ, **SECRETS, "LD_PRELOAD": str(self.shim), "SHIM_LOG": str(self.log)})
        self.assertGreaterEqual(run.returncode, 0, run.stderr)
        return run.stdout + run.stderr

    def looked_at(self):
        return set(self.log.read_text().split()) if self.log.exists() else set()

    def assert_harmless(self, sql, trusted, allowed):
        output = self.shell(sql, trusted)
        self.assertEqual(self.server.requests, [], output)
        self.assertLessEqual(self.looked_at(), allowed, output)
        for value in SECRETS.values():
            self.assertNotIn(value, output)
        return output

    def harmless_with_trust_and_without(self, sql, complaint=None, allowed=frozenset()):
        for trusted in ("ON", "OFF"):
            with self.subTest(sql, trusted_schema=trusted):
                output = self.assert_harmless(sql, trusted, allowed)
                if complaint:
                    self.assertRegex(output, complaint)

    def test_what_the_user_asks_for_is_done_and_noticed(self):
        """Without this the other tests would pass if nothing worked. Even so the signer's key is not filled in."""
        self.database()
        output = self.shell("SELECT provider_id, ok, error_class FROM rpc_probe;")
        self.assertIn("a|0|config\nb|1|\nc|1|", output)
        self.assertEqual(sorted(path for path, *_ in self.server.requests), ["/", "/" + SECRETS["RPCROUTE_TOKEN"]])
        self.assertIn("RPCROUTE_TOKEN", self.looked_at())
        self.assertNotIn("RPCROUTE_KEY", self.looked_at())

    def test_views(self):
        for name, read in READS.items():
            with self.subTest(name):
                self.database(f"CREATE VIEW v AS {read.format(self.providers)}")
                self.harmless_with_trust_and_without(
                    "SELECT * FROM v; SELECT count(*) FROM v, v AS w; CREATE TEMP TABLE c AS SELECT * FROM v;" + UPKEEP,
                    "(?i)error")

    def test_a_temp_view_over_a_strangers_view(self):
        self.database("CREATE VIEW v AS SELECT * FROM rpc_probe")
        self.harmless_with_trust_and_without("CREATE TEMP VIEW mine AS SELECT * FROM v; SELECT * FROM mine;", "unsafe use")

    def test_triggers(self):
        for name, read in READS.items():
            with self.subTest(name):
                count = f"SELECT count(*) FROM ({read.format(self.providers)})"
                self.database(
                    f"CREATE TRIGGER inserted AFTER INSERT ON t BEGIN {count}; END",
                    f"CREATE TRIGGER updated BEFORE UPDATE ON t WHEN ({count}) > 0 BEGIN SELECT 1; END",
                    f"CREATE TRIGGER deleted AFTER DELETE ON t BEGIN INSERT INTO t (x) {count}; END",
                    "CREATE VIEW door AS SELECT 1 AS x",
                    f"CREATE TRIGGER entered INSTEAD OF INSERT ON door BEGIN UPDATE t SET x = ({count}); END")
                self.harmless_with_trust_and_without(
                    "INSERT INTO t VALUES (3, 'c', 3.0); UPDATE t SET x = 1; DELETE FROM t WHERE x = 1;"
                    "INSERT INTO door VALUES (1); REPLACE INTO t (rowid, x) VALUES (1, 1);" + UPKEEP, "(?i)error")

    def test_a_trigger_on_the_tables_that_our_scripts_write(self):
        self.database("CREATE TRIGGER written AFTER INSERT ON rpc_metrics BEGIN SELECT * FROM rpc_probe; END",
                      "UPDATE rpc_providers SET url = 'file:///'")
        self.shell("INSERT INTO rpc_metrics (timestamp, provider_id, ok) VALUES (1, 'a', 0);")
        self.assertEqual(self.server.requests, [])

    def test_check_constraints_and_defaults(self):
        for call in ("asof_join('rpc_probe', 'provider_id', 'timestamp', 'a', 1e18)",
                     "asof_join('poll', 'provider_id', 'timestamp', 'a', 1e18)",
                     "predict_confirm('m', 1, 2)", "rpcroute_debug()"):
            with self.subTest(call):
                self.database("DROP TABLE rpc_models", "CREATE VIEW rpc_models AS SELECT 'm' AS model, error AS content, "
                              "1 AS active FROM rpc_probe",
                              f"CREATE TABLE k (x, CHECK ({call} IS NOT 5))", f"CREATE TABLE d (x DEFAULT ({call}))")
                self.harmless_with_trust_and_without(
                    "INSERT INTO k VALUES (1); INSERT INTO d DEFAULT VALUES; SELECT * FROM k; SELECT * FROM d;" + UPKEEP)

    def test_generated_columns_and_index_expressions_written_past_the_checks(self):
        for call in ("asof_join('rpc_probe', 'provider_id', 'timestamp', x, 1e18)", "predict_confirm('m', x, 2)",
                     "(SELECT count(*) FROM rpc_probe)"):
            for sql in (f"CREATE TABLE g (x, y AS ({call}))", f"CREATE TABLE g (x, y AS ({call}) STORED)"):
                self.database(schema=[("table", "g", "g", sql)])
                self.harmless_with_trust_and_without("SELECT * FROM g; INSERT INTO g VALUES (1);" + UPKEEP)
            for sql in (f"CREATE INDEX i ON t (x) WHERE {call} > 0", f"CREATE INDEX i ON t ({call})"):
                self.database(schema=[("index", "i", "t", sql)])
                self.harmless_with_trust_and_without("SELECT * FROM t WHERE x = 1; INSERT INTO t (x) VALUES (1);" + UPKEEP)

    def test_a_virtual_table_in_the_file_is_refused(self):
        for name in ("prices", "tx", "rpc_probe2"):
            module = "tx_probe" if name == "tx" else "rpc_probe"
            self.database(schema=[("table", name, name, f"CREATE VIRTUAL TABLE {name} USING {module}")])
            self.harmless_with_trust_and_without(
                f"SELECT * FROM {name}; SELECT * FROM {name}('{self.providers}'); SELECT count(*) FROM t, {name};" + UPKEEP,
                "(?i)error")

    def test_tables_that_lie_about_the_schema(self):
        """A table named like one of SQLite's own hides it from statements that name it."""
        self.database("CREATE TABLE pragma_table_list (schema, name, type, ncol, wr, strict)",
                      "INSERT INTO pragma_table_list VALUES ('main', 'rpc_probe', 'table', 24, 0, 0), "
                      "('main', 'poll', 'table', 24, 0, 0)",
                      "CREATE TABLE pragma_database_list (seq, name, file)",
                      "INSERT INTO pragma_database_list VALUES (0, 'main', '')",
                      "CREATE VIEW pragma_table_xinfo AS SELECT provider_id AS name, 1 AS arg, 1 AS schema FROM rpc_probe")
        self.harmless_with_trust_and_without(
            "SELECT asof_join('rpc_probe', 'provider_id', 'timestamp', 'a', 1e18);"
            "SELECT asof_join('poll', 'provider_id', 'timestamp', 'a', 1e18);"
            "SELECT * FROM asof_join('t', 'poll', 'provider_id', 'timestamp');")

    def test_views_in_the_place_of_our_tables(self):
        for table, statements in DISGUISED.items():
            for network in ("rpc_probe", f"rpc_probe('{self.providers}')", "tx_probe", f"tx_probe('{self.providers}')"):
                with self.subTest(table, network=network):
                    self.database(f"DROP TABLE {table}",
                                  f"CREATE VIEW {table} AS SELECT {COLUMNS[table]} FROM {network}")
                    self.harmless_with_trust_and_without(";".join(statements) + ";" + UPKEEP, "(?i)error", REGION)

    def test_scripts_run_on_a_strangers_views_ask_nobody(self):
        for table in ("rpc_providers", "rpc_settings", "rpc_chains"):
            self.database(f"DROP TABLE {table}",
                          f"CREATE VIEW {table} AS SELECT {COLUMNS[table]} FROM rpc_probe('{self.providers}')")
            root = pathlib.Path(__file__).resolve().parents[2]
            for name in ("collect", "align", "train", "evaluate", "route_stored"):
                self.harmless_with_trust_and_without((root / "sql" / f"{name}.sql").read_text(), "(?i)error", REGION)


# What a stranger's file may call to read on behalf of the connection it is attached to. {s} is a table it cannot name.
DEPUTIES = [
    "asof_join('{s}', NULL, 't', NULL, 5)",
    "asof_join('{s}', 'pin', 't', '1111', 9, NULL, '<=')",
    "(SELECT asof_join('{s}', NULL, 't', NULL, x) FROM t)",
    "(SELECT max(c1) FROM asof_join('{s}', '{s}', NULL, 't', NULL, '<=', '[\"pin\"]'))",
    "(SELECT sum(gap) FROM asof_join('inbox.t', '{s}', NULL, 'x=t', 9))",
]
# Of a model they read main.rpc_models, and only where trusted_schema lets them.
MODELS = [
    "predict_confirm('m', 100, 2)", "predict_confirm(100, 2)", "predict_confirm_named('m', '{{\"a\":1,\"b\":2}}')",
    "predict_confirm_named(NULL, '{{\"a\":1,\"b\":2}}')", "predict_confirm_contributions('m', 100, 2)",
    "(SELECT max(gain) FROM model_importance('m'))", "(SELECT max(rounds) FROM model_info('m'))",
]
SECRETS_OF_OTHERS = ["secrets", "main.secrets", "vault.secrets", "temp.mine", "temp.seen"]


class Attached(unittest.TestCase):
    """A stranger's file attached to a database with secrets. Two sessions that differ in the secrets alone must go the
    same way, to the last error message: then the stranger can have learnt nothing, not a bit through an oracle."""

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.path = pathlib.Path(directory.name) / "inbox.db"

    def inbox(self, calls, stored):
        """The stranger's file; `stored` is called with (number, call) for more statements and schema rows."""
        self.path.unlink(missing_ok=True)
        stranger = sqlite3.connect(self.path, isolation_level=None)
        stranger.executescript("CREATE TABLE t (x); INSERT INTO t VALUES (3), (7); CREATE TABLE kept (what);")
        for number, call in enumerate(calls):
            for statement in stored(number, call):
                stranger.execute(statement)
        stranger.close()

    def session(self, secret, calls, visit, trusted, model=None, late=False):
        """All that a session shows: what `visit` returns for each call, and the stranger's file afterwards."""
        content = self.path.read_bytes()
        database = sqlite3.connect(":memory:", isolation_level=None)
        database.execute(f"PRAGMA trusted_schema = {trusted}")
        if not late:
            load(database)
        database.execute("ATTACH ':memory:' AS vault")
        try:
            database.execute("ATTACH ? AS inbox", (str(self.path),))
        except sqlite3.Error as refused:
            return str(refused)
        for table in ("main.secrets", "vault.secrets", "temp.mine"):
            database.execute(f"CREATE TABLE {table} (pin TEXT, t REAL)")
            database.executemany(f"INSERT INTO {table} VALUES (?, ?)", secret)
        database.execute("CREATE TEMP VIEW seen AS SELECT rowid, * FROM main.secrets")
        for schema, row in (("main", model), ("vault", secret[0])):
            if row is not None:
                database.execute(f"CREATE TABLE {schema}.rpc_models (model, content, active)")
                database.execute(f"INSERT INTO {schema}.rpc_models VALUES ('m', ?, 1)", (model_of(row[1]),))
        if late:
            database.execute("SELECT count(*) FROM inbox.t").fetchall()
            load(database)
        shown = [visit(database, number) for number, _ in enumerate(calls)]
        shown.append(shown_by(database, "SELECT * FROM inbox.kept"))
        database.close()
        shown.append(hashlib.sha256(self.path.read_bytes()).hexdigest())
        self.path.write_bytes(content)
        return shown

    def assert_nothing_learnt(self, calls, visit, **others):
        for trusted in ("ON", "OFF"):
            for late in (False, True):
                with self.subTest(trusted_schema=trusted, loaded="late" if late else "first"):
                    one = self.session([("1111", 1.0), ("2222", 6.0)], calls, visit, trusted, late=late, **others)
                    two = self.session([("3333", 6.5), ("1111", 2.0), (None, 4.0)], calls, visit, trusted, late=late,
                                       **others)
                    self.assertEqual(one, two)

    def attempts(self, *statements):
        """A visit that runs the statements and returns what each gives, its error included."""
        def visit(database, number):
            return [shown_by(database, statement.format(number)) for statement in statements]
        return visit

    def calls(self):
        return [call.format(s=source) for call in DEPUTIES for source in SECRETS_OF_OTHERS] + [
            call.format(s="") for call in MODELS]

    def test_the_sessions_differ_when_the_user_himself_asks(self):
        """Without this the other tests would pass if nothing worked."""
        calls = self.calls()[:len(DEPUTIES) * len(SECRETS_OF_OTHERS)]
        self.inbox(calls, lambda number, call: [])
        for number, call in enumerate(calls):
            shown = [self.session(secret, [call], lambda database, _: database.execute("SELECT " + call).fetchall(), "OFF")
                     for secret in ([("1111", 1.0), ("2222", 6.0)], [("3333", 6.5), ("1111", 9.0)])]
            self.assertNotEqual(*shown, call)

    def test_views_and_triggers(self):
        calls = self.calls()
        self.inbox(calls, lambda number, call: [
            f"CREATE VIEW v{number} AS SELECT {call} AS a",
            f"CREATE TABLE d{number} (x)",
            f"CREATE TRIGGER i{number} AFTER INSERT ON d{number} BEGIN INSERT INTO kept SELECT {call}; END",
            f"CREATE TRIGGER u{number} BEFORE UPDATE ON d{number} WHEN {call} > 0 BEGIN INSERT INTO kept VALUES (1); END",
            f"CREATE VIEW door{number} AS SELECT 1 AS x",
            f"CREATE TRIGGER o{number} INSTEAD OF INSERT ON door{number} BEGIN INSERT INTO kept SELECT {call}; END"])
        self.assert_nothing_learnt(calls, self.attempts(
            "SELECT * FROM inbox.v{0}", "INSERT INTO inbox.d{0} VALUES (1)", "UPDATE inbox.d{0} SET x = 2",
            "INSERT INTO inbox.door{0} VALUES (1)", "CREATE TEMP VIEW over{0} AS SELECT * FROM inbox.v{0}",
            "SELECT * FROM over{0}", "SELECT asof_join('inbox.v{0}', NULL, 'a', NULL, 9)"))

    def test_a_models_reader_reads_rpc_models_of_main_and_only_for_the_trusting(self):
        calls = [call.format(s="") for call in MODELS]
        self.inbox(calls, lambda number, call: [f"CREATE VIEW v{number} AS SELECT {call} AS a"])
        visit = self.attempts("SELECT * FROM inbox.v{0}")
        few, many = (self.session([("1111", 1.0)], calls, visit, "OFF", model=("m", rounds)) for rounds in (1.0, 6.0))
        self.assertEqual(few, many)
        few, many = (self.session([("1111", 1.0)], calls, visit, "ON", model=("m", rounds)) for rounds in (1.0, 6.0))
        self.assertNotEqual(few, many)

    def test_checks_defaults_generated_columns_and_indexes(self):
        """Written past SQLite's checks, as a stranger can; one file each, since SQLite may refuse a whole schema."""
        definitions = ["CREATE TABLE g (x, y, CHECK ({} IS NOT 1))", "CREATE TABLE g (x, y DEFAULT ({five}))",
                       "CREATE TABLE g (x, y AS ({}))", "CREATE TABLE g (x, y AS ({}) STORED)",
                       "CREATE INDEX gi ON g ({})", "CREATE INDEX gi ON g (y) WHERE {} IS NOT 1"]

        def written(definition, call):
            return definition.format(call, five=call.replace(", x", ", 5"))

        visit = self.attempts(
            "INSERT INTO inbox.g (x) VALUES (3)", "INSERT INTO inbox.g (x) VALUES (7)", "SELECT * FROM inbox.g",
            "INSERT OR IGNORE INTO inbox.g (x) VALUES (1), (2), (3), (4), (5), (6)", "SELECT x FROM inbox.g WHERE y IS 1",
            "INSERT INTO inbox.kept SELECT x FROM inbox.g", "PRAGMA inbox.integrity_check", "REINDEX", "ANALYZE inbox",
            "VACUUM inbox", "INSERT INTO inbox.g (x) SELECT asof_join('inbox.t', NULL, 'x', NULL, 9)")
        for source in SECRETS_OF_OTHERS:
            for call in ("asof_join('{}', NULL, 't', NULL, x)", "\"ASOF_JOIN\"('{}', 'pin', 't', '1111', x)"):
                for definition in definitions:
                    with self.subTest(written(definition, call.format(source))):
                        self.plant(definition, written(definition, call.format(source)))
                        self.assert_nothing_learnt([call], visit)

    def plant(self, definition, written):
        """The stranger's file with a table g or an index on it that is defined as `written`."""
        self.inbox([written], lambda _, sql: [
            "CREATE TABLE g (x, y)", "INSERT INTO g (x) VALUES (6), (8)", "CREATE INDEX gi ON g (x)",
            "PRAGMA writable_schema = ON",
            "UPDATE sqlite_schema SET sql = '" + sql.replace("'", "''") + f"' WHERE name = '{definition.split()[2]}'"])

    def test_a_model_is_not_read_from_a_definition_of_a_file_that_is_not_trusted(self):
        definitions = ["CREATE TABLE g (x, y, CHECK ({} < 3))", "CREATE TABLE g (x, y DEFAULT ({}))",
                       "CREATE TABLE g (x, y AS ({}))", "CREATE TABLE g (x, y AS ({}) STORED)",
                       "CREATE INDEX gi ON g ({})", "CREATE INDEX gi ON g (y) WHERE {} < 3"]
        visit = self.attempts(
            "INSERT INTO inbox.g (x) VALUES (3)", "SELECT * FROM inbox.g", "SELECT x FROM inbox.g WHERE y < 3",
            "INSERT INTO inbox.kept SELECT x FROM inbox.g", "PRAGMA inbox.integrity_check", "REINDEX", "VACUUM inbox",
            "INSERT INTO inbox.g (x) SELECT predict_confirm('m', 100, 2)",
            "INSERT INTO inbox.g (x) SELECT predict_confirm_named(NULL, '{{\"a\":1,\"b\":2}}')")
        for call in (call.format() for call in MODELS if not call.startswith("(SELECT")):
            for definition in definitions:
                for late in (False, True):
                    with self.subTest(definition.format(call), loaded="late" if late else "first"):
                        self.plant(definition, definition.format(call))
                        few, many = (self.session([("1111", 1.0)], [call], visit, "OFF", model=("m", rounds), late=late)
                                     for rounds in (1.0, 6.0))
                        self.assertEqual(few, many)


def shown_by(database, statement):
    try:
        return database.execute(statement).fetchall()
    except sqlite3.Error as error:
        return str(error)


def model_of(rounds):
    """A model in XGBoost's JSON: as many trees of one leaf as `rounds` says."""
    leaf = {"base_weights": [0.0], "categories": [], "categories_nodes": [], "categories_segments": [],
            "categories_sizes": [], "default_left": [0], "id": 0, "left_children": [-1], "loss_changes": [0.0],
            "parents": [2147483647], "right_children": [-1], "split_conditions": [0.5], "split_indices": [0],
            "split_type": [0], "sum_hessian": [1.0],
            "tree_param": {"num_deleted": "0", "num_feature": "2", "num_nodes": "1", "size_leaf_vector": "1"}}
    trees = [{**leaf, "id": i} for i in range(int(rounds))]
    return json.dumps({"learner": {
        "attributes": {}, "feature_names": ["a", "b"], "feature_types": ["float", "float"],
        "gradient_booster": {"model": {
            "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
            "iteration_indptr": list(range(len(trees) + 1)), "tree_info": [0] * len(trees), "trees": trees},
            "name": "gbtree"},
        "learner_model_param": {"base_score": "1E0", "boost_from_average": "1", "num_class": "0", "num_feature": "2",
                                "num_target": "1"},
        "objective": {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}}},
        "version": [2, 1, 4]})


class Nested(unittest.TestCase):
    """SQL that rpcroute itself starts never reaches the network, not even through what the user made."""

    def test_a_temp_view_over_a_poll_is_no_source(self):
        with CountingServer() as server:
            for database in (connect(), load(connect(entry=OFFLINE))):
                database.execute(f"CREATE TEMP VIEW rpc_models AS SELECT 'm' AS model, error AS content, 1 AS active "
                                 f"FROM rpc_probe('{inline(a=server.url)}')")
                for sql in ("SELECT predict_confirm(1, 2)", "SELECT predict_confirm('m', 1, 2)",
                            "SELECT * FROM model_importance('m')",
                            "SELECT asof_join('rpc_models', 'model', 'active', 'm', 2)"):
                    with self.assertRaises(sqlite3.Error):
                        database.execute(sql).fetchall()
            self.assertEqual(server.requests, [])


if __name__ == "__main__":
    unittest.main()
