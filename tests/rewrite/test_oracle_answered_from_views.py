"""Queries that a MATERIALIZED view answers against the same queries over the tables."""

from __future__ import annotations

import math
import random
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache

import pytest

import penstock
from penstock.bind.program.compile import compile_program
from penstock.bind.program.queries import bind_query
from penstock.explain import explain_query
from penstock.pipeline.relations import explained_query
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


@cache
def catalog_of(program):
    return compile_program(program).catalog


def answered_from(text, program=PROGRAM):
    catalog = catalog_of(program)
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


TIMES = """
CREATE TABLE o (k INT, at TIMESTAMP, t TIMESTAMP NOT NULL, b TIMESTAMP_NTZ, d DATE, x INT);
CREATE MATERIALIZED VIEW hours AS SELECT k, FLOOR(at TO HOUR) AS h, COUNT(*) AS n, SUM(x) AS s FROM o
    GROUP BY k, FLOOR(at TO HOUR);
CREATE MATERIALIZED VIEW windows AS SELECT TUMBLE_START(t, INTERVAL 1 HOUR, TIME '00:20:00') AS w, MAX(x) AS hi FROM o
    GROUP BY TUMBLE(t, INTERVAL 1 HOUR, TIME '00:20:00');
CREATE MATERIALIZED VIEW days AS SELECT CAST(t AS DATE) AS day, MIN(x) AS lo FROM o GROUP BY CAST(t AS DATE);
CREATE MATERIALIZED VIEW weeks AS SELECT FLOOR(d TO WEEK) AS w, COUNT(x) AS n FROM o GROUP BY FLOOR(d TO WEEK);
CREATE MATERIALIZED VIEW months AS SELECT date_trunc('MONTH', b) AS m, COUNT(k) AS n FROM o
    GROUP BY date_trunc('MONTH', b);
CREATE MATERIALIZED VIEW dk AS SELECT DISTINCT k, x FROM o;
"""
COARSER = {
    "FLOOR": ("SELECT FLOOR(at TO {unit}) AS f, SUM(x) FROM o GROUP BY FLOOR(at TO {unit})", "hours"),
    "date_trunc": ("SELECT date_trunc('{unit}', at) AS f, COUNT(*) FROM o GROUP BY date_trunc('{unit}', at)", "hours"),
}
COARSER = {
    f"{name} {unit}": (text.format(unit=unit), view)
    for name, (text, view) in COARSER.items()
    for unit in ("HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
}
COARSER |= {
    f"{part} over {view}": (f"SELECT {part}({time}) AS p, {call} FROM o GROUP BY {part}({time})", view)
    for part in ("year", "quarter", "month", "day", "dayofweek", "weekofyear", "last_day", "date")
    for time, call, view in (("at", "SUM(x)", "hours"), ("t", "MIN(x)", "days"))
}
COARSER |= {
    "the hour of the day": ("SELECT HOUR(at) AS p, SUM(x) FROM o GROUP BY HOUR(at)", "hours"),
    "EXTRACT": ("SELECT EXTRACT(YEAR FROM at) AS p, SUM(x) FROM o GROUP BY EXTRACT(YEAR FROM at)", "hours"),
    "CAST": ("SELECT CAST(at AS DATE) AS p, SUM(x) FROM o GROUP BY CAST(at AS DATE)", "hours"),
    "an expression": (
        "SELECT YEAR(at) * 12 + MONTH(at) AS p, k, COUNT(*) FROM o GROUP BY k, YEAR(at) * 12 + MONTH(at)",
        "hours",
    ),
    "windows of windows": (
        "SELECT MAX(x) FROM o GROUP BY TUMBLE(t, INTERVAL 3 HOUR, TIME '01:20:00')",
        "windows",
    ),
    "windows of hours": (
        "SELECT TUMBLE_END(at, INTERVAL 1 DAY) AS w, SUM(x) FROM o GROUP BY TUMBLE(at, INTERVAL 1 DAY)",
        "hours",
    ),
    "in FROM": ("SELECT window_end, SUM(x) FROM TUMBLE(o, at, INTERVAL 2 HOURS) GROUP BY window_end", "hours"),
    "a boundary": ("SELECT k, SUM(x) FROM o WHERE at >= TIMESTAMP '2024-01-31 10:00:00' GROUP BY k", "hours"),
    "two": ("SELECT SUM(x) FROM o WHERE TIMESTAMP '2024-02-01' > at AND NOT at < DATE '2024-01-31'", "hours"),
    "a boundary of windows": ("SELECT MAX(x) FROM o WHERE t < TIMESTAMP '2024-01-31 10:20:00'", "windows"),
    "no time": ("SELECT COUNT(*) FROM o WHERE at IS NULL OR at >= TIMESTAMP '2024-02-01 00:00:00'", "hours"),
    "weeks": ("SELECT weekofyear(d) AS w, COUNT(x) FROM o GROUP BY weekofyear(d)", "weeks"),
    "years of months": (
        "SELECT YEAR(b) AS y, COUNT(k) FROM o WHERE b >= TIMESTAMP '2024-02-01' GROUP BY YEAR(b)",
        "months",
    ),
    "DISTINCT": ("SELECT DISTINCT x, k FROM o", "dk"),
    "DISTINCT of fewer": ("SELECT DISTINCT k FROM o WHERE k > 1", "hours"),
    "DISTINCT of DISTINCT": ("SELECT DISTINCT x FROM o WHERE x > 1", "dk"),
    "GROUP BY of DISTINCT": ("SELECT x % 2 AS odd FROM o GROUP BY x % 2", "dk"),
    "DISTINCT of days": ("SELECT DISTINCT FLOOR(at TO DAY) AS day FROM o", "hours"),
}
NOT_COARSER = {
    "a finer unit": "SELECT SUM(x) FROM o GROUP BY FLOOR(at TO MINUTE)",
    "another time": "SELECT SUM(x) FROM o GROUP BY FLOOR(t TO DAY)",
    "the other end": "SELECT SUM(x) FROM o GROUP BY CEIL(at TO DAY)",
    "the minute": "SELECT SUM(x) FROM o GROUP BY MINUTE(at)",
    "months of weeks": "SELECT COUNT(x) FROM o GROUP BY FLOOR(d TO MONTH)",
    "years of weeks": "SELECT COUNT(x) FROM o GROUP BY YEAR(d)",
    "weeks of months": "SELECT COUNT(k) FROM o GROUP BY date_trunc('WEEK', b)",
    "windows of another origin": "SELECT MAX(x) FROM o GROUP BY TUMBLE(t, INTERVAL 3 HOUR)",
    "days of windows of another origin": "SELECT MAX(x) FROM o GROUP BY FLOOR(t TO DAY)",
    "windows between": "SELECT MAX(x) FROM o GROUP BY TUMBLE(t, INTERVAL '90' MINUTE, TIME '00:20:00')",
    "within an hour": "SELECT SUM(x) FROM o WHERE at >= TIMESTAMP '2024-01-31 10:30:00'",
    "a boundary and more": "SELECT SUM(x) FROM o WHERE at > TIMESTAMP '2024-01-31 10:00:00'",
    "up to it": "SELECT SUM(x) FROM o WHERE at <= TIMESTAMP '2024-01-31 10:00:00'",
    "at it": "SELECT SUM(x) FROM o WHERE at = TIMESTAMP '2024-01-31 10:00:00'",
    "no boundary of a month": "SELECT COUNT(k) FROM o WHERE b >= TIMESTAMP '2024-02-02'",
    "no unit of dates": "SELECT COUNT(*) FROM o GROUP BY trunc(at, 'HOUR')",
    "counts of what is DISTINCT": "SELECT COUNT(*) FROM o GROUP BY k, x",
}


@pytest.mark.parametrize("name", COARSER)
def test_a_coarser_time_is_found(name):
    text, view = COARSER[name]
    assert answered_from(text, TIMES) == (view,)


@pytest.mark.parametrize("name", NOT_COARSER)
def test_what_is_no_coarser_time_is_not(name):
    assert answered_from(NOT_COARSER[name], TIMES) == ()


def test_in_other_zones_only_days_and_what_is_made_of_them_go_by_each_other():
    program = f"SET TIME ZONE 'Asia/Kolkata'; {TIMES}"
    assert answered_from("SELECT SUM(x) FROM o GROUP BY FLOOR(at TO DAY)", program) == ()
    assert answered_from("SELECT SUM(x) FROM o WHERE at >= TIMESTAMP '2024-01-31 10:00:00'", program) == ()
    assert answered_from("SELECT MIN(x) FROM o GROUP BY FLOOR(t TO MONTH)", program) == ("days",)
    assert answered_from("SELECT COUNT(k) FROM o GROUP BY YEAR(b)", program) == ()


def timed_changes(chosen, held):
    """Random rows of `o`, some of which go again; many of their times are boundaries."""
    rows = [("-", held.pop(chosen.randrange(len(held)))) for _ in range(min(len(held), chosen.randrange(3)))]
    for _ in range(chosen.randrange(6)):
        at, t, b, d = (_time(chosen) for _ in range(4))
        held.append((
            chosen.choice([None, 1, 2, 3]), chosen.choice([None, at]), t, chosen.choice([None, b]),
            chosen.choice([None, d.date()]), chosen.choice([None, 0, 1, 2, 7]),
        ))  # fmt: skip
        rows.append(("+", held[-1]))
    return rows


def _time(chosen):
    days = [(1969, 12, 31), (2023, 1, 1), (2024, 2, 1), (2024, 12, 30)]
    day = datetime(*chosen.choice([*days, (2024, 1, 31, 9), (2024, 1, 31, 9)]))  # noqa: DTZ001 - UTC, as all clocks
    step = chosen.choice([timedelta(minutes=20), timedelta(hours=1), timedelta(days=1), timedelta(microseconds=1)])
    return day + chosen.randrange(-3, 4) * step


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.extended)])
def test_oracle_a_coarser_time_has_the_answer_of_the_rows(seed):
    chosen, held = random.Random(seed), []
    with penstock.Pipeline(TIMES, engine="native") as pipeline:
        for _ in range(8):
            pipeline.step({"o": timed_changes(chosen, held)})
        answers = {}
        for setting in ("on", "off"):
            pipeline.execute(f"SET answer_from_views = '{setting}'")
            answers[setting] = {name: rounded(pipeline.query(text).rows) for name, (text, _) in COARSER.items()}
        assert answers["on"] == answers["off"]


def test_explain_of_the_past_reads_the_tables():
    with penstock.Pipeline(PROGRAM, engine="native") as pipeline:
        text = ANSWERED["by one key"][0]
        assert "answered:" in pipeline.sql(text).explain()
        tree = parse_query(f"{text} AS OF STEP 0")
        assert "answered:" not in explained_query(pipeline, tree, (), text)


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
