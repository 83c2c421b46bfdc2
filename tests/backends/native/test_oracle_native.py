"""Oracle: after every step each operator in the process equals its plan over the whole tables, evaluated there at once.

The plan that is evaluated is the view's own, with no rewriting and no circuit. That DuckDB says what Spark says is
shown elsewhere (test_differential_*); here no JVM is needed, so there can be many steps. Changes are random, with
retractions, NULLs, NaN, zeros of both signs, duplicates and empty steps; merged after each step, and not.
"""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.backends.native.dialect import NativeDialect
from penstock.backends.native.kinds import from_arrow
from penstock.backends.native.operators import grouped, touched
from penstock.backends.native.operators.make import native_operator
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Rows, spelled
from penstock.backends.native.typing import completed
from penstock.backends.render import Renderer
from penstock.backends.thresholds import LARGE_STATE_ROWS
from penstock.bind.program.compile import compile_program
from penstock.circuit.build import build_circuit
from penstock.circuit.narrowing import narrowed
from penstock.circuit.operators import Source
from penstock.circuit.reading import of_view
from penstock.rewrite import rewrite_views

TABLES = """
CREATE TABLE t (k INT, x BIGINT, d DOUBLE, s STRING, m DECIMAL(8,2), at TIMESTAMP);
CREATE TABLE u (k INT, y INT, s STRING);
CREATE TABLE log (k INT, x BIGINT, s STRING) WITH ('append_only' = 'true');
CREATE TABLE n (
  k INT, a ARRAY<DOUBLE>, e ARRAY<STRUCT<x: INT, `y "z`: STRING>>, p STRUCT<at: TIMESTAMP, m: DECIMAL(8,2)>,
  g ARRAY<ARRAY<INT>>
);
"""
VIEWS = {
    "linear": "SELECT k, x + 1 AS y, s FROM t WHERE x > 3",
    "constant": "SELECT * FROM VALUES (1, 'a'), (2, 'b') AS v(a, b)",
    "union_all": "SELECT k, s FROM t WHERE x > 3 UNION ALL SELECT k, s FROM u",
    "counts": (
        "SELECT k, count(*) AS n, count(x) AS nx, count_if(x > 3) AS c, count(*) FILTER (WHERE s = 'ab') AS f "
        "FROM t GROUP BY k"
    ),
    "sums": "SELECT k, s, sum(x) AS sx, avg(x) AS ax, sum(k) AS sk, sum(m) AS sm FROM t GROUP BY k, s",
    "by_double": "SELECT d, count(*) AS n FROM t GROUP BY d",
    "whole": "SELECT count(*) AS n, sum(x) AS sx, avg(k) AS ak FROM t",
    "running": "SELECT k, min(x) AS lo, max(s) AS hi, count(*) AS n FROM log GROUP BY k",
    "extremes": "SELECT k, min(x) AS lo, max(d) AS hi, min(s) AS s, max(at) AS at FROM t GROUP BY k",
    "extremes_of_all": "SELECT min(x) AS lo, max(d) AS hi FROM t",
    "doubles": "SELECT k, sum(d) AS sd, avg(d) AS ad, stddev(x) AS dev FROM t GROUP BY k",
    "distinct_counts": "SELECT k, count(DISTINCT s) AS n, sum(DISTINCT x) AS sx FROM t GROUP BY k",
    "having": "SELECT k, count(*) AS n FROM t GROUP BY k HAVING count(*) > 1",
    "joined": "SELECT t.k, t.x, u.y FROM t JOIN u ON t.k = u.k AND t.x > u.y",
    "crossed": "SELECT t.x, u.y FROM t, u WHERE t.x < u.y",
    "self_joined": "SELECT a.k, a.x, b.x AS y FROM t a JOIN t b ON a.k = b.k WHERE a.x < b.x",
    "joined_groups": (
        "SELECT a.k, a.n, b.sy FROM (SELECT k, count(*) AS n FROM t GROUP BY k) a JOIN (SELECT k, sum(y) AS "
        "sy FROM u GROUP BY k) b ON a.k = b.k"
    ),
    "left_joined": "SELECT t.k, t.x, u.y FROM t LEFT JOIN u ON t.k = u.k AND t.x > u.y",
    "right_joined": "SELECT t.x, u.k, u.y FROM t RIGHT JOIN u ON t.k = u.k",
    "full_joined": "SELECT t.k, t.x, u.y FROM t FULL JOIN u ON t.k = u.k",
    "among": "SELECT k, x FROM t WHERE k IN (SELECT k FROM u)",
    "not_among": "SELECT k, x FROM t WHERE k NOT IN (SELECT k FROM u)",
    "exists": "SELECT k, x FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.y < t.x)",
    "not_exists": "SELECT k, x FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.y < t.x)",
    "scalar_subquery": "SELECT k, x, (SELECT max(y) FROM u WHERE u.k = t.k) AS y FROM t",
    "above": "SELECT k, x FROM t WHERE x > (SELECT min(x) FROM t)",
    "different": "SELECT DISTINCT k, s FROM t",
    "different_doubles": "SELECT DISTINCT d FROM t",
    "both": "SELECT k, s FROM t INTERSECT SELECT k, s FROM u",
    "both_all": "SELECT k, s FROM t INTERSECT ALL SELECT k, s FROM u",
    "only": "SELECT k, s FROM t EXCEPT SELECT k, s FROM u",
    "only_all": "SELECT k, s FROM t EXCEPT ALL SELECT k, s FROM u",
    "best": (
        "SELECT k, x, s FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY x DESC NULLS LAST) AS r "
        "FROM t) WHERE r <= 2"
    ),
    "numbered_best": (
        "SELECT * FROM (SELECT k, x, row_number() OVER (PARTITION BY k ORDER BY x) AS r FROM t) WHERE r <= 2"
    ),
    "ranked_best": "SELECT * FROM (SELECT k, x, rank() OVER (PARTITION BY k ORDER BY x) AS r FROM t) WHERE r = 1",
    "best_of_log": (
        "SELECT k, x, s FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY x DESC) AS r FROM log) WHERE r <= 2"
    ),
    "numbered_best_of_log": (
        "SELECT * FROM (SELECT k, x, row_number() OVER (PARTITION BY k ORDER BY x) AS r FROM log) WHERE r <= 2"
    ),
    "last_of_log": (
        "SELECT k, x, s FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY x DESC) AS r FROM log) WHERE r = 1"
    ),
    "numbered_last_of_log": (
        "SELECT * FROM (SELECT k, x, s, row_number() OVER (PARTITION BY k ORDER BY x DESC, s DESC) AS r FROM log) "
        "WHERE r <= 3"
    ),
    "best_texts_of_log": (
        "SELECT k, x, s FROM (SELECT *, row_number() OVER (PARTITION BY s ORDER BY s DESC NULLS FIRST, k) AS r "
        "FROM log) WHERE r <= 2"
    ),
    "last_of_all": "SELECT k, x FROM log ORDER BY x DESC, k LIMIT 2",
    "top": "SELECT k, x, s FROM t ORDER BY x DESC, s LIMIT 3",
    "top_behind": "SELECT k, x FROM t ORDER BY x LIMIT 2 OFFSET 1",
    "top_of_log": "SELECT k, x FROM log ORDER BY x LIMIT 2",
    "windows": (
        "SELECT k, x, row_number() OVER (PARTITION BY k ORDER BY x) AS r, sum(x) OVER (PARTITION BY k) AS sx, "
        "lag(x) OVER (PARTITION BY k ORDER BY x) AS l FROM t"
    ),
    "double_windows": "SELECT k, x, sum(d) OVER (PARTITION BY k ORDER BY x) AS sd FROM t",
    "windows_of_all": "SELECT k, x, rank() OVER (ORDER BY x) AS r FROM t",
    "windows_by_sums": (
        "SELECT k, x, sum(x) OVER (PARTITION BY k % 2 ORDER BY x + 1, s) AS sx, "
        "rank() OVER (PARTITION BY k % 2, s ORDER BY x * 2 DESC) AS r FROM t"
    ),
    "top_by_sums": "SELECT k, x, s FROM t QUALIFY dense_rank() OVER (PARTITION BY k % 2 ORDER BY x + 1 DESC) <= 2",
    "top_of_all_by_sums": "SELECT k, x, s FROM t ORDER BY x + 1 DESC, k - 1 LIMIT 3",
    "sessions_by_sums": (
        "SELECT k % 2 AS k, session_window.start AS b, count(*) AS n FROM t "
        "GROUP BY k % 2, session_window(at, '10 minutes')"
    ),
    "value_of_one_row": (
        "SELECT k, x, (SELECT q.n FROM (SELECT k, count(*) AS n FROM u GROUP BY k) q WHERE q.k = 1) AS n FROM t"
    ),
    "tumbled": "SELECT window.start AS b, count(*) AS n FROM t GROUP BY window(at, '1 hour')",
    "hopped": (
        "SELECT window_start, k, sum(x) AS sx FROM TABLE(HOP(TABLE t, DESCRIPTOR(at), INTERVAL 10 MINUTES, "
        "INTERVAL 30 MINUTES)) GROUP BY window_start, k"
    ),
    "sessions": (
        "SELECT k, session_window.start AS b, session_window.end AS e, count(*) AS n FROM t "
        "GROUP BY k, session_window(at, '10 minutes')"
    ),
    "by_hour": "SELECT date_trunc('HOUR', at) AS h, max(at) AS m, count(*) AS n FROM t GROUP BY date_trunc('HOUR', at)",
    "lists": (
        "SELECT k, collect_list(d) AS ds, collect_list(s) FILTER (WHERE x > 3) AS ss, collect_set(x) AS xs, "
        "array_agg(DISTINCT s) AS ts, min_by(s, d) AS m FROM t GROUP BY k"
    ),
    "lists_of_all": "SELECT collect_list(m) AS ms, collect_set(s) AS ss FROM t",
    "texts": (
        "SELECT k, listagg(DISTINCT s, ',') AS a, listagg(DISTINCT s) WITHIN GROUP (ORDER BY s DESC) AS b, "
        "listagg(s, '|') WITHIN GROUP (ORDER BY x DESC) AS c FROM t GROUP BY k"
    ),
    "shares": (
        "SELECT k, median(d) AS md, percentile(d, 0.3) AS p, percentile_cont(0.3) WITHIN GROUP (ORDER BY x DESC) AS c, "
        "percentile_disc(0.6) WITHIN GROUP (ORDER BY d) AS e, mode(s) AS s, mode(x) AS x FROM t GROUP BY k"
    ),
    "tried": "SELECT k, try_sum(x) AS t, try_sum(d) AS d, try_sum(m) AS m, try_avg(m) AS a FROM t GROUP BY k",
    "nested": "SELECT k, a, e, p, g, p.m AS pm, get(g, 0) AS ga, size(e) AS n, size(g) AS ks FROM n WHERE k > 1",
    "nested_joined": "SELECT n.k, n.a, n.g, u.y FROM n JOIN u ON n.k = u.k",
    "nested_left_joined": "SELECT u.y, n.e, n.p, n.g FROM u LEFT JOIN n ON n.k = u.k",
    "nested_self_joined": "SELECT x.k, x.g, y.p FROM n x FULL JOIN n y ON x.k = y.k AND size(x.a) < size(y.a)",
    "nested_among": "SELECT k, a, g FROM n WHERE k NOT IN (SELECT k FROM u WHERE k IS NOT NULL)",
    "nested_ends": (
        "SELECT k, first(a) AS a, last(g) AS g, any_value(p) AS p, max_by(e, k) AS e, first(g) IGNORE NULLS AS h "
        "FROM n GROUP BY k"
    ),
    "nested_lists": "SELECT k, collect_list(e) AS es, collect_list(g) AS gs, collect_list(p) AS ps FROM n GROUP BY k",
    "nested_best": "SELECT k, a, g, p FROM n QUALIFY row_number() OVER (PARTITION BY k ORDER BY p.m DESC) <= 2",
    "nested_top": "SELECT k, a, e, g FROM n ORDER BY a DESC LIMIT 3",
    "nested_windows": (
        "SELECT k, e, lag(g) OVER (PARTITION BY k ORDER BY p) AS l, "
        "first_value(a) OVER (PARTITION BY k ORDER BY e) AS f, count(*) OVER (PARTITION BY k) AS c FROM n"
    ),
    "exploded": "SELECT k, v, q FROM n LATERAL VIEW posexplode(a) AS q, v",
    "exploded_outer": "SELECT k, v FROM n LATERAL VIEW OUTER explode(g) AS v",
    "exploded_structs": "SELECT k, i.x AS x, count(*) AS c FROM n LATERAL VIEW explode(e) AS i GROUP BY k, i.x",
    "nested_union": "SELECT k, a, g FROM n WHERE k > 1 UNION ALL SELECT k, a, g FROM n",
    "later": "SELECT k, at + INTERVAL 1 HOUR AS at, year(at) AS y FROM t WHERE at < TIMESTAMP '2024-01-01 00:20:00'",
}
START = datetime(2024, 1, 1, tzinfo=UTC)
TIMES = [None, *(START + timedelta(minutes=minutes) for minutes in (0, 4, 9, 10, 19, 20, 75))]
COLUMNS = {
    "t": (
        st.sampled_from([None, 1, 2, 3]),
        st.sampled_from([None, 1, 5, 9, 2**40, -7]),
        st.sampled_from([None, 1.5, math.nan, math.inf, 2.25, -0.0, 0.0]),
        st.sampled_from([None, "", "ab", "zz"]),
        st.sampled_from([None, "1.25", "-3.50", "999999.99"]),
        st.sampled_from(TIMES),
    ),
    "u": (st.sampled_from([None, 1, 2, 4]), st.sampled_from([None, 0, 4, 7]), st.sampled_from([None, "", "ab"])),
    "n": (
        st.sampled_from([None, 1, 2, 3]),
        st.sampled_from([None, (), (None,), (1.5, None), (1.5, -0.0), (math.nan,), (0.0,), (-0.0,)]),
        st.sampled_from([None, (), (None,), ((1, "a"),), ((1, None), None), ((None, None), (2, "b"))]),
        st.sampled_from([None, (None, None), (START, Decimal("1.25")), (START, None), (None, Decimal("-3.50"))]),
        st.sampled_from([None, (), ((1,),), ((1, None), None), ((), (2,))]),
    ),
    "log": (st.sampled_from([None, 1, 2]), st.sampled_from([None, 1, 5, 9]), st.sampled_from([None, "", "ab"])),
}
SCHEMAS = {
    "t": pa.schema(
        [
            ("k", pa.int32()),
            ("x", pa.int64()),
            ("d", pa.float64()),
            ("s", pa.string()),
            ("m", pa.decimal128(8, 2)),
            ("at", pa.timestamp("us", "UTC")),
        ]
    ),
    "u": pa.schema([("k", pa.int32()), ("y", pa.int32()), ("s", pa.string())]),
    "n": pa.schema(
        [
            ("k", pa.int32()),
            ("a", pa.list_(pa.float64())),
            ("e", pa.list_(pa.struct([("x", pa.int32()), ('y "z', pa.string())]))),
            ("p", pa.struct([("at", pa.timestamp("us", "UTC")), ("m", pa.decimal128(8, 2))])),
            ("g", pa.list_(pa.list_(pa.int32()))),
        ]
    ),
    "log": pa.schema([("k", pa.int32()), ("x", pa.int64()), ("s", pa.string())]),
}
WEIGHTED = ("__weight", pa.int64())


