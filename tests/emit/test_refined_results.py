"""Results that are refined: early, complete, late and final, by properties and by settings; without a JVM."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tiers import examples

import penstock
from penstock.plan.refinement import early_delay, of_flink

START = datetime(2025, 1, 1, 10)  # noqa: DTZ001 - UTC
QUERY = (
    "SELECT window_end, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL 30 MINUTES)) "
    "GROUP BY window_start, window_end"
)
REFINED = {
    "first_result": "-15 minutes",
    "update_rate": "5 minutes",
    "complete_result": "2 minutes",
    "late_updates": "on",
    "last_result": "10 minutes",
}


@penstock.LaterSession
def no_spark():
    pytest.fail("Spark was asked for")


def opened(program="CREATE TABLE t (at TIMESTAMP, x INT);", **options):
    return penstock.Pipeline(program, spark=no_spark, engine="auto", **options)


def after(minutes):
    return START + timedelta(minutes=minutes)


def said(properties):
    return "SETTINGS " + ", ".join(f"{name} = '{value}'" for name, value in properties.items())


def emitted(query):
    found = []
    while (emission := query.get(0)) is not None:
        found += emission
    return found


def timeline(text, minutes, program="CREATE TABLE t (at TIMESTAMP, x INT);"):
    """What is shown at each minute at which a row of that time comes; a window by its end's minute."""
    with opened(program) as pipeline:
        query = pipeline.subscribe(text, clock=START)
        found = {}
        for minute in minutes:
            pipeline.step({"t": [("+", (after(minute), 1))]}, clock=START)
            rows = [
                tuple((v - START).seconds // 60 if isinstance(v, datetime) else v for v in row)
                for row in emitted(query)
            ]
            if rows:
                found[minute] = rows
        return found


@pytest.mark.parametrize("late", ["", " LATENESS INTERVAL 0 MINUTES"])
def test_the_example_of_the_document(late):
    """A first result 15 minutes early, updates each 5 minutes, complete 2 minutes behind the end."""
    minutes = (0, 14, 15, 16, 19, 20, 21, 25, 30, 31, 32)
    found = timeline(f"{QUERY} {said(REFINED)}", minutes, f"CREATE TABLE t (at TIMESTAMP{late}, x INT);")
    assert found == {15: [(30, 3)], 20: [(30, 6)], 25: [(30, 8)]}
    assert timeline(f"{QUERY} {said(REFINED)}", (0, 30, 29, 32, 28, 40, 27)) == {
        30: [(30, 1)],
        32: [(30, 2)],
        28: [(30, 3)],
    }


def test_each_change_is_shown_where_no_rate_is_said():
    properties = {"first_result": "-20m", "complete_result": "0"}
    assert timeline(f"{QUERY} {said(properties)}", (9, 10, 11, 31, 29)) == {10: [(30, 2)], 11: [(30, 3)]}


def test_a_window_is_shown_once_complete_where_nothing_is_early_or_late():
    assert timeline(f"{QUERY} {said({'complete_result': '10 minutes'})}", (0, 39, 25, 40, 26)) == {40: [(30, 2)]}


def test_each_row_says_whether_it_is_early_complete_or_final():
    text = f"{QUERY} EMIT CHANGES {said({**REFINED, 'result_state': 'on'})}"
    assert timeline(text, (0, 15, 30, 32, 29, 40)) == {
        15: [("+I", 30, 2, "early")],
        32: [("-U", 30, 2, "early"), ("+U", 30, 2, "complete")],
        29: [("-U", 30, 2, "complete"), ("+U", 30, 3, "complete")],
        40: [("-U", 30, 3, "complete"), ("+U", 30, 3, "final")],
    }


def test_a_running_result_is_updated_at_its_rate():
    with opened("CREATE TABLE t (k INT);") as pipeline:
        query = pipeline.subscribe("SELECT COUNT(*) AS n FROM t SETTINGS update_rate = '5 minutes'", clock=START)
        pipeline.step({"t": [("+", (1,))]}, clock=after(1))
        pipeline.step({"t": [("+", (2,))]}, clock=after(2))
        assert emitted(query) == []
        pipeline.step({}, clock=after(5))
        assert emitted(query) == [(2,)]


def shown_after(text, steps, program="CREATE TABLE t (k INT, x INT);"):
    """What each of these steps shows, and at last the end of the input."""
    with opened(program) as pipeline:
        query, found = pipeline.subscribe(text, clock=START), []
        for rows in steps:
            pipeline.step({"t": [(kind, row) for kind, *row in rows]}, clock=START)
            found.append(emitted(query))
        pipeline.end_of_input()
        return [*found, emitted(query)]


def test_a_running_result_is_updated_after_so_many_rows_of_its_own():
    text = "SELECT k, MAX(x) AS most FROM t GROUP BY k EMIT CHANGES SETTINGS update_rate = 'count(3)'"
    steps = ([("+", 1, 5)], [("+", 1, 4), ("+", 2, 1)], [("+", 1, 2)], [("+", 1, 9), ("+", 2, 1)], [("+", 1, 1)] * 2)
    assert shown_after(text, steps) == [
        [], [], [("+I", 1, 5)], [], [("-U", 1, 5), ("+U", 1, 9)], [("+I", 2, 1)]
    ]  # fmt: skip


def test_rows_that_change_no_value_are_counted_and_not_shown():
    text = "SELECT k, MAX(x) AS most FROM t GROUP BY k EMIT CHANGES SETTINGS update_rate = 'count(2)'"
    steps = ([("+", 1, 5), ("+", 1, 3)], [("+", 1, 2)], [("+", 1, 1)], [("+", 1, 7)])
    assert shown_after(text, steps) == [[("+I", 1, 5)], [], [], [], [("-U", 1, 5), ("+U", 1, 7)]]


def test_a_row_that_is_replaced_counts_as_one():
    text = "SELECT SUM(x) AS s FROM t SETTINGS update_rate = 'count(2)'"
    keyed = "CREATE TABLE t (k INT PRIMARY KEY, x INT);"
    assert shown_after(text, [[("+", 1, x)] for x in (1, 2, 3)], keyed) == [[], [(2,)], [], [(3,)]]


def test_rows_that_are_not_grouped_are_counted_together():
    text = "SELECT * FROM t WHERE x > 1 SETTINGS update_rate = '3 rows'"
    steps = ([("+", 1, 2)], [("+", 1, 1), ("+", 2, 2)], [("+", 3, 2)])
    assert shown_after(text, steps) == [[], [], [(1, 2), (2, 2), (3, 2)], []]


def test_early_results_of_windows_after_so_many_rows():
    """Each window has its first result as its time comes, updates after three rows each, and the complete one."""
    counted = {"first_result": "-20 minutes", "update_rate": "count(3)", "result_state": "on"}
    minutes = (10, 11, 12, 13, 14, 40, 41)
    assert timeline(f"{QUERY} EMIT CHANGES {said(counted)}", minutes) == {
        10: [("+I", 30, 1, "early")],
        13: [("-U", 30, 1, "early"), ("+U", 30, 4, "early")],
        40: [("-U", 30, 4, "early"), ("+U", 30, 5, "final"), ("+I", 60, 1, "early")],
    }


def test_a_view_says_it_in_its_properties():
    said_there = ", ".join(f"'{name}' = '{value}'" for name, value in REFINED.items())
    program = f"CREATE TABLE t (at TIMESTAMP, x INT); CREATE VIEW v WITH ({said_there}) AS {QUERY};"
    with opened(program) as pipeline:
        shown = [pipeline.step({"t": [("+", (after(m), 1))]}, clock=START)["v"].rows for m in (0, 14, 15, 32)]
        assert shown == [[], [], [(1, (after(30), 3))], []]
        assert dict(pipeline.query("SELECT * FROM v").rows) == {after(30): 3, after(60): 1}


FLINK = (
    "SET dialect = 'flink'; CREATE TABLE t (at TIMESTAMP(3), x INT, WATERMARK FOR at AS at - INTERVAL '0' SECOND);"
    "SET 'table.exec.emit.early-fire.enabled' = 'true'; SET 'table.exec.emit.early-fire.delay' = '{}';"
)


def test_flinks_early_results_by_the_clock():
    with opened(FLINK.format("1 min"), dialect="flink") as pipeline:
        query = pipeline.subscribe(f"{QUERY} EMIT STREAM", clock=START)
        for minute, clock in ((0, 0), (1, 0.5), (2, 1), (40, 1.5)):
            pipeline.step({"t": [("+", (after(minute), 1))]}, clock=after(clock))
        rows = [(n, undo) for _, n, undo, _, _ in emitted(query)]
        assert rows == [(3, "")]


def test_flinks_early_results_with_each_row():
    with opened(FLINK.format("0 s"), dialect="flink") as pipeline:
        query = pipeline.subscribe(f"{QUERY} EMIT CHANGES", clock=START)
        for minute in (0, 1):
            pipeline.step({"t": [("+", (after(minute), 1))]}, clock=START)
        assert [row[0] for row in emitted(query)] == ["+I", "-U", "+U"]


@pytest.mark.parametrize("delay", ["1 min", "1min", "1 minute", "60 sec", "60s", "60000", "60000 ms", "60000 millis"])
def test_flinks_durations(delay):
    settings = {"table.exec.emit.early-fire.enabled": "true", "table.exec.emit.early-fire.delay": delay}
    assert early_delay(settings) == timedelta(minutes=1)
    assert of_flink({"table.exec.emit.allow-lateness": delay})["last_result"] == "60000000 us"


@pytest.mark.parametrize("name", ["early-fire.delay", "allow-lateness"])
@pytest.mark.parametrize("duration", ["-1 min", "soon", "1 week", ""])
def test_flinks_durations_are_not_negative(name, duration):
    text = FLINK.format("0 s") + f"SET 'table.exec.emit.{name}' = '{duration}';"
    with pytest.raises(penstock.SqlError, match=name) as caught, opened(text, dialect="flink"):
        pass
    assert caught.value.code == "REFINEMENT"
    assert "10 min" in caught.value.render()
    span = caught.value.diagnostics[0].span
    assert text[span.start : span.end] == f"'{duration}'"


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({"first_result": "5 minutes"}, QUERY),
        ({"complete_result": "-5 minutes"}, QUERY),
        ({"last_result": "1 minute", "complete_result": "2 minutes"}, QUERY),
        ({"late_updates": "on"}, QUERY),
        ({"late_updates": "perhaps"}, QUERY),
        ({"update_rate": "0s"}, QUERY),
        ({"update_rate": "count(0)"}, QUERY),
        ({"update_rate": "1M"}, QUERY),
        ({"first_result": "soon"}, QUERY),
        ({"complete_result": "2 minutes"}, "SELECT COUNT(*) AS n FROM t"),
        ({"result_state": "on"}, "SELECT COUNT(*) AS n FROM t"),
        ({"update_rate": "5 minutes"}, f"{QUERY} EMIT AFTER WATERMARK"),
    ],
)
def test_what_cannot_be_is_refused(properties, text):
    with opened() as pipeline, pytest.raises(penstock.SqlError) as caught:
        pipeline.subscribe(f"{text} {said(properties)}", clock=START)
    assert caught.value.diagnostics[0].code in {"REFINEMENT", "EMIT_NOT_TOGETHER"}
    assert caught.value.diagnostics[0].hint


