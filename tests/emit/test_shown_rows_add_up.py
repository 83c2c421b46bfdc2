"""Replaying what a standing query shows gives its content, whatever comes in, under each policy; without a JVM."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tiers import examples

import penstock

START = datetime(2024, 1, 1)  # noqa: DTZ001 - UTC
PROGRAM = """CREATE TABLE t (at TIMESTAMP LATENESS INTERVAL 4 SECONDS, k INT, x INT);
CREATE TABLE plain (at TIMESTAMP, k INT, x INT);"""
KEYED = "SELECT k, SUM(x) AS s, COUNT(*) AS n FROM t GROUP BY k"
WINDOWED = (
    "SELECT window_start, k, SUM(x) AS s FROM TABLE(TUMBLE(TABLE {}, DESCRIPTOR(at), INTERVAL 3 SECONDS)) "
    "GROUP BY window_start, k"
)


@penstock.LaterSession
def no_spark():
    pytest.fail("Spark was asked for")


ROW = st.tuples(st.integers(0, 20), st.none() | st.integers(0, 2), st.none() | st.integers(-2, 2))
CHANGE = st.tuples(st.sampled_from("+++-"), ROW)
STEPS = st.lists(st.tuples(st.integers(0, 3), st.lists(CHANGE, max_size=4)), min_size=1, max_size=7)


def opened():
    return penstock.Pipeline(PROGRAM, spark=no_spark, engine="auto")


def played(pipeline, steps, table="t"):
    """Take the steps; a deletion of a row that is not there is left out. Gives the clock after each."""
    clock, there = START, Counter()
    for seconds, changes in steps:
        clock += timedelta(seconds=seconds)
        taken = []
        for kind, (at, k, x) in changes:
            row = (START + timedelta(seconds=at), k, x)
            if kind == "+" or there[row]:
                there[row] += 1 if kind == "+" else -1
                taken.append((kind, row))
        with suppress(penstock.DataError):  # a row that was late when it came is not there to be deleted
            pipeline.step({table: taken}, clock=clock)
        yield clock


def emissions(query):
    while (found := query.get(0)) is not None:
        yield found


def replayed(content, rows, sign):
    for row in rows:
        kind, *values = row
        content[tuple(values)] += 1 if sign(kind) else -1
    return +content


@examples(6, 25)
@given(STEPS)
def test_changes_replay_to_the_content(steps):
    with opened() as pipeline:
        query = pipeline.subscribe(f"{KEYED} EMIT CHANGES", clock=START)
        content = Counter()
        for _ in played(pipeline, steps):
            for emission in emissions(query):
                content = replayed(content, emission, lambda kind: kind[0] == "+")
            assert content == Counter(pipeline.query(KEYED).rows)


@examples(6, 25)
@given(STEPS)
def test_periodic_changes_replay_to_the_content_at_each_tick(steps):
    with opened() as pipeline:
        query = pipeline.subscribe(f"{KEYED} EMIT CHANGES PERIODIC 2s", clock=START)
        content = Counter()
        for clock in played(pipeline, steps):
            for emission in emissions(query):
                assert emission.clock == clock
                content = replayed(content, emission, lambda kind: kind[0] == "+")
                assert content == Counter(pipeline.query(KEYED).rows)


@examples(6, 25)
@given(STEPS)
def test_a_tick_shows_the_content_of_its_step(steps):
    with opened() as pipeline:
        query = pipeline.subscribe(f"{KEYED} EMIT PERIODIC 2s", clock=START)
        for _ in played(pipeline, steps):
            for emission in emissions(query):
                assert Counter(emission) == Counter(pipeline.query(KEYED).rows)


@examples(6, 25)
@given(STEPS)
def test_undo_and_delay_replay_to_the_content_in_the_end(steps):
    text = WINDOWED.format("t")
    with opened() as pipeline:
        query = pipeline.subscribe(f"{text} EMIT STREAM AFTER DELAY INTERVAL '2' SECONDS", clock=START)
        for clock in played(pipeline, steps):  # noqa: B007 - the last one
            pass
        pipeline.step({}, clock=clock + timedelta(seconds=2))
        content, versions = Counter(), Counter()
        for emission in emissions(query):
            for *row, undo, ptime, version in emission:
                assert ptime == emission.clock
                assert version == versions[row[0]]
                versions[row[0]] += 1
                content[tuple(row)] += -1 if undo else 1
        assert +content == Counter(pipeline.query(text).rows)
        assert min(content.values(), default=0) >= 0


@examples(6, 25)
@given(STEPS)
def test_a_closed_window_is_shown_once_and_never_contradicted(steps):
    text = WINDOWED.format("t")
    with opened() as pipeline:
        query = pipeline.subscribe(f"{text} EMIT AFTER WATERMARK", clock=START)
        shown = []
        for _ in played(pipeline, steps):
            for emission in emissions(query):
                shown += emission
            assert set(shown) <= set(pipeline.query(text).rows)
            assert len({row[:2] for row in shown}) == len(shown)
        pipeline.end_of_input()
        for emission in emissions(query):
            shown += emission
        assert Counter(shown) == Counter(row for row in pipeline.query(text).rows)


@examples(6, 25)
@given(STEPS, st.integers(1, 4))
def test_a_waterline_of_its_own_takes_what_is_not_late(steps, delay):
    """Against a plain reading of the rule: a row counts unless its window has ended before its step."""
    inserts = [(seconds, [("+", row) for _, row in changes]) for seconds, changes in steps]
    with opened() as pipeline:
        query = pipeline.subscribe(f"{WINDOWED.format('plain')} EMIT AFTER WATERMARK WITH DELAY {delay}s", clock=START)
        shown, sums, seen = [], {}, None
        for (_, changes), _ in zip(inserts, played(pipeline, inserts, "plain"), strict=True):
            line = None if seen is None else (seen - delay) // 3 * 3
            for _, (at, k, x) in changes:
                if line is None or at >= line:
                    before = sums.get((at // 3 * 3, k))
                    sums[at // 3 * 3, k] = before if x is None else (before or 0) + x
            seen = max([at for _, (at, *_) in changes] + ([] if seen is None else [seen]), default=None)
            for emission in emissions(query):
                shown += emission
            closed = [key for key in sums if seen is not None and key[0] + 3 <= seen - delay]
            assert Counter(shown) == Counter(
                (START + timedelta(seconds=start), k, sums[start, k]) for start, k in closed
            )