def changes_of(name):
    deletions = st.just([]) if name == "log" else st.lists(st.integers(0, 50), max_size=3)
    return st.tuples(st.lists(st.tuples(*COLUMNS[name]), max_size=4), deletions)


STEPS = st.lists(st.fixed_dictionaries({name: changes_of(name) for name in SCHEMAS}), min_size=2, max_size=5)


def canonical(values):
    return tuple(map(told_apart, values))


def told_apart(value):
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else float(f"{value + 0.0:.9g}")
    if isinstance(value, list | tuple):
        return canonical(value)
    return canonical(value.items()) if isinstance(value, dict) else value


def weighted(name, change):
    rows = [(*row, weight) for row, weight in change.items() if weight]
    schema = SCHEMAS[name].append(pa.field(*WEIGHTED))
    columns = list(zip(*rows, strict=True)) if rows else [[] for _ in schema]
    strings = [pa.string() if pa.types.is_decimal(field.type) else field.type for field in schema]
    arrays = [
        pa.array(column, kind).cast(field.type) for column, kind, field in zip(columns, strings, schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def applied(content: Counter, inserts, deletes) -> Counter:
    """Insert, then delete by position among what is there; the change that results."""
    change = Counter(inserts)
    live = [row for row, weight in sorted(content.items(), key=repr) for _ in range(weight)]
    for position in deletes:
        if live:
            change[live.pop(position % len(live))] -= 1
    content.update(change)
    return change


class Circuits:
    """The circuit of all views at work, and each view's plan beside it."""

    def __init__(self, names):
        program = TABLES + "".join(f"CREATE VIEW {name} AS {VIEWS[name]};\n" for name in names)
        self.catalog = compile_program(program, None).catalog
        rewritten = rewrite_views(self.catalog)
        plans = {name: view.plan for name, view in rewritten.views.items()}
        self.circuit = narrowed(build_circuit(plans, rewritten, bucketed=False))
        self.store = Store()
        self.operators, known = {}, {}
        for operator in self.circuit.operators:
            if not isinstance(operator, Source):
                self.operators[operator.number] = native_operator(self.store, operator, known)
                known[f"#{operator.number}"] = self.operators[operator.number].outputs

    def step(self, inputs, *, first):
        """The change of each view, as rows that end with their weight."""
        self.store.begin(None, None)
        found = {}
        for operator in self.circuit.operators:
            if isinstance(operator, Source):
                table = inputs[operator.relation].select([*operator.node.names, "__weight"])
                found[operator.number] = Rows(self.store.taken(table), table.num_rows) if table.num_rows else None
            else:
                changes = [found[number] for number in operator.inputs]
                found[operator.number] = self.operators[operator.number].step(changes, first=first)
        rows = {name: self._rows(found[number]) for name, number in self.circuit.outputs.items()}
        self.store.commit()
        for operator in self.operators.values():
            operator.commit()
        return rows

    def _rows(self, rows):
        return [] if rows is None else self.store.arrow(f"SELECT * FROM {rows.name}").to_pylist()

    def merge(self):
        for operator in self.operators.values():
            operator.compact()

    def batch(self, name, contents):
        """What the view's own plan answers over the tables' contents."""
        relations = {}
        for table, content in contents.items():
            relation = self.store.taken(from_arrow(weighted(table, content)))
            relations[table] = f"({spelled(SCHEMAS[table].names, relation)})"
        plan = of_view(completed(self.catalog.views[name].plan, {}), self.catalog)
        return self.store.arrow(Renderer(NativeDialect(), relations).sql(plan)).to_pylist()


def check(names, steps, *, merged, large=False):
    """With `large` the operators look for keys as among many rows."""
    least = 0 if large else LARGE_STATE_ROWS
    with mock.patch.object(grouped, "LARGE_STATE_ROWS", least), mock.patch.object(touched, "LARGE_STATE_ROWS", least):
        _check(names, steps, merged=merged)


def _check(names, steps, *, merged):
    circuits = Circuits(names)
    contents = {name: Counter() for name in SCHEMAS}
    shown = {name: Counter() for name in names}
    for place, step in enumerate(steps):
        inputs = {name: weighted(name, applied(contents[name], *step[name])) for name in SCHEMAS}
        for name, rows in circuits.step(inputs, first=place == 0).items():
            for row in rows:
                *values, weight = row.values()
                shown[name][canonical(values)] += weight
        if merged:
            circuits.merge()
        for name in names:
            wanted = Counter(canonical(row.values()) for row in circuits.batch(name, contents))
            assert {row: weight for row, weight in shown[name].items() if weight} == dict(wanted), name


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.extended if place % 2 else ()) for place, name in enumerate(VIEWS)]
)
def test_every_operator_equals_its_plan_at_once(name):
    @settings(max_examples=2, deadline=None)
    @given(steps=STEPS, merged=st.booleans(), large=st.booleans())
    def run(steps, merged, large):
        check([name], steps, merged=merged, large=large)

    run()


@pytest.mark.extended
@pytest.mark.parametrize("name", VIEWS)
def test_the_same_over_many_changes(name):
    @settings(max_examples=40, deadline=None)
    @given(steps=STEPS, merged=st.booleans(), large=st.booleans())
    def run(steps, merged, large):
        check([name], steps, merged=merged, large=large)

    run()


@pytest.mark.parametrize(
    "names", [list(VIEWS)[1::4], pytest.param(list(VIEWS), marks=pytest.mark.extended)], ids=("some", "all")
)
def test_operators_share_what_they_have_in_common(names):
    @settings(max_examples=2, deadline=None)
    @given(steps=STEPS)
    def run(steps):
        check(names, steps, merged=False)

    run()
