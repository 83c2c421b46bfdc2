"""Nested columns in the process beside Spark: the same changes after the same steps, and what a batch answers.

Rows are of few values, so that whole rows tie, equal ones come and go, and NULLs, empty ones, NaN and zeros of both
signs are in every place.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal

import pytest

import penstock

TABLES = """
CREATE TABLE n (
  k INT, a ARRAY<DOUBLE>, e ARRAY<STRUCT<x: INT, `y "z`: STRING>>, p STRUCT<at: TIMESTAMP, m: DECIMAL(8,2), f: FLOAT>,
  g ARRAY<ARRAY<INT>>, h STRUCT<z: ARRAY<TIMESTAMP>>
);
CREATE TABLE u (k INT, y INT);
CREATE TABLE l (k INT, a ARRAY<DOUBLE>, g ARRAY<ARRAY<INT>>) WITH ('append_only' = 'true');
"""
NESTED = {
    "kept": "SELECT k, a, e, p, g, h FROM n WHERE k > 1",
    "read": "SELECT k, p.m AS m, p.AT AS at, get(g, 1) AS ga, h.z AS h, size(g) AS ks FROM n",
    "made": "SELECT named_struct('k', k, 'p', p) AS s, array(g, g) AS gs, named_struct('h', h) AS es FROM n",
    "joined": "SELECT n.k, n.a, n.g, u.y FROM n JOIN u ON n.k = u.k",
    "outer_joined": "SELECT u.y, n.e, n.p, n.g, n.h FROM u LEFT JOIN n ON n.k = u.k",
    "ends": (
        "SELECT k, first(a) AS a, last(g) AS g, any_value(p) AS p, max_by(e, k) AS e, first(g) IGNORE NULLS AS h "
        "FROM n GROUP BY k"
    ),
    "lists": "SELECT k, collect_list(e) AS es, collect_list(p) AS ps, collect_list(h) AS hs FROM n GROUP BY k",
    "best": "SELECT k, a, g, p FROM n QUALIFY row_number() OVER (PARTITION BY k ORDER BY p.m DESC) <= 2",
    "by_arrays": "SELECT k, a, e FROM n QUALIFY row_number() OVER (PARTITION BY k ORDER BY a DESC, e NULLS LAST) <= 2",
    "by_structs": "SELECT k, p, a FROM n QUALIFY rank() OVER (PARTITION BY k ORDER BY p DESC NULLS FIRST) = 1",
    "top": "SELECT k, a, e, p, h FROM n ORDER BY k DESC LIMIT 3",
    "windows": (
        "SELECT k, e, lag(g) OVER (PARTITION BY k ORDER BY p) AS l, "
        "first_value(a) OVER (PARTITION BY k ORDER BY e DESC) AS f, count(*) OVER (PARTITION BY k) AS c FROM n"
    ),
    "exploded": "SELECT k, q, v FROM n LATERAL VIEW posexplode(a) AS q, v",
    "exploded_outer": "SELECT k, q, v FROM n LATERAL VIEW OUTER posexplode(g) AS q, v",
    "exploded_fields": "SELECT k, x, count(*) AS c FROM n LATERAL VIEW inline(e) AS x, y GROUP BY k, x",
    "exploded_chosen": "SELECT k, v FROM n LATERAL VIEW explode(filter(a, i -> i > 0)) AS v",
    "best_of_log": "SELECT k, a, g FROM l QUALIFY row_number() OVER (PARTITION BY k ORDER BY a DESC) <= 2",
    "last_of_log": "SELECT k, g, row_number() OVER (PARTITION BY k ORDER BY k) AS r FROM l QUALIFY r <= 3",
    "ends_of_log": "SELECT k, first(g) AS g, max_by(a, k) AS a FROM l GROUP BY k",
    "united": "SELECT k, a, g FROM n WHERE k > 1 UNION ALL SELECT k, a, g FROM n",
}
AT = datetime(2024, 1, 1, 0, 30, tzinfo=UTC)
VALUES = (
    [None, 1, 2],
    [None, [], [None], [1.5, None], [1.5, -0.0], [math.nan], [0.0], [-math.inf, 2.0]],
    [None, [], [None], [{"x": 1, 'y "z': "a"}], [{"x": 1, 'y "z': None}, None], [{"x": None, 'y "z': "é"}]],
    [
        None,
        {"at": None, "m": None, "f": None},
        {"at": AT, "m": Decimal("1.25"), "f": 0.5},
        {"at": AT, "m": None, "f": math.nan},
        {"at": None, "m": Decimal("-3.50"), "f": -0.0},
    ],
    [None, [], [[1]], [[1, None], None], [[], [2]], [None, [None]]],
    [None, {"z": [AT, None]}, {"z": None}, {"z": []}],
)


def plain(value):
    """A value that equals no other, but for zeros of both signs, which are one."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    if isinstance(value, list | tuple):
        return tuple(map(plain, value))
    return plain(list(value.items())) if isinstance(value, dict) else value


