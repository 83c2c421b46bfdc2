"""Subqueries, CTEs and views hand on when, and in which order, their rows arrive; without a JVM."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tiers import examples

import penstock

START = datetime(2025, 1, 1, 10)  # noqa: DTZ001 - UTC
PROGRAM = """
CREATE STREAM s (k string, v int);
CREATE STREAM r (k string, w int);
CREATE TABLE d (k string PRIMARY KEY, n string);
CREATE VIEW big AS SELECT k, v FROM s WHERE v > 0;
CREATE VIEW bigger AS SELECT v + 1 AS v, k FROM big WHERE v > 1;
"""
BIG = "(SELECT k, v FROM s WHERE v > 0)"


@penstock.LaterSession
def no_spark():
    pytest.fail("Spark was asked for")


def opened(program=PROGRAM):
    return penstock.Pipeline(program, dialect="timeplus", spark=no_spark, engine="auto")


def read(query):
    found = []
    while (emission := query.get(0)) is not None:
        found += list(emission)
    return found


def before(values, place, distance=1):
    return values[place - distance] if place >= distance else None


ROWS = st.lists(st.tuples(st.sampled_from([None, "a", "b"]), st.none() | st.integers(-1, 3)), max_size=4)


@examples(4, 15)
@given(steps=st.lists(ROWS, max_size=5))
def test_what_looks_back_looks_through_queries(steps):
    texts = {
        "lag": f"SELECT v, lag(v) FROM {BIG}",
        "cte": "WITH a (x, y) AS (SELECT * FROM (SELECT k, v FROM s) WHERE v > 0) SELECT y, lag(y) FROM a",
        "view": "SELECT v, lag(v) FROM big",
        "views": "SELECT v - 1, lag(v - 1) FROM bigger",
        "dedup": "WITH a AS (SELECT * FROM big) SELECT k, v FROM dedup(a, k)",
        "limits": f"SELECT k, v FROM dedup({BIG}, k, 2s, 1)",
        "event": "SELECT k, count(), sum(v) FROM big GROUP BY k EMIT PER EVENT",
    }
    with opened() as pipeline:
        queries = {name: pipeline.subscribe(text, clock=START) for name, text in texts.items()}
        rows, shown = [], {name: [] for name in texts}
        for number, step in enumerate(steps):
            pipeline.step({"s": step}, clock=START + timedelta(seconds=number))
            rows += [(number, k, v) for k, v in step if v is not None and v > 0]
            for name, query in queries.items():
                shown[name] += read(query)
    values, larger = [v for _, _, v in rows], [v for _, _, v in rows if v > 1]
    looked = Counter((v, before(values, place)) for place, v in enumerate(values))
    assert Counter(shown["lag"]) == Counter(shown["cte"]) == Counter(shown["view"]) == looked
    assert Counter(shown["views"]) == Counter((v, before(larger, place)) for place, v in enumerate(larger))
    assert Counter(shown["dedup"]) == Counter({k: (k, v) for _, k, v in reversed(rows)}.values())
    assert shown["limits"] == list(remembered(rows))
    assert shown["event"] == list(running(rows))


def remembered(rows):
    last, since = object(), 0
    for clock, k, v in rows:
        if k != last or clock - since >= 2:
            yield k, v
            last, since = k, clock


def running(rows):
    so_far = {}
    for _, k, v in rows:
        so_far.setdefault(k, []).append(v)
        yield k, len(so_far[k]), sum(so_far[k])


def test_a_view_over_a_view_follows_the_order_of_arrival():
    with opened() as pipeline:
        pipeline.execute("CREATE VIEW late AS SELECT v, lag(v) AS one FROM bigger")
        pipeline.step({"s": [("a", 3), ("a", 1), ("b", 2)]})
        pipeline.step({"s": [("a", 2)]})
        assert sorted(pipeline.content("late").rows, key=str) == [(3, 3), (3, 4), (4, None)]


def test_windows_by_the_clock_over_what_chooses_rows():
    text = f"SELECT window_end, count() FROM tumble({BIG}, now64(), 5s) GROUP BY window_end"
    with opened() as pipeline:
        query = pipeline.subscribe(text, clock=START)
        pipeline.step({"s": [("a", 1), ("a", 0), ("a", 2)]}, clock=START)
        pipeline.step({"s": [("a", 1)]}, clock=START + timedelta(seconds=7))
        assert read(query) == [(START + timedelta(seconds=5), 2)]


def test_results_of_windows_come_window_by_window():
    text = "WITH w AS (SELECT window_end, sum(v) AS c FROM tumble(s, 5s) GROUP BY window_end) SELECT c, lag(c) FROM w"
    with opened() as pipeline:
        query = pipeline.subscribe(text, clock=START)
        for second, v in ((0, 1), (6, 2), (12, 4), (18, 8)):
            pipeline.step({"s": [("a", v)]}, clock=START + timedelta(seconds=second))
        assert read(query)[:3] == [(1, None), (2, 1), (4, 2)]


def test_rows_of_a_union_and_of_a_join_arrive_with_theirs():
    with opened() as pipeline:
        union = pipeline.subscribe("SELECT x, lag(x) FROM (SELECT v AS x FROM s UNION ALL SELECT w FROM r)")
        join = pipeline.subscribe("SELECT v, w, lag(v) FROM (SELECT v, w FROM s JOIN r ON s.k = r.k)")
        for rows in ({"s": [("a", 1), ("b", 2)]}, {"r": [("b", 10)]}, {"r": [("a", 11)]}):
            pipeline.step(rows)
        assert Counter(read(union)) == Counter([(1, None), (2, 1), (10, 2), (11, 10)])
        assert read(join) == [(2, 10, None), (1, 11, 2)]


def test_each_row_of_a_join_is_an_event():
    text = "SELECT s.k, n, count() FROM s LEFT JOIN d ON s.k = d.k GROUP BY s.k, n EMIT PER EVENT"
    with opened() as pipeline:
        met = pipeline.subscribe(text, clock=START)
        streams = pipeline.subscribe("SELECT s.k, count() FROM s JOIN r ON s.k = r.k GROUP BY s.k EMIT PER EVENT")
        pipeline.step({"s": [("a", 1), ("b", 2)], "r": [("a", 7)], "d": [("x", "X"), ("y", "Y"), ("a", "A")]})
        pipeline.step({"d": [("a", "B"), ("c", "C")], "r": [("b", 8), ("a", 9)]})
        pipeline.step({"s": [("c", 3), ("a", 1)]})
        assert read(met) == [("a", "A", 1), ("b", None, 1), ("c", "C", 1), ("a", "B", 1)]
        assert read(streams) == [("a", 1), ("b", 1), ("a", 2), ("a", 3), ("a", 4)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT v, lag(v) FROM (SELECT DISTINCT v FROM s)", "NO_ARRIVAL"),
        ("SELECT x, lag(x) FROM (SELECT v AS x FROM s UNION DISTINCT SELECT w FROM r)", "NO_ARRIVAL"),
        ("SELECT c, lag(c) FROM (SELECT k, count() AS c FROM s GROUP BY k)", "NO_ARRIVAL"),
        ("SELECT k, v FROM dedup((SELECT k, max(v) AS v FROM s GROUP BY k), k)", "NO_ARRIVAL"),
        ("SELECT max(c) FROM (SELECT count() AS c FROM s GROUP BY k) EMIT PER EVENT", "PER_EVENT"),
        ("SELECT count() FROM s JOIN (SELECT DISTINCT k FROM r) AS x ON s.k = x.k EMIT PER EVENT", "PER_EVENT"),
        ("WITH a (x) AS (SELECT k, v FROM s) SELECT x, lag(x) FROM a", "WRONG_NUMBER_OF_NAMES"),
        ("SELECT x, lag(x) FROM (SELECT k, v FROM s) AS a (x)", "WRONG_NUMBER_OF_NAMES"),
    ],
)
def test_what_has_no_order_is_refused(text, code):
    with opened() as pipeline:
        with pytest.raises(penstock.PenstockError) as refused:
            pipeline.subscribe(text)
        assert refused.value.code == code, refused.value.render()


def test_nobody_sees_the_order():
    with opened() as pipeline:
        query = pipeline.subscribe("SELECT *, lag(v) AS one FROM (SELECT k, v FROM s)")
        assert query.columns == ("k", "v", "one")
