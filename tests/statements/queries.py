"""Random queries over a table of polls, with what SQL says each must give.

A query names the table {a}, {b} or {p}, after the alias that follows. An expectation says, for each alias, which of two
ordinary tables stands for it: {asked}, all methods that the fleet answers, where the query names methods by = or IN; and
{default}, the height method alone, where it says nothing of methods. Where it compares methods otherwise (LIKE, <>, an
expression) either is right, as long as it is one of them. `{only p}` marks the branches of an OR that name no method:
where others do ("branches"), they mean the default one.
"""

import dataclasses
import random
import re

PROVIDERS = ("one", "two", "Three", "5")
METHODS = ("eth_blockNumber", "eth_chainId", "eth_gasPrice")
STABLE = ("provider_id", "method", "sample", "ok", "block_number")

# What a term says of the method: nothing; compares it; restricts it.
FREE, COMPARED, NAMED = "free", "compared", "named"

TABLES = """
CREATE TABLE w (id TEXT, n INTEGER);
INSERT INTO w VALUES ('one', 1), ('two', 2), ('TWO', 3), ('one', 4), (NULL, 5), ('nobody', 6), ('5', 16), (x'6f6e65', 8);
CREATE TABLE wn (id TEXT COLLATE NOCASE, n REAL);
INSERT INTO wn VALUES ('ONE', 1), ('three', 2.0), ('Two ', 3), (NULL, 4);
CREATE TABLE wr (id TEXT COLLATE RTRIM, n);
INSERT INTO wr VALUES ('one  ', '1'), ('Three ', 2), ('two', NULL);
CREATE TABLE wu (id, n BLOB);
INSERT INTO wu VALUES ('one', 17), (x'6f6e65', 18), (5, 19), (5.0, 20), (NULL, NULL), ('Three', 'x');
CREATE TABLE ms (m TEXT, n INTEGER);
INSERT INTO ms VALUES ('eth_chainId', 1), ('eth_blockNumber', 2), (NULL, 3), ('eth_chainId', 4);
CREATE TABLE mk (m TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;
INSERT INTO mk VALUES ('eth_gasPrice', 1), ('eth_chainId', 2);
CREATE TABLE km (provider_id TEXT, method TEXT, note TEXT);
INSERT INTO km VALUES ('one', 'eth_chainId', 'a'), ('two', 'eth_blockNumber', 'b'), ('Three', 'eth_gasPrice', 'c'),
  (NULL, 'eth_chainId', 'd'), ('one', NULL, 'e'), ('one', 'eth_blockNumber', 'f');
CREATE TABLE kp (provider_id TEXT, note TEXT);
INSERT INTO kp VALUES ('one', 'a'), ('5', 'b'), ('one', 'c'), (NULL, 'd'), ('nobody', 'e');
CREATE INDEX wi ON w (id);
ANALYZE;
"""


@dataclasses.dataclass
class Term:
    text: str
    kind: str = FREE
    branches: bool = False  # it has an OR of which some branches name a method: `{only p}` marks the others


@dataclasses.dataclass
class Query:
    sql: str
    expected: list  # of {alias: table}; each is right

    def over(self, tables):
        """The query over these tables, {alias: table}."""
        sql = self.sql
        for alias, table in tables.items():
            only = f" AND {alias}.method = 'eth_blockNumber'" if table == "branches" else ""
            table = "{asked}" if table == "branches" else table
            sql = sql.replace("{%s}" % alias, table).replace("{only %s}" % alias, only)
        return sql


