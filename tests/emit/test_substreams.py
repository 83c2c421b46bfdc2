"""PARTITION BY: each substream has a waterline of its own, by which its windows close and are forgotten; no JVM."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tiers import examples

import penstock

START = datetime(2025, 1, 1, 10)  # noqa: DTZ001 - UTC
STREAM = (
    "CREATE STREAM s (k nullable(int), x int, ts datetime64(3)) SETTINGS event_time_column = 'ts', history = 'none';"
)
COUNTS = "SELECT k, window_end, count(), sum(x) FROM tumble(s, 5s) PARTITION BY k GROUP BY window_end"
MIDDLES = "SELECT k, window_end, max(x), median(x) FROM hop(s, 5s, 10s) PARTITION BY k GROUP BY window_end"


def opened():
    return penstock.Pipeline(STREAM, engine="native", dialect="timeplus")


def at(second):
    return START + timedelta(seconds=second)


def rows(*given):
    return {"s": [("+", (k, x, at(second))) for k, x, second in given]}


def emitted(query):
    found = []
    while (emission := query.get(0)) is not None:
        found += emission
    return found


def state(pipeline):
    pipeline.compact()
    return sum(item.rows for item in pipeline.state())


@pytest.mark.parametrize("text", [COUNTS, pytest.param(MIDDLES, marks=pytest.mark.extended)])
def test_windows_that_are_over_are_forgotten_also_of_substreams_that_send_no_more(text):
    with opened() as pipeline:
        query = pipeline.subscribe(text, clock=START)
        kept, shown = {}, 0
        for step in range(60):
            sending = (1, 2, None) if step < 20 else (2,)
            pipeline.step(rows(*((k, step, step * 5) for k in sending)), clock=at(step))
            shown += len(emitted(query))
            kept[step] = state(pipeline)
        assert shown > 90
        assert kept[59] == kept[21]


def test_a_substream_that_goes_on_late_still_counts():
    with opened() as pipeline:
        query = pipeline.subscribe(COUNTS, clock=START)
        pipeline.step(rows((1, 1, 1), (2, 1, 1)))
        pipeline.step(rows((1, 1, 500)))
        assert emitted(query) == [(1, at(5), 1, 1)]
        state(pipeline)
        pipeline.step(rows((2, 5, 2)))
        pipeline.step(rows((3, 7, 2), (2, 9, 6)))
        assert emitted(query) == [(2, at(5), 2, 6)]
        pipeline.end_of_input()
        assert sorted(emitted(query)) == [(1, at(505), 1, 1), (2, at(10), 1, 9), (3, at(5), 1, 7)]


def test_explain_says_until_when_they_stay():
    with opened() as pipeline:
        pipeline.subscribe(COUNTS, clock=START)
        pipeline.step(rows((1, 1, 1)))
        (because,) = [item.because for item in pipeline.state() if item.operator == "Aggregate"]
        assert "its substream" in because
        assert "the last ones of each substream stay until it goes on" in because


def by_definition(steps):
    """The windows that each step closes, row by row: a row below its substream's line does not count."""
    lines, windows, found = {}, defaultdict(list), []
    for given_rows in steps:
        passed = [(k, x, second) for k, x, second in given_rows if second >= lines.get(k, 0)]
        for k, x, second in passed:
            windows[k, second // 5 * 5 + 5].append(x)
        for k, _, second in given_rows:
            lines[k] = max(lines.get(k, 0), second // 5 * 5)
        over = sorted(key for key in windows if key[1] <= lines[key[0]])
        found.append([(k, at(end), len(values), sum(values)) for k, end in over for values in [windows.pop((k, end))]])
    return found


@examples(6, 30)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 3), st.integers(-9, 9), st.integers(0, 60)), max_size=4),
        min_size=1,
        max_size=8,
    )
)
def test_what_is_shown_is_that_of_a_plain_definition_whatever_is_collected(steps):
    with opened() as pipeline:
        query, found = pipeline.subscribe(COUNTS, clock=START), []
        for number, given_rows in enumerate(steps):
            pipeline.step(rows(*given_rows), clock=at(number))
            found.append(sorted(emitted(query)))
            pipeline.compact()
        assert found == by_definition(steps)


STAMPED = (
    "SELECT k, window_start, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL 5 SECONDS)) "
    "PARTITION BY k GROUP BY k, window_start EMIT STREAM {}"
)


@pytest.mark.parametrize("table", ["p", "s"])
@pytest.mark.parametrize("policy", ["AFTER WATERMARK", "AFTER DELAY INTERVAL 1 SECOND AND AFTER WATERMARK"])
def test_what_ver_counts_goes_with_the_windows_of_its_substream(table, policy):
    """By the waterline of the substream, or by that of a table with LATENESS."""
    program = "CREATE TABLE p (ts TIMESTAMP, k INT); CREATE TABLE s (ts TIMESTAMP LATENESS INTERVAL 0 SECONDS, k INT);"
    with penstock.Pipeline(program, engine="native") as pipeline:
        query = pipeline.subscribe(STAMPED.format(table, policy), clock=START)
        for second in range(0, 60, 4):
            clock = at(second)
            pipeline.step({table: [(clock, 1), (clock, 2), (clock, None)]}, clock=clock)
            counted = pipeline._opened().stepper._state.views._emissions[query.name].dressing.counts.versions
            assert len(counted) <= 3, f"after {second} seconds"
        shown = emitted(query)
    assert len(shown) == 33  # eleven windows of three substreams
    assert {row[-1] for row in shown} == {0}


def test_ver_counts_the_changes_of_a_window_in_its_substream():
    with penstock.Pipeline("CREATE TABLE p (ts TIMESTAMP, k INT);", engine="native") as pipeline:
        query = pipeline.subscribe(STAMPED.format("p", ""))
        for k in (1, 2, 1):
            pipeline.step({"p": [(START, k)]})
        shown = [(row[0], row[2], row[3], row[-1]) for row in emitted(query)]
    assert shown == [(1, 1, "", 0), (2, 1, "", 0), (1, 1, "undo", 1), (1, 2, "", 2)]
