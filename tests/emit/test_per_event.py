"""PER EVENT: a result for each row, over the rows so far, in the order in which they have arrived; without a JVM."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tiers import examples

import penstock

START = datetime(2025, 1, 1)  # noqa: DTZ001 - UTC
STREAM = "CREATE STREAM s (k int, x nullable(int));"


@penstock.LaterSession
def no_spark():
    pytest.fail("Spark was asked for")


def opened(program=STREAM, dialect="timeplus"):
    return penstock.Pipeline(program, dialect=dialect, spark=no_spark, engine="auto")


def shown(text, *steps):
    with opened() as pipeline:
        query = pipeline.subscribe(text, clock=START)
        found = []
        for number, rows in enumerate(steps):
            pipeline.step({"s": [("+", row) for row in rows]}, clock=START + timedelta(seconds=number))
            emission = query.get(0)
            found.append([] if emission is None else list(emission))
        return found


ROWS = [(1, 5), (2, 0), (1, 5), (1, 7)]


def test_each_row_has_a_result_in_the_order_of_arrival():
    assert shown("select count() from s emit per event", ROWS, [(3, 1)]) == [[(1,), (2,), (3,), (4,)], [(5,)]]
    assert shown("select x from s emit per event", ROWS) == [[(5,), (0,), (5,), (7,)]]


def test_by_key_through_an_alias_a_position_and_substreams():
    expected = [[(1, 1), (2, 1), (1, 2), (1, 3)]]
    assert shown("select k as key, count() from s group by key emit per event", ROWS) == expected
    assert shown("select k, count() from s group by 1 emit per event", ROWS) == expected
    assert shown("select k, count() from s partition by k emit per event", ROWS) == expected


def test_having_chooses_results_and_limit_ends_them():
    assert shown("select k, count() as n from s group by k having n > 1 emit per event", ROWS) == [[(1, 2), (1, 3)]]
    assert shown("select count() from s limit 2 emit per event", ROWS, ROWS) == [[(1,), (2,)], []]


def test_rows_of_a_query_that_chooses_them():
    text = "with a as (select * from s where x > 0) select count() as n, n + 1 from a emit per event"
    assert shown(text, ROWS) == [[(1, 2), (2, 3), (3, 4)]]
    assert shown("select sum(y) from (select x + 1 as y from s) emit per event", ROWS) == [[(6,), (7,), (13,), (21,)]]


def test_each_is_an_emission():
    assert shown("select emit_version(), count() from s emit per event", ROWS[:2], ROWS[:1]) == [
        [(0, 1), (1, 2)],
        [(2, 3)],
    ]


@pytest.mark.parametrize(
    ("program", "dialect", "text", "code"),
    [
        (STREAM, "timeplus", "select count() from s emit changelog per event", "EMIT_FORM"),
        (STREAM, "timeplus", "select count() from s emit delta per event", "EMIT_FORM"),
        (STREAM, "timeplus", "select max(n) from (select count() as n from s group by k) emit per event", "PER_EVENT"),
        ("CREATE TABLE s (k INT, x INT);", "penstock", "SELECT COUNT(*) FROM s EMIT PER EVENT", "PER_EVENT"),
    ],
)
def test_rows_without_an_order_and_results_that_change_are_refused(program, dialect, text, code):
    with opened(program, dialect) as pipeline, pytest.raises(penstock.PenstockError) as caught:
        pipeline.subscribe(text, clock=START)
    assert caught.value.diagnostics[0].code == code


ROW = st.tuples(st.integers(0, 1), st.none() | st.integers(-2, 2))


@examples(6, 25)
@given(st.lists(st.lists(ROW, max_size=4), min_size=1, max_size=6))
def test_each_result_is_that_of_the_rows_so_far(steps):
    found = shown("select k, count() as n, sum(x) as s, max(x) from s group by k emit per event", *steps)
    before, expected = {}, []
    for rows in steps:
        results = []
        for k, x in rows:
            before.setdefault(k, []).append(x)
            known = [value for value in before[k] if value is not None]
            results.append((k, len(before[k]), sum(known) if known else None, max(known, default=None)))
        expected.append(results)
    assert found == expected
