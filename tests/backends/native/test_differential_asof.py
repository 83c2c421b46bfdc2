"""Differential: an ASOF join at work in the process is what its query answers over the tables (SEMANTICS A6).

Rows of both sides come and go at few times, so deleted rows are often the closest ones, and times are often equal.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

import penstock

VIEWS = {
    f"{kind}_{word}": f"SELECT l.k, l.t, l.x, r.t AS u, r.y FROM l {'' if kind == 'inner' else 'LEFT'} ASOF JOIN r "
    f"MATCH_CONDITION (l.t {sign} r.t) ON l.k {'=' if kind == 'inner' else '<=>'} r.k"
    for kind in ("inner", "left")
    for word, sign in (("from", ">="), ("after", ">"))
}
TABLES = "CREATE TABLE l (k INT, t DOUBLE, x INT); CREATE TABLE r (k INT, t DOUBLE, y INT);"
PROGRAM = TABLES + "".join(f"CREATE VIEW {name} AS {query};" for name, query in VIEWS.items())
TIMES = [None, 0.0, 1.0, 2.0, 3.0, float("nan")]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.extended)])
def test_an_asof_join_is_what_its_query_answers(seed):
    dice, rows = random.Random(seed), {"l": [], "r": []}
    found = {name: Counter() for name in VIEWS}
    with penstock.Pipeline(PROGRAM, engine="native") as pipeline:
        for number in range(16):
            given = {}
            for table, present in rows.items():
                added = [
                    (dice.choice([None, 1, 2]), dice.choice(TIMES), dice.randint(0, 2))
                    for _ in range(dice.randint(0, 3))
                ]
                gone = dice.sample(present, min(len(present), dice.randint(0, 2)))
                for row in gone:
                    present.remove(row)
                present.extend(added)
                given[table] = [("+", row) for row in added] + [("-", row) for row in gone]
            for name, change in pipeline.step(given).items():
                for weight, row in change.rows if name in found else ():
                    found[name][repr(row)] += weight
            for name, query in VIEWS.items():
                answer = Counter(repr(row) for row in pipeline.query(query).rows)
                assert +found[name] == answer, (number, name)
