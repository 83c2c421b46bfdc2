"""MAP columns in the process beside Spark: the same changes after the same steps, and what a batch answers.

Rows are of few values, so that equal ones come and go, and each MAP of several entries is there in two orders of these,
which differ as rows, and tie where rows are ordered.
"""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
from tests.backends.native.test_nested_at_work import plain

import penstock

TABLES = """
CREATE TABLE n (
  k INT, m MAP<STRING, INT>, d MAP<DOUBLE, ARRAY<DOUBLE>>, s STRUCT<p: MAP<STRING, INT>, q: INT>,
  o MAP<INT, MAP<STRING, INT>>, a ARRAY<MAP<STRING, INT>>
);
CREATE TABLE u (k INT, y INT);
CREATE TABLE l (k INT, m MAP<STRING, INT>) WITH ('append_only' = 'true');
"""
MAPS = {
    "kept": "SELECT k, m, d, s, o, a FROM n WHERE k > 1",
    "read": "SELECT k, m['a'] AS a, element_at(o, 1)['b'] AS b, s.p['a'] AS s, size(m) AS c, map_keys(d) AS ks FROM n",
    "made": "SELECT named_struct('k', k, 'm', m) AS s, array(m, m) AS ms, map_entries(o) AS es FROM n",
    "joined": "SELECT n.k, n.m, n.o, u.y FROM n JOIN u ON n.k = u.k",
    "joined_by_values": "SELECT n.k, n.m, u.y FROM n JOIN u ON n.m['a'] = u.y",
    "outer_joined": "SELECT u.y, n.m, n.s, n.a FROM u LEFT JOIN n ON n.k = u.k",
    "semi_joined": "SELECT m, d FROM n WHERE k IN (SELECT k FROM u)",
    "ends": (
        "SELECT k, first(m) AS m, last(m) AS n, any_value(o) AS o, max_by(s, k) AS s, min_by(a, k) AS a, "
        "first(d) IGNORE NULLS AS d FROM n GROUP BY k"
    ),
    "lists": "SELECT k, collect_list(m) AS ms, collect_list(s) AS ss FROM n GROUP BY k",
    "counts": "SELECT k, count(m) AS c, sum(m['a']) AS t, max(size(o)) AS g FROM n GROUP BY k",
    "best": "SELECT k, m, d, o FROM n QUALIFY row_number() OVER (PARTITION BY k ORDER BY m['a'] DESC) <= 2",
    "numbered": "SELECT m, row_number() OVER (PARTITION BY k ORDER BY s.q) AS r FROM n QUALIFY r <= 3",
    "top": "SELECT k, m, s, a FROM n ORDER BY k DESC LIMIT 3",
    "windows": (
        "SELECT k, m, lag(m) OVER (PARTITION BY k ORDER BY s.q) AS l, "
        "first_value(o) OVER (PARTITION BY k ORDER BY size(m) DESC) AS f, count(*) OVER (PARTITION BY k) AS c FROM n"
    ),
    "exploded": "SELECT k, q, v FROM n LATERAL VIEW explode(m) AS q, v",
    "exploded_outer": "SELECT k, p, q, v FROM n LATERAL VIEW OUTER posexplode(o) AS p, q, v",
    "exploded_array": "SELECT k, e, e['a'] AS v FROM n LATERAL VIEW explode(a) AS e",
    "united": "SELECT k, m, o FROM n WHERE k > 1 UNION ALL SELECT k, m, o FROM n",
    "best_of_log": "SELECT k, m FROM l QUALIFY row_number() OVER (PARTITION BY k ORDER BY m['b'] DESC) <= 2",
    "first_of_log": "SELECT k, m, row_number() OVER (PARTITION BY k ORDER BY k) AS r FROM l QUALIFY r <= 3",
    "ends_of_log": "SELECT k, first(m) AS f, max_by(m, k) AS g FROM l GROUP BY k",
}
AB, BA = {"a": 1, "b": None}, {"b": None, "a": 1}
VALUES = (
    [None, 1, 2],
    [None, {}, AB, BA, {"a": None}, {"a": 2, "b": 1, "é": 3}, {"é": 3, "b": 1, "a": 2}],
    [None, {}, {math.nan: [1.0], 0.0: None}, {0.0: None, math.nan: [1.0]}, {-math.inf: [], 1.5: [None, math.nan]}],
    [None, {"p": AB, "q": 1}, {"p": BA, "q": 1}, {"p": None, "q": None}, {"p": {}, "q": 2}],
    [None, {}, {1: AB, 2: None}, {1: BA, 2: None}, {2: None, 1: AB}, {2: None, 1: BA}, {3: {}}],
    [None, [], [AB, BA], [BA, AB], [None, AB], [{}]],
)


def steps_of(seed, count=4):
    """Changes of the tables: some rows come, now and then twice, and some of those that are there go."""
    chance, there = random.Random(seed), []
    for _ in range(count):
        chance.shuffle(there)
        gone, there = there[: len(there) // 3], there[len(there) // 3 :]
        new = [tuple(map(chance.choice, VALUES)) for _ in range(12)]
        new += new[:2]
        there += new
        others = [(chance.choice([None, 1, 2, 3]), chance.randint(0, 3)) for _ in range(2)]
        yield {"n": [*new, *(("-", row) for row in gone)], "u": others, "l": [row[:2] for row in new]}


def program(views):
    return TABLES + "".join(f"CREATE VIEW {name} AS {query};\n" for name, query in views.items())


def changes(pipeline, seed):
    found = []
    for step in steps_of(seed):
        change = pipeline.step(step)
        found.append({name: Counter(map(plain, item.rows)) for name, item in change.items() if name in MAPS})
    return found


SOME = dict(list(MAPS.items())[1::3])


@pytest.mark.parametrize(
    ("seed", "views"),
    [(1, SOME), *(pytest.param(seed, MAPS, marks=pytest.mark.extended) for seed in (1, 2))],
    ids=["1-some", "1-all", "2-all"],
)
def test_oracle_maps_change_as_on_spark(interpreting, seed, views):
    opened = [penstock.Pipeline(program(views), spark=interpreting, engine=engine) for engine in ("spark", "native")]
    with opened[0] as there, opened[1] as here:
        for wanted, found in zip(changes(there, seed), changes(here, seed), strict=True):
            assert wanted.keys() == found.keys() == views.keys()
            for name in views:
                assert found[name] == wanted[name], name
        assert all(here.verify(name) for name in views)
