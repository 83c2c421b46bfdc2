"""Standing queries that cannot be, clocks that do not go on, and ticks that cost nothing; without a JVM."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

import penstock

START = datetime(2025, 1, 1, 10)  # noqa: DTZ001 - UTC
SECOND = timedelta(seconds=1)
PROGRAM = "CREATE STREAM s (k string, v int, b bool, e bool); CREATE VIEW m AS SELECT k, max(v) AS v FROM s GROUP BY k;"
SESSIONS = "emit after session close identified by (_tp_time, b, e) with maxspan"


def no_spark():
    pytest.fail("Spark was asked for")


@pytest.fixture
def pipeline():
    with penstock.Pipeline(PROGRAM, dialect="timeplus", spark=no_spark, engine="auto") as opened:
        yield opened


def read(query):
    found = []
    while (emission := query.get(0)) is not None:
        found += list(emission)
    return found


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("select k from s partition by nope emit changelog", "UNKNOWN_COLUMN", "'nope'"),
        ("select count() from s partition by nope", "UNKNOWN_COLUMN", "'nope'"),
        ("select count() from tumble(s, 1m) partition by nope group by window_end", "UNKNOWN_COLUMN", "'nope'"),
        ("select count() from s emit after watermark", "NO_WATERLINE", "no column"),
        (f"select count() from s group by k {SESSIONS} 10m and timeout 5m", "EMIT_NOT_TOGETHER", "shorter"),
        (f"select count() from s group by k {SESSIONS} 1h", "EMIT_LENGTH", "1h"),
        ("select count() from s limit -1", "BAD_LIMIT", "whole number"),
        ("select count() from s emit periodic 0s", "EMIT_LENGTH", "0s"),
        ("select count() from s emit periodic -1s", "EMIT_LENGTH", "-1s"),
        ("select count() from s emit periodic 1M", "EMIT_LENGTH", "1M"),
    ],
)
def test_it_is_refused_and_nothing_stands(pipeline, text, code, said):
    with pytest.raises(penstock.PenstockError) as refused:
        pipeline.subscribe(text)
    assert refused.value.code == code
    assert said in refused.value.render()
    assert "__" not in refused.value.render()
    assert pipeline.queries == []
    pipeline.step({"s": [("a", 1, False, False)]})


def test_a_limit_of_no_rows_has_ended(pipeline):
    query = pipeline.subscribe("select k from s limit 0")
    assert list(query) == []
    assert pipeline.queries == []


def test_the_past_may_be_longer_than_there_is(pipeline):
    pipeline.step({"s": [("a", 1, False, False)]}, clock=START)
    query = pipeline.subscribe("select k from s emit last 100000d")
    pipeline.step({"s": [("b", 1, False, False)]}, clock=START + SECOND)
    assert sorted(read(query)) == [("a",), ("b",)]


def test_a_silence_begins_with_the_first_row(pipeline):
    query = pipeline.subscribe("select count() from tumble(s, 1m) group by window_end emit timeout 2s", clock=START)
    for second in (0, 5, 10):
        pipeline.step(clock=START + second * SECOND)
    pipeline.step({"s": [("a", 1, False, False)]}, clock=START + 11 * SECOND)
    pipeline.step(clock=START + 12 * SECOND)
    assert read(query) == []
    pipeline.step(clock=START + 13 * SECOND)
    assert read(query) == [(1,)]


def test_a_delay_may_be_longer_than_the_window(pipeline):
    text = "select window_start, count() from tumble(s, 5s) group by window_start emit after watermark with delay 1h"
    query = pipeline.subscribe(text, clock=START)
    pipeline.step({"s": [("a", 1, False, False)]}, clock=START)
    pipeline.step({"s": [("a", 1, False, False)]}, clock=START + 3604 * SECOND)
    assert read(query) == []
    pipeline.step({"s": [("a", 1, False, False)]}, clock=START + 3605 * SECOND)
    assert read(query) == [(START, 1)]


def test_an_end_that_finds_no_session_belongs_to_none(pipeline):
    query = pipeline.subscribe(f"select k, count() from s group by k {SESSIONS} 10m", clock=START)
    rows = [("a", 1, False, True), ("a", 2, True, False), ("a", 3, False, False), ("a", 4, False, True)]
    for number, row in enumerate(rows):
        pipeline.step({"s": [row]}, clock=START + number * SECOND)
    assert read(query) == [("a", 3)]


def test_a_clock_that_goes_back_is_refused_and_no_timer_is_lost(pipeline):
    query = pipeline.subscribe("select count() from s emit periodic 5s", clock=START)
    pipeline.step({"s": [("a", 1, False, False)]}, clock=START + 3 * SECOND)
    with pytest.raises(penstock.DataError) as refused:
        pipeline.step({"s": [("b", 1, False, False)]}, clock=START)
    assert refused.value.code == "CLOCK_BACK"
    assert "2025-01-01 10:00:03 or a later time" in refused.value.render()
    pipeline.step(clock=START + 5 * SECOND)
    assert read(query) == [(1,)]


def test_nothing_begins_at_a_clock_that_goes_back(pipeline):
    """A query or view that began before the last step would have ticks behind it, and so would all that follows."""
    pipeline.step({"s": [("a", 1, False, False)]}, clock=START + 3 * SECOND)
    for begin in (
        lambda: pipeline.subscribe("select count() from s emit periodic 5s", clock=START),
        lambda: pipeline.execute("create view v as select count() from s emit periodic 5s", clock=START),
        lambda: pipeline.execute("insert into s (k, v) values ('a', 1)", clock=START),
    ):
        with pytest.raises(penstock.DataError) as refused:
            begin()
        assert refused.value.code == "CLOCK_BACK"
    assert pipeline.queries == []
    assert set(pipeline.catalog.views) == {"m"}
    pipeline.step({"s": [("a", 1, False, False)]})
    assert pipeline.clock == START + 3 * SECOND


def test_the_clock_of_the_machine_may_go_back(pipeline, monkeypatch):
    shown, clocks = [START], []
    monkeypatch.setattr("penstock.pipeline.pipeline.now", lambda: shown[-1])
    for moved in (0, -60, 1):
        shown.append(START + moved * SECOND)
        pipeline.step({"s": [("a", 1, False, False)]})
        clocks.append(pipeline.clock)
    assert clocks == [START, START, START + SECOND]


class Counted:
    """A connection that counts the statements beside those that begin and end a step."""

    def __init__(self, connection):
        self._connection = connection
        self.statements = []

    def execute(self, text, *rest):
        if text not in ("BEGIN", "COMMIT"):
            self.statements.append(text)
        return self._connection.execute(text, *rest)

    def sql(self, text):
        self.statements.append(text)
        return self._connection.sql(text)

    def __getattr__(self, name):
        return getattr(self._connection, name)


TICKING = (
    "select k, count() from s group by k emit periodic 2s repeat",
    "select k, v from m emit periodic 3s on update",
    "select window_end, count() from tumble(s, 5s) group by window_end emit timeout 90s",
    "select count() from s emit after delay 70s",
)


def test_a_tick_costs_no_query(pipeline, monkeypatch):
    queries = [pipeline.subscribe(text, clock=START) for text in TICKING]
    pipeline.step({"s": [("a", 1, False, False)]}, clock=START)
    store = pipeline._opened().stepper.engine.store
    counted = Counted(store._connection)
    monkeypatch.setattr(store, "_connection", counted)
    for second in range(1, 60):
        pipeline.step(clock=START + second * SECOND)
    assert counted.statements == []
    assert [len(read(query)) for query in queries] == [29, 1, 0, 0]
    pipeline.step({"s": [("a", 1, False, False)]}, clock=START + 60 * SECOND)
    assert counted.statements
