"""Queries that a MATERIALIZED view answers against the same queries over the tables."""

from __future__ import annotations

import math
import random
from datetime import datetime, timedelta
from decimal import Decimal

import pytest

import penstock
from penstock.bind.program.compile import compile_program
from penstock.bind.program.queries import bind_query
from penstock.explain import explain_query
from penstock.rewrite.from_views import from_views
from penstock.sql.parse import parse_query

PROGRAM = """
CREATE TABLE o (k INT, at TIMESTAMP, x INT, d DECIMAL(10,2), f DOUBLE);
CREATE TABLE p (k INT PRIMARY KEY, name STRING);
CREATE MATERIALIZED VIEW hourly AS
SELECT k, FLOOR(at TO HOUR) AS hour, COUNT(*) AS n, COUNT(x) AS nx, SUM(x) AS sx, MIN(x) AS lo, MAX(d) AS hi,
       SUM(d) AS sd, COUNT(d) AS nd, COUNT(*) FILTER (WHERE x > 1) AS big, AVG(x) AS mean, STDDEV(x) AS dev
FROM o WHERE x IS NULL OR x >= 0 GROUP BY k, FLOOR(at TO HOUR);
CREATE MATERIALIZED VIEW named AS
SELECT p.name, o.k, COUNT(*) AS n, SUM(o.x) AS s FROM o JOIN p ON o.k = p.k GROUP BY p.name, o.k;
CREATE MATERIALIZED VIEW often AS SELECT k, COUNT(*) AS n FROM o GROUP BY k HAVING COUNT(*) > 1;
CREATE MATERIALIZED VIEW floats AS SELECT k, SUM(f) AS s, COUNT(*) AS n FROM o WHERE f > 0 GROUP BY k;
CREATE VIEW plain AS SELECT k, d, COUNT(*) AS n FROM o GROUP BY k, d;
"""
KEPT = "WHERE (x IS NULL OR x >= 0)"
HOUR = "FLOOR(at TO HOUR)"
ANSWERED = {
    "the same": (f"SELECT {HOUR} AS h, k, AVG(x) AS a, STDDEV(x) AS s FROM o {KEPT} GROUP BY k, {HOUR}", "hourly"),
    "by one key": (f"SELECT k, COUNT(*), COUNT(x), SUM(x), MIN(x), MAX(d), SUM(d) FROM o {KEPT} GROUP BY k", "hourly"),
    "averages": (f"SELECT {HOUR} AS h, AVG(x) AS a, AVG(d) AS b FROM o {KEPT} GROUP BY {HOUR}", "hourly"),
    "all": (f"SELECT COUNT(*), COUNT(x), SUM(x), AVG(d), MIN(x) FROM o {KEPT}", "hourly"),
    "nothing": (f"SELECT COUNT(*), COUNT(x), SUM(x), AVG(d), MIN(x) FROM o {KEPT} AND k = 99", "hourly"),
    "a key of a key": (f"SELECT k % 2 AS odd, COUNT(*) FROM o {KEPT} GROUP BY k % 2", "hourly"),
    "a condition on a key": (f"SELECT SUM(x) FROM o {KEPT} AND (k > 1 OR k IS NULL)", "hourly"),
    "a condition on a window": (
        f"SELECT k, COUNT(*) FROM o {KEPT} AND {HOUR} >= TIMESTAMP '2024-01-01 02:00:00' GROUP BY k",
        "hourly",
    ),
    "FILTER": (f"SELECT k, COUNT(*) FILTER (WHERE x > 1) FROM o {KEPT} GROUP BY k", "hourly"),
    "HAVING": (f"SELECT k FROM o {KEPT} GROUP BY k HAVING SUM(x) > 2 AND COUNT(*) > 1", "hourly"),
    "the first": (f"SELECT k, SUM(x) AS s FROM o {KEPT} GROUP BY k ORDER BY s DESC NULLS LAST, k LIMIT 2", "hourly"),
    "another name": ("SELECT t.k, SUM(t.x) FROM o AS t WHERE t.x IS NULL OR t.x >= 0 GROUP BY t.k", "hourly"),
    "within": (
        f"SELECT o.k, o.x, m.s FROM o JOIN (SELECT k, SUM(x) AS s FROM o {KEPT} GROUP BY k) m ON m.k = o.k",
        "hourly",
    ),
    "a join": ("SELECT p.name, COUNT(*), SUM(o.x) FROM p JOIN o ON p.k = o.k GROUP BY p.name", "named"),
    "a join in WHERE": ("SELECT b.name, SUM(a.x) FROM o a, p b WHERE b.k = a.k AND a.k < 3 GROUP BY b.name", "named"),
    "sums of DOUBLE as they are": ("SELECT k, SUM(f) FROM o WHERE f > 0 GROUP BY k", "floats"),
    "counts of others": ("SELECT COUNT(*) FROM o WHERE f > 0", "floats"),
}
NOT_ANSWERED = {
    "finer": f"SELECT k, x, COUNT(*) FROM o {KEPT} GROUP BY k, x",
    "a condition on another column": f"SELECT k, COUNT(*) FROM o {KEPT} AND d > 1 GROUP BY k",
    "a condition within a window": (
        f"SELECT k, COUNT(*) FROM o {KEPT} AND at > TIMESTAMP '2024-01-01 02:30:00' GROUP BY k"
    ),
    "DISTINCT": f"SELECT k, COUNT(DISTINCT x) FROM o {KEPT} GROUP BY k",
    "rows that the view leaves out": "SELECT k, SUM(x) FROM o GROUP BY k",
    "an aggregate that it lacks": f"SELECT k, MAX(x) FROM o {KEPT} GROUP BY k",
    "what cannot be added up": f"SELECT k, STDDEV(x) FROM o {KEPT} GROUP BY k",
    "an average as it is": f"SELECT k, AVG(f) FROM o {KEPT} GROUP BY k",
    "sums of DOUBLE": "SELECT SUM(f) FROM o WHERE f > 0",
    "groups that the view drops": "SELECT k, COUNT(*) AS n FROM o GROUP BY k",
    "an outer join": "SELECT p.name, COUNT(*) FROM p LEFT JOIN o ON p.k = o.k GROUP BY p.name",
    "more of a join": "SELECT p.name, COUNT(*) FROM p JOIN o ON p.k = o.k AND o.x = p.k GROUP BY p.name",
    "a view that is not kept": "SELECT k, d, COUNT(*) AS n FROM o GROUP BY k, d",
    "another each time": f"SELECT COUNT(*) FROM o {KEPT} AND k + rand() > 1",
    "once for all": f"SELECT COUNT(*) FROM o {KEPT} AND rand() > 0.5",
}


