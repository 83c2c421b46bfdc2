"""AFTER SESSION CLOSE: what is shown, against a plain reading of the rule; without a JVM."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tiers import examples

import penstock
from penstock.backends.rows import canonical_row

START = datetime(2025, 1, 1)  # noqa: DTZ001 - UTC
TABLE = "CREATE TABLE t (k INT, ts TIMESTAMP, s BOOLEAN, e BOOLEAN, x INT);"
COUNTED = "SELECT k, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY k EMIT AFTER SESSION CLOSE"


@penstock.LaterSession
def no_spark():
    pytest.fail("Spark was asked for")


def at(seconds):
    return START + timedelta(seconds=seconds)


def row(k, seconds, opens=None, closes=None, x=1, *, kind="+"):
    return kind, (k, None if seconds is None else at(seconds), opens, closes, x)


def opened(program=TABLE):
    return penstock.Pipeline(program, spark=no_spark, engine="auto")


def emitted(query):
    found = []
    while (emission := query.get(0)) is not None:
        found += emission
    return found


def shown(text, steps, *, ended=True):
    """What a query shows in each step, and at the end of the input."""
    with opened() as pipeline:
        query = pipeline.subscribe(text, clock=START)
        found = []
        for seconds, rows in steps:
            pipeline.step({"t": rows} if rows else {}, clock=at(seconds))
            found.append(emitted(query))
        if ended:
            pipeline.end_of_input()
            found.append(emitted(query))
        return found


# One rule at a time

BOTH = f"{COUNTED} IDENTIFIED BY (ts, s, e) WITH MAXSPAN 10s"


def test_rows_before_the_first_and_behind_the_last_belong_to_no_session():
    rows = [row(1, 0), row(1, 1, closes=True), row(1, 2, opens=True), row(1, 3), row(1, 4, closes=True), row(1, 5)]
    assert shown(BOTH, [(0, rows)]) == [[(1, 3, 3)], []]


def test_the_order_is_that_of_arrival_and_not_of_time():
    rows = [row(1, 5, opens=True), row(1, 2), row(1, 3, closes=True), row(1, 4)]
    assert shown(BOTH, [(0, rows)]) == [[(1, 3, 3)], []]


def test_a_row_that_begins_anew_closes_the_session_before():
    rows = [row(1, 0, opens=True), row(1, 1), row(1, 2, opens=True)]
    assert shown(BOTH, [(0, rows), (1, [row(1, 3, closes=True)])]) == [[(1, 2, 2)], [(1, 2, 2)], []]


def test_or_they_are_one_if_sessions_merge():
    rows = [row(1, 0, opens=True), row(1, 1), row(1, 2, opens=True), row(1, 3, closes=True)]
    assert shown(f"{BOTH} SETTINGS merge_open_sessions = true", [(0, rows)]) == [[(1, 4, 4)], []]


def test_the_row_that_closes_may_be_left_out():
    text = f"{BOTH} SETTINGS include_session_end = false"
    rows = [row(1, 0, opens=True), row(1, 1), row(1, 2, closes=True), row(2, 0, opens=True, closes=True)]
    assert shown(text, [(0, rows)]) == [[(1, 2, 2)], []]


def test_a_row_that_opens_and_closes_is_a_session():
    assert shown(BOTH, [(0, [row(1, 0, opens=True, closes=True)])]) == [[(1, 1, 1)], []]


def test_the_row_that_makes_a_session_long_enough_is_its_last():
    text = f"{COUNTED} IDENTIFIED BY ts WITH MAXSPAN 10s"
    rows = [row(1, 0), row(1, 9), row(1, 10), row(1, 11)]
    assert shown(text, [(0, rows)]) == [[(1, 3, 3)], [(1, 1, 1)]]


def test_the_row_that_closes_belongs_to_it_however_late_it_is():
    rows = [row(1, 0, opens=True), row(1, 100, closes=True)]
    assert shown(BOTH, [(0, rows)]) == [[(1, 2, 2)], []]


def test_any_row_opens_one_where_the_start_is_true():
    text = f"{COUNTED} IDENTIFIED BY (ts, true, e) WITH MAXSPAN 10s"
    rows = [row(1, 0), row(1, 1), row(1, 2, closes=True), row(1, 3, closes=True)]
    assert [sorted(rows) for rows in shown(text, [(0, rows)])] == [[(1, 1, 1), (1, 3, 3)], []]


def test_nothing_closes_one_but_its_length_where_the_end_is_false():
    text = f"{COUNTED} IDENTIFIED BY (ts, s, false) WITH MAXSPAN 10s"
    rows = [row(1, 0), row(1, 1, opens=True), row(1, 2, closes=True), row(1, 11)]
    assert shown(text, [(0, rows)]) == [[(1, 3, 3)], []]


def test_only_sessions_that_are_long_enough():
    text = f"{COUNTED} IDENTIFIED BY (ts, s, e) WITH ONLY MAXSPAN 10s AND TIMEOUT 20s"
    rows = [row(1, 0, opens=True), row(1, 1, closes=True), row(2, 0, opens=True), row(3, 0, opens=True)]
    later = [row(2, 12, closes=True)]
    assert shown(text, [(0, rows), (1, later), (30, [])]) == [[], [(2, 2, 2)], [], []]


def test_silence_closes_each_session_by_itself():
    text = f"{COUNTED} IDENTIFIED BY ts WITH MAXSPAN 1m AND TIMEOUT 60s"
    steps = [(0, [row(1, 0), row(2, 0)]), (10, [row(2, 1)]), (59, []), (60, []), (69, []), (70, []), (71, [row(1, 2)])]
    assert shown(text, steps) == [[], [], [], [(1, 1, 1)], [], [(2, 2, 2)], [], [(1, 1, 1)]]


def test_in_a_step_the_input_comes_before_the_silence_is_over():
    text = f"{COUNTED} IDENTIFIED BY ts WITH MAXSPAN 1m AND TIMEOUT 60s"
    assert shown(text, [(0, [row(1, 0)]), (90, [row(1, 1)]), (150, [])])[1:3] == [[], [(1, 2, 2)]]


def test_a_row_may_go_from_a_session_that_is_open_and_not_from_one_that_has_closed():
    gone, late = row(1, 1, kind="-"), row(1, 0, opens=True, kind="-")
    with opened() as pipeline:
        query = pipeline.subscribe(BOTH, clock=START)
        pipeline.step({"t": [row(1, 0, opens=True), row(1, 1), row(1, 2)]}, clock=at(0))
        pipeline.step({"t": [gone]}, clock=at(1))
        pipeline.step({"t": [row(1, 3, closes=True)]}, clock=at(2))
        pipeline.step({"t": [late]}, clock=at(3))
        assert emitted(query) == [(1, 3, 3)]
        (reported,) = pipeline.query("SELECT table_or_view_name, message, metadata FROM error_view").rows
        assert reported[:2] == ("q1 (rows)", "Late value")
        assert "__session" not in reported[2]


def test_a_session_without_rows_is_none():
    steps = [(0, [row(1, 0, opens=True)]), (1, [row(1, 0, opens=True, kind="-")]), (2, [row(1, 1, closes=True)])]
    assert shown(BOTH, steps) == [[], [], [], []]


def test_a_query_without_keys_has_one_session_at_a_time():
    text = (
        "SELECT COUNT(*) AS n FROM t HAVING COUNT(*) > 1 EMIT STREAM AFTER SESSION CLOSE IDENTIFIED BY (ts, true, e) "
    )
    rows = [row(1, 0), row(2, 1, closes=True), row(3, 2, closes=True)]
    assert shown(text + "WITH MAXSPAN 10s", [(0, rows)]) == [[(2, "", START, 0)], []]


def test_sessions_of_rows_that_are_joined_and_filtered():
    text = (
        "SELECT a.k, COUNT(*) AS n FROM t a JOIN t b ON a.k = b.k WHERE b.x = 9 AND a.x <> 9 GROUP BY a.k "
        "EMIT AFTER SESSION CLOSE IDENTIFIED BY (ts, true, e) WITH MAXSPAN 10s"
    )
    with pytest.raises(penstock.SqlError, match="ts"):
        shown(text, [])
    text = text.replace("FROM t a", "FROM (SELECT k AS k, ts AS at, x AS x, e AS e2 FROM t) a").replace(
        "(ts, true, e)", "(at, true, e2)"
    )
    assert shown(text, [(0, [row(1, 0, x=9), row(1, 1), row(1, 2, closes=True)])]) == [[(1, 2)], []]


def test_rows_in_no_order_are_taken_by_their_times():
    text = (
        "SELECT k, COUNT(*) AS n FROM (SELECT a.k, a.ts, a.s, a.e FROM t a JOIN t b ON a.k = b.k WHERE b.x = 9 AND "
        "a.x <> 9) GROUP BY k EMIT AFTER SESSION CLOSE IDENTIFIED BY (ts, s, e) WITH MAXSPAN 10m"
    )
    rows = [row(1, 9, closes=True), row(1, 0, x=9), row(1, 4, opens=True), row(1, 4), row(1, 4, closes=True)]
    assert shown(text, [(0, [*reversed(rows), *(row(1, 5 + n % 4) for n in range(9))])]) == [[(1, 3)], []]


def test_so_are_those_of_a_step_in_which_rows_go():
    rows = [row(1, 3, closes=True), row(1, 2), row(1, 1, opens=True), row(1, 2, x=7), row(1, 2, x=7, kind="-")]
    assert shown(BOTH, [(0, rows)]) == [[(1, 3, 3)], []]


def test_closed_sessions_are_forgotten():
    with opened() as pipeline:
        pipeline.subscribe(BOTH, clock=START)
        sizes = []
        for number in range(3):
            base = number * 1000
            keys = range(base, base + 500)
            pipeline.step({"t": [row(k, 0, opens=True) for k in keys]}, clock=at(number))
            pipeline.step({"t": [row(k, 1, closes=True) for k in keys]}, clock=at(number))
            pipeline.compact()
            sizes.append(sum(item.rows for item in pipeline.state()))
        assert sizes == [0, 0, 0]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT k FROM t EMIT AFTER SESSION CLOSE IDENTIFIED BY ts WITH MAXSPAN 1m", "EMIT_FORM"),
        (f"{COUNTED} WITH MAXSPAN 1m", "SESSION_CLOSE"),
        (f"{COUNTED} IDENTIFIED BY nothing WITH MAXSPAN 1m", "UNKNOWN_COLUMN"),
        (f"{COUNTED} IDENTIFIED BY k WITH MAXSPAN 1m", "WINDOW_TIME"),
        (f"{COUNTED} IDENTIFIED BY (ts, x, e) WITH MAXSPAN 1m", "SESSION_CLOSE"),
        (f"{COUNTED} IDENTIFIED BY (ts, false, e) WITH MAXSPAN 1m", "EMIT_FORM"),
        (f"{COUNTED} IDENTIFIED BY (ts, s, true) WITH MAXSPAN 1m", "EMIT_FORM"),
        (f"{COUNTED} IDENTIFIED BY ts WITH MAXSPAN 1m SETTINGS merge_open_sessions = 7", "BAD_SETTING"),
        (f"{COUNTED.replace('EMIT', 'EMIT CHANGES')} IDENTIFIED BY ts WITH MAXSPAN 1m", "EMIT_FORM"),
        (f"{COUNTED.replace('EMIT', 'EMIT DELTA')} IDENTIFIED BY ts WITH MAXSPAN 1m", "EMIT_FORM"),
    ],
)
def test_what_makes_no_sessions_is_refused(text, code):
    with opened() as pipeline, pytest.raises(penstock.PenstockError) as caught:
        pipeline.subscribe(text, clock=START)
    assert caught.value.diagnostics[0].code == code


# All rules together

FLAG = st.sampled_from([None, False, False, True])
ROWS = st.lists(
    st.tuples(
        st.sampled_from("+++-"),
        st.tuples(st.none() | st.integers(0, 1), st.none() | st.integers(0, 9), FLAG, FLAG, st.integers(0, 1)),
    ),
    max_size=5,
)
STEPS = st.lists(st.tuples(st.integers(0, 4), ROWS), min_size=1, max_size=8)
MODES = st.tuples(st.booleans(), st.booleans(), st.booleans(), st.booleans(), st.booleans(), st.booleans())


class Plain:
    """The rule, read plainly: the open session of each key is the list of its rows."""

    def __init__(self, mode):
        self.opens, self.closes, self.only, self.merges, self.included, self.timed = mode
        self.open = {}
        self.shown = []

    def close(self, key):
        rows = self.open.pop(key)["rows"]
        if rows and (not self.only or self.length(rows) >= 4):
            self.shown.append((key, len(rows), sum(item[4] for item in rows)))

    @staticmethod
    def length(rows):
        times = [item[1] for item in rows if item[1] is not None]
        return max(times) - min(times) if times else 0

    def in_no_order(self, item):
        _, time, opens, closes, _ = item
        opens, closes = (opens is True if self.opens else True), self.closes and closes is True
        return (time is not None, time or 0), not opens, closes, repr(canonical_row(item))

    def come(self, item, clock):
        key, _, opens, closes, _ = item
        opens, closes = (opens is True if self.opens else True), self.closes and closes is True
        session = self.open.get(key)
        if session and self.opens and opens and not closes and not self.merges:
            self.close(key)
            session = None
        if not session and not opens:
            return
        session = self.open.setdefault(key, {"rows": [], "last": clock})
        if not closes or self.included:
            session["rows"].append(item)
            session["last"] = clock
        if closes or self.length(session["rows"]) >= 4:
            self.close(key)

    def gone(self, item):
        session = self.open.get(item[0])
        if session and item in session["rows"]:
            session["rows"].remove(item)
            if not session["rows"]:
                del self.open[item[0]]

    def clock(self, clock):
        for key in [key for key, item in self.open.items() if self.timed and item["last"] + 5 <= clock]:
            self.close(key)


@examples(6, 20)
@given(STEPS, MODES)
def test_what_is_shown_is_what_the_rule_says(steps, mode):
    plain = Plain(mode)
    bounds = f"(ts, {'s' if plain.opens else 'true'}, {'e' if plain.closes else 'false'})"
    text = f"{COUNTED} IDENTIFIED BY {bounds} WITH {'ONLY ' if plain.only else ''}MAXSPAN 4s"
    text += " AND TIMEOUT 5s" if plain.timed else ""
    text += f" SETTINGS merge_open_sessions = {plain.merges}, include_session_end = {plain.included}"
    with opened() as pipeline:
        query, clock, there = pipeline.subscribe(text, clock=START), 0, Counter()
        for seconds, changes in steps:
            clock += seconds
            taken = []
            for kind, item in changes:
                if kind == "+" or there[item]:
                    there[item] += 1 if kind == "+" else -1
                    taken.append((kind, item))
            net = Counter()  # a row that comes and goes in one step has not been there
            for kind, item in taken:
                net[item] += 1 if kind == "+" else -1
            with suppress(penstock.DataError):
                pipeline.step({"t": [row(*item, kind=kind) for kind, item in taken]}, clock=at(clock))
            play(plain, taken, net, clock)
            plain.clock(clock)
            assert Counter(emitted(query)) == Counter(plain.shown)
            plain.shown = []
        pipeline.end_of_input()
        for key in list(plain.open):
            plain.close(key)
        assert Counter(emitted(query)) == Counter(plain.shown)


def play(plain, taken, net, clock):
    """A step: what goes first, then what comes, in its order; where rows go the others lie in none, and go by times."""
    for item, weight in net.items():
        for _ in range(-weight):
            plain.gone(item)
    goes = any(kind == "-" for kind, _ in taken)
    order = (
        sorted((item for item in net for _ in range(net[item])), key=plain.in_no_order)
        if goes
        else [item for _, item in taken]
    )
    for item in order:
        plain.come(item, clock)