class Generator:
    def __init__(self, seed, version):
        self.random = random.Random(seed)
        self.version = version

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, share):
        return self.random.random() < share

    # Terms on one alias. `columns` maps what else is in scope: {'id': [...], 'm': [...], 'n': [...]}, names of columns.

    def text_of_provider(self):
        return self.pick("'one'", "'two'", "'Three'", "'5'", "'ONE'", "'three'", "'two '", "'nobody'", "NULL", "x'6f6e65'",
                         "5", "5.0", "''", "'one' || ''")

    def method(self):
        return self.pick(*(f"'{method}'" for method in METHODS), "'eth_chainId'", "NULL", "'eth_' || 'chainId'")

    def provider_term(self, p, columns):
        column = f"{p}.provider_id"
        others = columns.get("id", [])
        if others and self.chance(0.5):
            other = self.pick(*others)
            return Term(self.pick(f"{column} = {other}", f"{other} = {column}", f"{column} IS {other}",
                                  f"{column} = {other} COLLATE NOCASE", f"{column} COLLATE RTRIM = {other}",
                                  f"{column} IN ({other}, 'two')", f"{column} > {other}", f"{column} <> {other}",
                                  f"{column} = lower({other})"))
        value, second = self.text_of_provider(), self.text_of_provider()
        return Term(self.pick(
            f"{column} = {value}", f"{column} = {value}", f"{value} = {column}", f"{column} IS {value}",
            f"{column} = {value} COLLATE NOCASE", f"{column} COLLATE NOCASE = {value}", f"{column} COLLATE RTRIM = {value}",
            f"{column} IN ({value}, {second})", f"{column} COLLATE NOCASE IN ({value}, {second})",
            f"{column} NOT IN ({value}, 'two')", f"{column} IN (SELECT id FROM {self.pick('w', 'wn', 'wr', 'wu')})",
            f"{column} IN (SELECT provider_id FROM kp)", f"{column} IS NULL", f"{column} IS NOT NULL", f"{column} ISNULL",
            f"{column} <> {value}", f"{column} IS NOT {value}", f"{column} BETWEEN {value} AND {second}",
            f"{column} > {value}", f"{column} <= {value}", f"{column} LIKE 'T%'", f"{column} GLOB '[a-z]*'",
            f"NOT {column} = {value}", f"+{column} = {value}", f"length({column}) = 3", f"{column} = '5' + 0",
            f"({column}, {p}.sample) = ({value}, 1)", f"({column}, {p}.ok) IN (VALUES ({value}, 1), ('two', 0))",
            f"({column}, {p}.sample) IN (SELECT id, 1 FROM w)", f"({column}, {p}.sample) > ({value}, 1)"))

    def method_term(self, p, columns):
        column = f"{p}.method"
        others = columns.get("m", [])
        if others and self.chance(0.6):
            other = self.pick(*others)
            return Term(self.pick(f"{column} = {other}", f"{other} = {column}", f"{column} IN ({other}, 'eth_gasPrice')"),
                        NAMED)
        value, second = self.method(), self.method()
        if self.chance(0.7):
            return Term(self.pick(
                f"{column} = {value}", f"{value} = {column}", f"{column} IN ({value}, {second})",
                f"{column} IN ({value}, {second}, 'eth_gasPrice')", f"{column} IN (SELECT m FROM ms)",
                f"{column} IN (SELECT m FROM mk WHERE n > 0)", f"({p}.provider_id, {column}) = ('one', {value})",
                f"({column}, {p}.sample) = ({value}, 1)", f"({column}, {p}.provider_id) IN (VALUES ({value}, 'one'))",
                f"({p}.provider_id, {column}) IN (SELECT provider_id, method FROM km)",
                f"{column} = 'ETH_CHAINID' COLLATE NOCASE", f"{column} = {value} COLLATE RTRIM"), NAMED)
        if self.chance(0.3):  # SQLite shows a table no row values of several rows before 3.46
            return Term(f"({p}.provider_id, {column}) IN (VALUES ('one', {value}), ('two', {second}))",
                        NAMED if self.version >= (3, 46) else COMPARED)
        return Term(self.pick(
            f"{column} <> {value}", f"{column} NOT IN ({value}, 'eth_chainId')", f"{column} LIKE 'eth%d'",
            f"{column} GLOB '*Number'", f"{column} IS NULL", f"{column} IS NOT NULL", f"{column} > {value}",
            f"{column} BETWEEN 'eth_a' AND 'eth_d'", f"{column} || '' = {value}", f"+{column} = {value}",
            f"NOT ({column} = {value})", f"substr({column}, 5) = 'chainId'", f"({column}, {p}.sample) < ({value}, 1)",
            f"({column} = {value} OR length({p}.provider_id) = 3)", f"coalesce({column}, 'x') = {value}"), COMPARED)

    def other_term(self, p, columns):
        others = columns.get("n", [])
        if others and self.chance(0.4):
            other = self.pick(*others)
            return Term(self.pick(f"{p}.block_number = {other}", f"{p}.block_number > {other}", f"{p}.sample = {other}",
                                  f"{other} > 1", f"{other} IS NOT NULL", f"{p}.ok = ({other} > 2)"))
        return Term(self.pick(
            f"{p}.ok", f"NOT {p}.ok", f"{p}.ok = 1", f"{p}.sample = 1", f"{p}.sample IN (1, 2)", f"{p}.sample > 1",
            f"{p}.block_number IS NULL", f"{p}.block_number = 16", f"{p}.block_number = '16'", f"{p}.block_number > 16.5",
            f"{p}.block_number BETWEEN 10 AND 17", f"{p}.error_class IS NULL", f"{p}.error_class = 'rpc'",
            f"{p}.chain IS NULL", f"{p}.error IS NOT NULL", f"{p}.ok IS {p}.sample", f"{p}.http_status = 200",
            f"{p}.block_number IN (SELECT n FROM w)", f"{p}.latency_ms < 0"))

    def simple(self, p, columns, method_share=0.4):
        if self.chance(method_share):
            return self.method_term(p, columns)
        return self.provider_term(p, columns) if self.chance(0.6) else self.other_term(p, columns)

    def alternative(self, p, columns, method_share):
        """An OR."""
        terms = [self.simple(p, columns, method_share) for _ in range(self.pick(2, 2, 3))]
        kinds = {term.kind for term in terms}
        if kinds == {FREE}:
            return Term("(" + " OR ".join(term.text for term in terms) + ")")
        text = " OR ".join(term.text if term.kind == NAMED else f"{term.text}{{only {p}}}" for term in terms)
        shown = COMPARED not in kinds and all(self.is_shown(term, p) for term in terms)
        return Term(f"({text})", NAMED if shown else COMPARED, branches=True)

    @staticmethod
    def is_shown(term, p):
        """Whether SQLite shows the table such a branch of an OR, whatever it joins first and whatever else it could use: it
        shows comparisons of a bare column, no row values, and takes that plan where all are keys compared with
        constants."""
        return (re.fullmatch(rf"{p}\.(provider_id|method) (=|IN) .*|.* = {p}\.(provider_id|method)", term.text)
                and " OR " not in term.text and "SELECT" not in term.text
                and not re.search(rf"\b(?!{p}\.)[a-z]\w*\.[a-z]", term.text))

    def conjunction(self, p, columns, method_share=0.4, most=3):
        """Terms joined by AND, as one; at most one of them an OR."""
        terms = [self.simple(p, columns, method_share) for _ in range(self.random.randint(1, most))]
        either = Term("1")
        if self.chance(0.2):
            either = self.alternative(p, columns, method_share)
            terms[self.random.randrange(len(terms))] = either
        text = " AND ".join(term.text for term in terms)
        kinds = {term.kind for term in terms if term is not either}
        if NAMED in kinds or not either.branches:
            kinds.add(either.kind)
            kind = NAMED if NAMED in kinds else COMPARED if COMPARED in kinds else FREE
            return Term(text.replace("{only %s}" % p, ""), kind)
        # Sub-selects beside an OR are not shown with its branches, so that other plans may be better.
        certain = either.kind == NAMED and COMPARED not in kinds and "SELECT" not in text.replace(either.text, "")
        return Term(text, NAMED if certain else COMPARED, branches=True)

    @staticmethod
    def expectations(**aliases):
        """Every combination of what may stand for each alias; `aliases` maps it to a Term or its kind."""
        combinations = [{}]
        for alias, term in aliases.items():
            term = term if isinstance(term, Term) else Term("", term)
            choices = {FREE: ["{default}"], NAMED: ["{asked}"], COMPARED: ["{default}", "{asked}"]}[term.kind]
            if term.branches:
                choices = ["branches"] + (choices if term.kind == COMPARED else [])
            combinations = [{**one, alias: table} for one in combinations for table in choices]
        return combinations

    # Queries.

    def columns(self, *aliases):
        names = [f"{alias}.{column}" for alias in aliases for column in self.random.sample(STABLE, self.pick(2, 3, 5))]
        return ", ".join(names)

    def other(self):
        """An ordinary table to join: its name with alias, and its columns by what they hold."""
        name = self.pick("w", "w", "wn", "wr", "wu", "ms", "ms", "mk", "km")
        scope = {"w": {"id": ["o.id"], "n": ["o.n"]}, "km": {"id": ["o.provider_id"], "m": ["o.method"]},
                 "ms": {"m": ["o.m"], "n": ["o.n"]}}
        scope["wn"] = scope["wr"] = scope["wu"] = scope["w"]
        scope["mk"] = scope["ms"]
        return f"{name} o", scope[name], {"km": "o.note"}.get(name, "o.n")

    def query(self):
        shapes = [self.single, self.single, self.inner, self.inner, self.left, self.left, self.preserved, self.natural,
                  self.selves, self.correlated, self.correlated, self.exists, self.within, self.common, self.compound,
                  self.aggregate, self.limited, self.derived, self.recursive, self.three]
        if self.version >= (3, 39):
            shapes += [self.right, self.full]
        return self.pick(*shapes)()

    def single(self):
        where = self.conjunction("p", {})
        return Query(f"SELECT {self.columns('p')} FROM {{p}} p WHERE {where.text}", self.expectations(p=where))

    def inner(self):
        other, scope, shown = self.other()
        condition = self.conjunction("p", scope)
        join = self.pick(f"{other} JOIN {{p}} p ON {condition.text}", f"{{p}} p JOIN {other} ON {condition.text}",
                         f"{other}, {{p}} p WHERE {condition.text}", f"{{p}} p, {other} WHERE {condition.text}",
                         f"{other} CROSS JOIN {{p}} p WHERE {condition.text}",
                         f"{{p}} p CROSS JOIN {other} WHERE {condition.text}",
                         f"{other} INNER JOIN {{p}} p WHERE {condition.text}")
        return Query(f"SELECT {shown}, {self.columns('p')} FROM {join}", self.expectations(p=condition))

    def three(self):
        condition = self.conjunction("p", {"id": ["w.id", "o.provider_id"], "m": ["o.method"], "n": ["w.n"]})
        order = self.pick("w, km o, {p} p", "{p} p, w, km o", "km o CROSS JOIN {p} p CROSS JOIN w",
                          "w LEFT JOIN km o ON o.provider_id = w.id JOIN {p} p")
        return Query(f"SELECT w.n, o.note, {self.columns('p')} FROM {order} WHERE {condition.text}",
                     self.expectations(p=condition))

    def left(self):
        other, scope, shown = self.other()
        condition = self.conjunction("p", scope)
        where = self.pick("", "", f" WHERE {shown} IS NOT NULL", " WHERE p.provider_id IS NULL", " WHERE p.ok",
                          " WHERE p.provider_id = 'one'", " WHERE p.block_number > 16", " WHERE p.ok IS NOT 1")
        return Query(f"SELECT {shown}, {self.columns('p')} FROM {other} LEFT JOIN {{p}} p ON {condition.text}{where}",
                     self.expectations(p=condition))

    def preserved(self):
        """The table on the left side: the condition of the join does not restrict it, WHERE does."""
        other, scope, shown = self.other()
        on = self.conjunction("p", scope)
        where = self.conjunction("p", {}, method_share=0.3)
        return Query(f"SELECT {shown}, {self.columns('p')} FROM {{p}} p LEFT JOIN {other} "
                     f"ON {on.text.replace('{only p}', '')} WHERE {where.text}", self.expectations(p=where))

    def right(self):
        other, scope, shown = self.other()
        condition = self.plain(scope)
        if self.chance(0.5):
            return self.hidden(other, shown, condition, f"{{p}} p RIGHT JOIN {other}")
        return self.united(other, shown, condition, f"{other} RIGHT JOIN {{p}} p")

    def full(self):
        other, scope, shown = self.other()
        condition = self.plain(scope)
        if self.chance(0.5):
            return self.hidden(other, shown, condition, f"{{p}} p FULL JOIN {other}")
        return self.united(other, shown, condition, f"{other} FULL JOIN {{p}} p")

    def plain(self, scope):
        while (condition := self.conjunction("p", scope)).branches:
            pass
        return condition

    def hidden(self, other, shown, condition, join):
        """SQLite does not show the table what restricts it here."""
        kind = FREE if condition.kind == FREE else COMPARED
        return Query(f"SELECT {shown}, {self.columns('p')} FROM {join} ON {condition.text}", self.expectations(p=kind))

    def united(self, other, shown, condition, join):
        """All rows of the table are wanted, also those that do not meet the condition: the default method's. What the
        condition names is asked beside, since the table cannot see that this is no inner join."""
        united = ("(SELECT p.* FROM {asked} p WHERE p.method = 'eth_blockNumber' OR "
                  f"EXISTS (SELECT 1 FROM {other} WHERE {condition.text}))")
        return Query(f"SELECT {shown}, {self.columns('p')} FROM {join} ON {condition.text}",
                     self.expectations(p=FREE) + ([] if condition.kind == FREE else [{"p": united}]))

    def natural(self):
        where = self.pick("", " WHERE p.ok", " WHERE p.provider_id <> 'two'")
        return self.pick(
            Query(f"SELECT o.note, {self.columns('p')} FROM kp o NATURAL JOIN {{p}} p{where}", self.expectations(p=FREE)),
            Query(f"SELECT o.note, {self.columns('p')} FROM {{p}} p NATURAL JOIN kp o{where}", self.expectations(p=FREE)),
            Query(f"SELECT o.note, {self.columns('p')} FROM kp o NATURAL LEFT JOIN {{p}} p{where}",
                  self.expectations(p=FREE)),
            Query(f"SELECT o.note, {self.columns('p')} FROM km o NATURAL JOIN {{p}} p{where}", self.expectations(p=NAMED)),
            Query(f"SELECT o.note, {self.columns('p')} FROM km o NATURAL LEFT JOIN {{p}} p{where}",
                  self.expectations(p=NAMED)),
            Query(f"SELECT o.note, {self.columns('p')} FROM km o JOIN {{p}} p USING (method){where}",
                  self.expectations(p=NAMED)),
            Query(f"SELECT o.note, {self.columns('p')} FROM {{p}} p JOIN km o USING (provider_id, method){where}",
                  self.expectations(p=NAMED)),
            Query(f"SELECT o.note, {self.columns('p')} FROM {{p}} p LEFT JOIN km o USING (provider_id, method){where}",
                  self.expectations(p=FREE)))

    def selves(self):
        a = self.conjunction("a", {}, method_share=0.3, most=2)
        b = self.conjunction("b", {"id": ["a.provider_id"], "n": ["a.block_number"]}, method_share=0.3, most=2)
        plain = self.pick(
            ("{a} a JOIN {b} b ON b.provider_id = a.provider_id WHERE " + a.text, a, FREE),
            ("{a} a JOIN {b} b ON " + b.text + " WHERE " + a.text, a, b),
            ("{a} a LEFT JOIN {b} b ON " + b.text + " WHERE " + a.text, a, b),
            ("{a} a LEFT JOIN {b} b ON b.block_number = a.block_number + 1 WHERE b.provider_id IS NULL", FREE, FREE),
            ("{a} a, {b} b WHERE a.provider_id < b.provider_id AND " + a.text, a, FREE),
            ("{a} a JOIN {b} b USING (provider_id, sample) WHERE " + a.text, a, FREE),
            ("{a} a JOIN {b} b ON b.provider_id = a.provider_id AND b.method = a.method WHERE a.method = 'eth_chainId'",
             NAMED, NAMED),
            ("{a} a JOIN {b} b ON b.method = a.method AND b.sample = a.sample", FREE, FREE))
        return Query(f"SELECT {self.columns('a', 'b')} FROM {plain[0]}", self.expectations(a=plain[1], b=plain[2]))

    def correlated(self):
        other, scope, shown = self.other()
        condition = self.conjunction("p", scope)
        inner = self.pick("count(*)", "sum(p.ok)", "max(p.block_number)", "min(p.provider_id)", "count(DISTINCT p.method)")
        if self.chance(0.3):
            return Query(f"SELECT {shown}, (SELECT p.provider_id || p.method FROM {{p}} p WHERE {condition.text} "
                         f"ORDER BY p.provider_id, p.method, p.sample LIMIT 1) FROM {other}", self.expectations(p=condition))
        return Query(f"SELECT {shown}, (SELECT {inner} FROM {{p}} p WHERE {condition.text}) FROM {other}",
                     self.expectations(p=condition))

    def exists(self):
        other, scope, shown = self.other()
        condition = self.conjunction("p", scope)
        return Query(f"SELECT {shown} FROM {other} WHERE {self.pick('', 'NOT ')}EXISTS "
                     f"(SELECT 1 FROM {{p}} p WHERE {condition.text})", self.expectations(p=condition))

    def within(self):
        condition = self.conjunction("p", {})
        return Query(f"SELECT o.n FROM {self.pick('w', 'wn', 'wu')} o WHERE o.id {self.pick('', 'NOT ')}IN "
                     f"(SELECT p.provider_id FROM {{p}} p WHERE {condition.text})", self.expectations(p=condition))

    def common(self):
        condition = self.plain({})  # each use may have a plan of its own
        hint = self.pick("", "MATERIALIZED ", "NOT MATERIALIZED ") if self.version >= (3, 35) else ""
        outer = self.pick("x.provider_id = y.provider_id", "x.block_number < y.block_number", "x.sample = y.sample",
                          "x.provider_id = 'one' OR y.provider_id = 'two'")
        join = self.pick("JOIN", "LEFT JOIN")
        return Query(f"WITH q AS {hint}(SELECT {', '.join(f'p.{c}' for c in STABLE)} FROM {{p}} p WHERE {condition.text}) "
                     f"SELECT x.provider_id, x.method, y.provider_id, y.method FROM q x {join} q y ON {outer}",
                     self.expectations(p=condition))

    def compound(self):
        a, b = self.conjunction("a", {}, most=2), self.conjunction("b", {}, most=2)
        return Query(f"SELECT a.provider_id, a.method FROM {{a}} a WHERE {a.text} "
                     f"{self.pick('UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT')} "
                     f"SELECT b.provider_id, b.method FROM {{b}} b WHERE {b.text}", self.expectations(a=a, b=b))

    def aggregate(self):
        condition = self.conjunction("p", {})
        key = self.pick("p.provider_id", "p.method", "p.ok", "p.provider_id, p.method")
        return Query(self.pick(
            f"SELECT {key}, count(*), max(p.block_number), sum(p.ok) FROM {{p}} p WHERE {condition.text} GROUP BY {key}",
            f"SELECT {key}, count(*) FROM {{p}} p WHERE {condition.text} GROUP BY {key} HAVING count(*) > 1",
            f"SELECT DISTINCT {key} FROM {{p}} p WHERE {condition.text}",
            f"SELECT min(p.provider_id) FROM {{p}} p WHERE {condition.text}",
            f"SELECT {key}, count(*) OVER (PARTITION BY p.provider_id) FROM {{p}} p WHERE {condition.text}",
            f"SELECT count(*) FILTER (WHERE p.ok), total(p.block_number) FROM {{p}} p WHERE {condition.text}"),
            self.expectations(p=condition))

    def limited(self):
        condition = self.conjunction("p", {})
        offset = self.pick("", " OFFSET 1", " OFFSET 2")
        return Query(f"SELECT p.provider_id, p.method, p.sample, p.ok FROM {{p}} p WHERE {condition.text} ORDER BY "
                     f"{self.pick('1, 2, 3', '2 DESC, 1, 3', '4, 1, 2, 3')} LIMIT {self.pick(1, 2, 3)}{offset}",
                     self.expectations(p=condition))

    def derived(self):
        condition = self.conjunction("p", {})
        outer = self.provider_term("q", {})
        return Query(f"SELECT q.provider_id, q.method FROM (SELECT {self.pick('', 'DISTINCT ')}"
                     f"{', '.join(f'p.{c}' for c in STABLE)} FROM {{p}} p WHERE {condition.text}) q WHERE {outer.text}",
                     self.expectations(p=condition))

    def recursive(self):
        condition = self.conjunction("p", {}, most=2)
        return Query(f"WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + (SELECT count(*) + 1 FROM {{p}} p WHERE "
                     f"{condition.text}) FROM c WHERE n < 8) SELECT n FROM c", self.expectations(p=condition))