def answered_from(text, program=PROGRAM):
    catalog = compile_program(program).catalog
    return from_views(bind_query(parse_query(text), catalog, text), catalog).views


@pytest.mark.parametrize("name", ANSWERED)
def test_a_view_that_has_the_answer_is_found(name):
    text, view = ANSWERED[name]
    assert answered_from(text) == (view,)


@pytest.mark.parametrize("name", NOT_ANSWERED)
def test_a_view_that_lacks_something_is_not(name):
    assert answered_from(NOT_ANSWERED[name]) == ()


def test_texts_that_are_equal_and_differ_are_not_told_from_each_other():
    program = """
    CREATE TABLE t (s STRING COLLATE UTF8_LCASE, x INT);
    CREATE MATERIALIZED VIEW v AS SELECT s, COUNT(*) AS n FROM t GROUP BY s;
    """
    assert answered_from("SELECT COUNT(*) FROM t WHERE length(s) > 1", program) == ()
    assert answered_from("SELECT COUNT(*) FROM t", program) == ("v",)


def test_explain_names_the_view():
    catalog = compile_program(PROGRAM).catalog
    said = explain_query(bind_query(parse_query(ANSWERED["by one key"][0]), catalog), catalog)
    assert "answered:   from MATERIALIZED view hourly" in said
    assert "answered" not in explain_query(bind_query(parse_query(NOT_ANSWERED["finer"]), catalog), catalog)


def rounded(rows):
    return sorted((tuple(_rounded(value) for value in row) for row in rows), key=repr)


def _rounded(value):
    if isinstance(value, float):
        return value if math.isnan(value) else float(f"{value:.9g}")
    return value


def changes(chosen, held):
    """Random rows of `o`, some of which go again."""
    rows = [("-", held.pop(chosen.randrange(len(held)))) for _ in range(min(len(held), chosen.randrange(3)))]
    for _ in range(chosen.randrange(5)):
        at = datetime(2024, 1, 1) + timedelta(minutes=chosen.randrange(240))  # noqa: DTZ001 - UTC, as all clocks
        k, x = chosen.choice([None, 1, 2, 3]), chosen.choice([None, -1, 0, 1, 2, 7])
        d = chosen.choice([None, Decimal("0.01"), Decimal("2.50"), Decimal("-3.33")])
        held.append((k, chosen.choice([None, at]), x, d, chosen.choice([None, 0.5, 3.0])))
        rows.append(("+", held[-1]))
    return rows


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.extended)])
def test_oracle_the_answer_is_the_one_without_the_view(seed):
    chosen, held = random.Random(seed), []
    with penstock.Pipeline(PROGRAM, engine="native") as pipeline:
        for number in range(8):
            people = [("+", (key, chosen.choice(["a", "b", None]))) for key in chosen.sample(range(1, 4), 1)]
            pipeline.step({"o": changes(chosen, held), "p": people if number % 3 == 0 else []})
            if number % 4 != 3 and number > 0:
                continue
            answers = {}
            for setting in ("on", "off"):
                pipeline.execute(f"SET answer_from_views = '{setting}'")
                answers[setting] = {name: rounded(pipeline.query(text).rows) for name, (text, _) in ANSWERED.items()}
            assert answers["on"] == answers["off"]


def test_what_a_stream_does_not_keep_is_answered_from_a_view_of_it():
    program = """
    CREATE STREAM s (k INT, x INT) WITH ('history' = 'none');
    CREATE MATERIALIZED VIEW v AS SELECT k, COUNT(*) AS n, SUM(x) AS total FROM s GROUP BY k;
    """
    with penstock.Pipeline(program, engine="native") as pipeline:
        pipeline.step({"s": [(1, 2), (1, 3), (2, None)]})
        assert pipeline.query("SELECT COUNT(*), SUM(x) FROM s WHERE k = 1").rows == [(2, 5)]
        with pytest.raises(penstock.SqlError, match="it keeps no history"):
            pipeline.query("SELECT COUNT(*) FROM s WHERE x = 1")
        with pytest.raises(penstock.SqlError, match="it keeps no history"):
            pipeline.query("SELECT k, COUNT(*) FROM s GROUP BY k AS OF STEP 1")