@examples(6, 25)
@given(
    st.lists(st.lists(st.tuples(st.integers(0, 100), st.booleans()), max_size=4), min_size=1, max_size=7),
    st.sampled_from(["5 minutes", "count(1)", "count(3)"]),
)
def test_changes_replay_to_the_content_in_the_end_and_what_is_final_stays(steps, rate):
    text = f"{QUERY} EMIT CHANGES {said({**REFINED, 'update_rate': rate, 'result_state': 'on'})}"
    with opened() as pipeline:
        query = pipeline.subscribe(text, clock=START)
        content, final, accepted, seen, there = Counter(), set(), Counter(), None, Counter()
        for number, changes in enumerate([*steps, None]):
            if changes is None:
                pipeline.end_of_input()
            else:
                taken = []
                for minute, goes in changes:
                    if not goes or there[minute]:
                        there[minute] += -1 if goes else 1
                        taken.append((minute, -1 if goes else 1))
                rows = [("+" if weight > 0 else "-", (after(minute), 1)) for minute, weight in taken]
                pipeline.step({"t": rows}, clock=after(number))
                net = Counter()
                for minute, weight in taken:
                    net[minute] += weight
                for minute, weight in net.items():
                    end = minute // 30 * 30 + 30
                    if seen is None or end + 10 > seen:
                        accepted[end] += weight
                moved = [minute for minute, weight in net.items() if weight]
                seen = max(moved + ([] if seen is None else [seen]), default=None)
            for kind, end, n, state in emitted(query):
                assert (end, n) not in final or kind[0] == "+"
                content[end, n, state] += 1 if kind[0] == "+" else -1
                if kind[0] == "+" and state == "final":
                    final.add((end, n))
            content = +content
        assert content == Counter((after(end), n, "final") for end, n in accepted.items() if n)
