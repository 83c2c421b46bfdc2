"""Queries that begin to stand over a view take its changes as they are: the view is maintained once."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tiers import examples

import penstock
from penstock.steps.intake.inputs import batch_of
from penstock.steps.proposing import StepInput

PROGRAM = """
CREATE TABLE t (k INT, x INT);
CREATE TABLE names (k INT PRIMARY KEY, n STRING);
CREATE VIEW joined AS SELECT n, x FROM t JOIN names ON t.k = names.k WHERE x > 0;
CREATE VIEW sums AS SELECT n, SUM(x) AS s, COUNT(*) AS c FROM joined GROUP BY n;
"""
QUERIES = {
    "SELECT n AS label, s FROM sums EMIT CHANGES": "SELECT n AS label, s FROM sums",
    "SELECT c, SUM(s) AS s FROM sums GROUP BY c EMIT CHANGES": "SELECT c, SUM(s) AS s FROM sums GROUP BY c",
    "SELECT a.n, b.x FROM sums a JOIN joined b ON a.n = b.n EMIT CHANGES": (
        "SELECT a.n, b.x FROM sums a JOIN joined b ON a.n = b.n"
    ),
}


@penstock.LaterSession
def no_spark():
    pytest.fail("Spark was asked for")


def opened(**options):
    return penstock.Pipeline(PROGRAM, spark=no_spark, engine="auto", **options)


def read(query):
    found = []
    while (emission := query.get(0)) is not None:
        found += list(emission)
    return found


def operators(pipeline):
    return [operator for item in pipeline._opened().stepper.engine.installed for operator in item.circuit.operators]


def test_ten_queries_of_a_view_leave_it_one_maintenance():
    with opened() as pipeline:
        pipeline.step({"t": [(1, 5)], "names": [(1, "a")]})
        before = len(operators(pipeline))
        queries = [pipeline.subscribe(f"SELECT n, s FROM sums EMIT {how}") for how in ["CHANGES", "ON UPDATE"] * 5]
        made = operators(pipeline)[before:]
        assert {type(item).__name__ for item in made} <= {"Source", "Linear"}
        assert len(made) <= 2 * len(queries)
        pipeline.step({"t": [(1, 7)]})
        assert [read(query) for query in queries] == [[("+I", "a", 12)], [("a", 12)]] * 5


CHANGE = st.one_of(
    st.tuples(st.just("t"), st.just("+"), st.tuples(st.integers(0, 2), st.none() | st.integers(-1, 3))),
    st.tuples(st.just("names"), st.just("+"), st.tuples(st.integers(0, 2), st.sampled_from([None, "a", "b"]))),
    st.tuples(st.just("names"), st.just("-"), st.tuples(st.integers(0, 2), st.none())),
    st.tuples(st.just("t"), st.just("back"), st.none()),
)


@examples(6, 20)
@given(st.lists(st.lists(CHANGE, max_size=4), max_size=6), st.integers(0, 4), st.sampled_from(["all", "materialized"]))
def test_what_is_shown_adds_up_to_the_answer(steps, begins, retain):
    with opened(retain=retain) as pipeline:
        rows, shown, queries = [], {}, {}
        for number, step in enumerate([*steps, []]):
            if number == min(begins, len(steps)):
                queries = {text: pipeline.subscribe(text) for text in QUERIES}
                shown = {text: Counter() for text in QUERIES}
            pipeline.step(given_rows(step, rows))
            for text, query in queries.items():
                for kind, *row in read(query):
                    shown[text][tuple(row)] += 1 if kind[0] == "+" else -1
                assert shown[text] == Counter(pipeline.query(QUERIES[text]).rows), (text, number)
                assert min(shown[text].values(), default=1) >= 0


def given_rows(step, rows):
    """The rows of a step for each table; of `t` the rows that there are can go."""
    found = {"t": [], "names": []}
    for table, sign, row in step:
        if sign == "back" and rows:
            found["t"].append(("-", rows.pop()))
        elif sign != "back":
            found[table].append((sign, row))
    rows += [row for sign, row in found["t"] if sign == "+"]
    return found


def test_a_view_that_is_read_stays_and_a_refused_step_has_shown_nothing():
    with opened() as pipeline:
        query = pipeline.subscribe("SELECT 10 / s AS share FROM sums EMIT CHANGES")
        pipeline.step({"t": [(1, 5)], "names": [(1, "a")]})
        with pytest.raises(penstock.UnsupportedError):
            pipeline.execute("DROP VIEW sums")
        with pytest.raises(penstock.PenstockError):
            pipeline.step({"t": [("-", (1, 5)), (2, 5)], "names": [("-", (1, "a")), (7, None)], "nope": []})
        pipeline.step({"t": [(1, 5)]})
        assert read(query) == [("+I", 2.0), ("-D", 2.0), ("+I", 1.0)]
        query.close()
        pipeline.execute("DROP VIEW sums")


@pytest.mark.extended
def test_a_row_for_which_the_query_raises_is_set_aside_with_the_step_of_its_view(spark):
    with penstock.Pipeline(PROGRAM, spark=spark) as pipeline:
        pipeline.step({"names": [(1, "a"), (2, "b")]}, clock="2025-01-01 10:00:00")
        query = pipeline.subscribe("SELECT n, 10 / (s - 3) AS share FROM sums EMIT CHANGES")
        stepper, table = pipeline._opened().stepper, pipeline.catalog.tables["t"]
        batch = batch_of(table, [(1, 5), (2, 3)], pipeline._opened().readers(table))
        stepper.step(StepInput(pipeline.clock, [batch], spares=True))
        assert read(query) == [("+I", "a", 5.0)]
        assert pipeline.query("SELECT n, s FROM sums").rows == [("a", 5)]
        assert len(pipeline.query("SELECT * FROM error_view").rows) == 1