def steps_of(seed, count=4):
    """Changes of both tables: some rows come, now and then twice, and some of those that are there go."""
    chance, there = random.Random(seed), []
    for _ in range(count):
        chance.shuffle(there)
        gone, there = there[: len(there) // 3], there[len(there) // 3 :]
        new = [tuple(map(chance.choice, VALUES)) for _ in range(12)]
        new += new[:2]
        there += new
        others = [(chance.choice([None, 1, 2, 3]), chance.randint(0, 3)) for _ in range(2)]
        logged = [(row[0], row[1], row[4]) for row in new]
        yield {"n": [*new, *(("-", row) for row in gone)], "u": others, "l": logged}


def program(views):
    return TABLES + "".join(f"CREATE VIEW {name} AS {query};\n" for name, query in views.items())


def changes(pipeline, seed):
    found = []
    for step in steps_of(seed):
        change = pipeline.step(step)
        found.append({name: Counter(map(plain, item.rows)) for name, item in change.items() if name in NESTED})
    return found


SOME = dict(list(NESTED.items())[1::3])


@pytest.mark.parametrize(
    ("seed", "views"),
    [(1, SOME), *(pytest.param(seed, NESTED, marks=pytest.mark.extended) for seed in (1, 2))],
    ids=["1-some", "1-all", "2-all"],
)
def test_oracle_nested_columns_change_as_on_spark(interpreting, seed, views):
    opened = [penstock.Pipeline(program(views), spark=interpreting, engine=engine) for engine in ("spark", "native")]
    with opened[0] as there, opened[1] as here:
        for wanted, found in zip(changes(there, seed), changes(here, seed), strict=True):
            assert wanted.keys() == found.keys() == views.keys()
            for name in views:
                assert found[name] == wanted[name], name
        assert all(here.verify(name) for name in views)


@penstock.LaterSession
def no_spark():
    pytest.fail("Spark was asked for")


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.extended)])
def test_contents_after_retractions_are_those_of_the_query(interpreting, seed):
    """What the changes add up to is what the query answers at once; of rows that go Spark says which there are."""
    with penstock.Pipeline(program(NESTED), spark=interpreting, engine="native") as pipeline:
        shown = {name: Counter() for name in NESTED}
        for step in steps_of(seed):
            for name, change in pipeline.step(step).items():
                if name in shown:
                    for weight, row in change.rows:
                        shown[name][plain(row)] += weight
            pipeline.compact()
        for name, query in NESTED.items():
            wanted = Counter(map(plain, pipeline.query(query).rows))
            assert {row: weight for row, weight in shown[name].items() if weight} == dict(wanted), name


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a, count(*) AS c FROM n GROUP BY a",
        "SELECT DISTINCT p FROM n",
        "SELECT x.k FROM n x JOIN n y ON x.a = y.a",
        "SELECT k, min(a) AS a FROM n GROUP BY k",
        "SELECT k FROM n WHERE p < named_struct('at', now(), 'm', 1.25BD, 'f', CAST(1 AS FLOAT))",
        "SELECT k, count(DISTINCT e) AS c FROM n GROUP BY k",
        "SELECT k, collect_set(a) AS s FROM n GROUP BY k",
        "SELECT a FROM n INTERSECT SELECT a FROM n",
        "SELECT sum(k) OVER (PARTITION BY p ORDER BY k) AS s FROM n",
    ],
)
def test_what_compares_nested_values_is_sparks(query):
    with penstock.Pipeline(f"{TABLES} CREATE VIEW v AS {query};", spark=no_spark) as pipeline:
        assert "on Spark, for" in pipeline.explain("v", ["circuit"])
