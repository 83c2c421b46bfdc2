"""EMIT LAST: rows count that are not older than an interval, by their own time or by that of their arrival."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tiers import examples

import penstock

START = datetime(2025, 1, 1, 10)  # noqa: DTZ001 - UTC
STREAM = "CREATE STREAM s (k int, v nullable(int));"
SECOND = timedelta(seconds=1)


@penstock.LaterSession
def no_spark():
    pytest.fail("Spark was asked for")


def opened(program=STREAM, dialect="timeplus"):
    return penstock.Pipeline(program, dialect=dialect, spark=no_spark, engine="auto")


def read(query):
    found = []
    while (emission := query.get(0)) is not None:
        found += list(emission)
    return found


def test_the_time_of_the_row_or_that_of_its_arrival():
    with opened() as pipeline:
        old = (START - 9 * SECOND).isoformat(" ")
        pipeline.step({"s": [(1, 1)]}, clock=START)
        own = pipeline.subscribe("SELECT k, v FROM s EMIT LAST 5s", clock=START + 4 * SECOND)
        arrived = pipeline.subscribe("SELECT k, v FROM s EMIT LAST 5s ON PROCTIME", clock=START + 4 * SECOND)
        pipeline.step(sql=f"INSERT INTO s (k, v, _tp_time) VALUES (2, 2, '{old}')", clock=START + 4 * SECOND)
        assert (read(own), sorted(read(arrived))) == ([(1, 1)], [(1, 1), (2, 2)])


def test_windows_take_the_past_by_its_arrival():
    text = "SELECT window_start, count() FROM tumble(s, 1m) GROUP BY window_start EMIT LAST 30s ON PROCTIME"
    with opened() as pipeline:
        pipeline.step({"s": [(1, 1)]}, clock=START)
        pipeline.step({"s": [(1, 2)]}, clock=START + 40 * SECOND)
        query = pipeline.subscribe(text, clock=START + 59 * SECOND)
        pipeline.step({"s": [(1, 3)]}, clock=START + 60 * SECOND)
        assert read(query) == [(START, 1)]


STEPS = st.lists(
    st.tuples(st.integers(0, 3), st.lists(st.tuples(st.integers(0, 1), st.none() | st.integers(-2, 2)), max_size=3)),
    min_size=1,
    max_size=8,
)


@examples(6, 25)
@given(STEPS, st.integers(0, 3))
def test_an_aggregate_is_that_of_the_rows_which_have_arrived_within(steps, begins):
    text = "SELECT k, count() AS n, sum(v) AS s, _tp_delta FROM s GROUP BY k EMIT ON UPDATE AND LAST 4s ON PROCTIME"
    with opened() as pipeline:
        clock, rows, query, shown = START, [], None, Counter()
        for number, (passed, step) in enumerate(steps):
            clock += passed * SECOND
            if number == min(begins, len(steps) - 1):
                query = pipeline.subscribe(text, clock=clock)
            pipeline.step({"s": step}, clock=clock)
            rows += [(clock, k, v) for k, v in step]
            for k, n, total, delta in [] if query is None else read(query):
                shown[k, n, total] += delta
            if query is not None:
                assert +shown == Counter(expected(rows, clock))


def expected(rows, clock):
    for key in {k for _, k, _ in rows}:
        values = [v for at, k, v in rows if k == key and at >= clock - 4 * SECOND]
        known = [v for v in values if v is not None]
        if values:
            yield key, len(values), sum(known) if known else None


@pytest.mark.parametrize("last", ["LAST 1h", "LAST 1h ON PROCTIME"])
@pytest.mark.parametrize("items", ["*", "COUNT(*)"])
def test_rows_without_such_a_time_are_refused(items, last):
    with opened("CREATE TABLE s (k INT, v INT);", "penstock") as pipeline:
        with pytest.raises(penstock.SqlError) as refused:
            pipeline.subscribe(f"SELECT {items} FROM s EMIT {last}")
        assert refused.value.code == "EMIT_FORM"
