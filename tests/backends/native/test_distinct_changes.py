"""A change that is said to have each different row once has it so: nobody adds its rows up again."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import either

import penstock

PROGRAM = """
CREATE TABLE t (k INT, x DOUBLE, d DECIMAL(9,4), s STRING, at TIMESTAMP);
CREATE TABLE u (k INT, y DOUBLE);
CREATE TABLE more (k INT, y DOUBLE) WITH ('append_only' = 'true');
CREATE VIEW summed AS SELECT k, sum(x) AS x, avg(d) AS d, count(*) AS n FROM t GROUP BY k;
CREATE VIEW rounded AS SELECT k, avg(x) AS x, CAST(sum(d) AS DECIMAL(5,0)) AS d FROM t GROUP BY k;
CREATE VIEW without_key AS SELECT sum(x) AS x FROM t GROUP BY k;
CREATE VIEW groups AS SELECT x, s FROM t GROUP BY x, s;
CREATE VIEW whole AS SELECT max(x) AS m, sum(d) AS d FROM t;
CREATE VIEW extremes AS SELECT k, min(x) AS a, max(s) AS b, collect_list(x) AS l FROM t GROUP BY k;
CREATE VIEW different AS SELECT DISTINCT x, s FROM t;
CREATE VIEW left_out AS SELECT y FROM u EXCEPT SELECT x FROM t;
CREATE VIEW joined AS SELECT t.x, t.s, u.y FROM t JOIN u ON t.k = u.k;
CREATE VIEW narrow AS SELECT u.y FROM t JOIN u ON t.k = u.k;
CREATE VIEW added AS SELECT a.y, b.y AS z FROM more a JOIN more b ON a.k = b.k;
CREATE VIEW outer AS SELECT t.x, u.y FROM t FULL JOIN u ON t.k = u.k;
CREATE VIEW best AS SELECT s, x FROM t QUALIFY row_number() OVER (PARTITION BY s ORDER BY x DESC) <= 2;
CREATE VIEW first AS SELECT k, y FROM more QUALIFY row_number() OVER (PARTITION BY k ORDER BY y) <= 2;
CREATE VIEW running AS SELECT k, x, sum(x) OVER (PARTITION BY k ORDER BY s, x, d, at) AS r FROM t;
CREATE VIEW top AS SELECT x, s FROM t ORDER BY x, s LIMIT 2;
CREATE VIEW both AS SELECT x FROM t UNION ALL SELECT y FROM u;
CREATE VIEW renamed AS SELECT n AS m, x AS y, d AS e, k AS j FROM summed;
CREATE VIEW forgetful AS SELECT n AS m FROM summed;
CREATE VIEW sessions AS SELECT k, x, window_start
FROM SESSION(TABLE t PARTITION BY k, DESCRIPTOR(at), INTERVAL '5' MINUTES);
"""

NUMBERS = st.sampled_from([None, 0.0, -0.0, 1.5, 1.5, -2.25, math.nan, math.inf])
KEYS = st.sampled_from([None, 0, 1, 2])
TIMES = st.integers(0, 12).map(lambda minutes: f"2024-01-01 00:{minutes:02}:00")
DECIMALS = st.sampled_from([None, "0.0000", "0.0001", "0.5000", "3.0000"])
T = st.lists(st.tuples(KEYS, NUMBERS, DECIMALS, st.sampled_from([None, "", "a", "é"]), TIMES), max_size=5)
U = st.lists(st.tuples(KEYS, NUMBERS), max_size=4)
STEPS = st.lists(st.tuples(T, U, U, st.integers(0, 3)), min_size=1, max_size=4)


@penstock.LaterSession
def no_spark():
    pytest.fail("all of this is proven")


def one_form(value):
    """A value as equal ones have it: one zero, one NaN."""
    return value + 0.0 if isinstance(value, float) and not math.isnan(value) else value


def entries(change):
    return [(weight, repr(tuple(map(one_form, row)))) for weight, row in change.in_order]


def opened():
    return penstock.Pipeline(PROGRAM, engine="native", spark=no_spark)


@pytest.mark.both
@settings(max_examples=either(6, 60), deadline=None)
@given(steps=STEPS)
def test_oracle_each_different_row_is_one_entry(steps):
    there = {"t": [], "u": []}
    with opened() as pipeline:
        for *sides, more, going in steps:
            step = {"more": more}
            for name, rows in zip(there, sides, strict=True):
                gone, there[name] = there[name][:going], there[name][going:] + rows
                step[name] = [("+", row) for row in rows] + [("-", row) for row in gone]
            for name, change in pipeline.step(step).items():
                if change.delta is not None and change.delta.is_once:
                    found = entries(change)
                    assert len({row for _, row in found}) == len(found), name
                    assert all(weight for weight, _ in found), name


def test_what_may_have_a_row_twice_does_not_say_so():
    row = (1, 1.5, "0.5", "a", "2024-01-01 00:00:00")
    with opened() as pipeline:
        changes = pipeline.step({"t": [row, (2, *row[1:]), row], "u": [(1, 2.5)] * 2, "more": [(1, 2.5)] * 2})
        found = {name for name, change in changes.items() if change.delta is not None and change.delta.is_once}
    assert found == {"summed", "groups", "whole", "different", "left_out", "renamed", "top"}
