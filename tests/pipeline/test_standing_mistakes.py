"""Standing queries that cannot be, clocks that do not go on, and ticks that cost nothing; without a JVM."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

import penstock
from penstock.bind.query_settings import warnings_of
from penstock.sql.parse import parse_query

START = datetime(2025, 1, 1, 10)  # noqa: DTZ001 - UTC
SECOND = timedelta(seconds=1)
PROGRAM = "CREATE STREAM s (k string, v int, b bool, e bool); CREATE VIEW m AS SELECT k, max(v) AS v FROM s GROUP BY k;"
SESSIONS = "emit after session close identified by (_tp_time, b, e) with maxspan"


@penstock.LaterSession
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
        ("select k from (select k, count() from s group by k emit periodic 0s)", "EMIT_LENGTH", "0s"),
        ("with c as (select k from s emit stream changes) select k from c", "EMIT_CLAUSE", "changes"),
        ("select k from s where k in (select k from s emit periodic 1s often)", "EMIT_CLAUSE", "often"),
        ("select k from (select k from s emit last 1h)", "EMIT_IN_SUBQUERY", "last 1h"),
        ("select k from (select k from s emit periodic 1s with delay 1s)", "EMIT_IN_SUBQUERY", "with delay 1s"),
        (f"select * from (select count() from s group by k {SESSIONS} 1s)", "EMIT_IN_SUBQUERY", "maxspan"),
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


WINDOWED = "select max(v) from tumble(s, 5s) group by window_end settings"


@pytest.mark.parametrize(
    ("text", "code", "shown"),
    [
        ("select count() from s settings seek_too = 'earliest'", "UNKNOWN_SETTING", "seek_too = 'earliest'"),
        ("select count() from s settings query_mode = 'tabel'", "BAD_SETTING", "query_mode = 'tabel'"),
        ("select count() from s settings query_mode = 'table'", "BAD_SETTING", "query_mode = 'table'"),
        ("select k from s emit last 1h settings max_keep_windows = -1", "BAD_SETTING", "found -1"),
        ("select k from s settings join_use_nulls = 0", "BAD_SETTING", "join_use_nulls = 0"),
        ("select k from s settings seek_to = '-2x'", "BAD_SETTING", "seek_to = '-2x'"),
        (f"{WINDOWED} late_updates = 'maybe'", "REFINEMENT", "late_updates = 'maybe'"),
        (f"{WINDOWED} first_result = -5", "REFINEMENT", "found '-5'"),
        ("select max(v) from s settings update_rate = '0 seconds'", "REFINEMENT", "update_rate = '0 seconds'"),
        ("select max(v) from tumble(s, 1M) group by window_start", "NOT_AN_INTERVAL", "tumble(s, 1M)"),
        ("select max(v) from tumble(s, 1q) group by window_end", "NOT_AN_INTERVAL", "tumble(s, 1q)"),
        (f"select count() from s {SESSIONS.replace('_tp_time', 'v')} 1s", "WINDOW_TIME", "INT"),
        (f"select count() from s {SESSIONS.replace('b,', 'v,')} 1s", "SESSION_CLOSE", "BOOLEAN"),
        ("select k from s limit 2.5", "BAD_LIMIT", "found 2.5"),
        ("select count() from s emit last 365000000d", "EMIT_LENGTH", "365000d"),
        ("select count() from s emit periodic 365000001d", "EMIT_LENGTH", "365000d"),
        ("select count() from s where emit_version() > 1", "EMIT_FORM", "SELECT list"),
        ("select emit_version() + 1, count() from s", "EMIT_FORM", "SELECT list"),
        ("select count() from s group by emit_version()", "EMIT_FORM", "SELECT list"),
    ],
)
def test_it_is_refused_at_its_place(pipeline, text, code, shown):
    with pytest.raises(penstock.PenstockError) as refused:
        pipeline.subscribe(text)
    assert (refused.value.code, refused.value.diagnostics[0].span is None) == (code, False), refused.value.render()
    assert shown in refused.value.render()
    assert pipeline.queries == []


def test_a_property_of_a_view_is_refused_at_its_place():
    view = "CREATE VIEW v WITH ('update_rate' = '0 seconds') AS SELECT max(v) AS m FROM s"
    with pytest.raises(penstock.SqlError) as refused, penstock.Pipeline(f"{PROGRAM}{view}", dialect="timeplus"):
        pass
    assert refused.value.code == "REFINEMENT"
    assert "update_rate' = '0 seconds'\n" not in refused.value.render()
    assert refused.value.diagnostics[0].span is not None


def test_a_setting_may_ask_for_the_rows_that_are_there(pipeline):
    pipeline.step({"s": [("a", 1, False, False)]})
    text = "select count() from s settings query_mode = 'table', max_threads = 2"
    assert list(pipeline.query(text)) == [(1,)]


def test_what_timeplus_alone_knows_is_warned_of():
    tree = parse_query("SELECT k FROM s EMIT LAST 1h SETTINGS max_keep_windows = 9, seek_to = 'latest'", "timeplus")
    (found,) = warnings_of(tree)
    assert (found.code, found.severity, found.span is None) == ("NO_MEANING", "warning", False)
    assert "max_keep_windows" in found.message


@pytest.mark.parametrize("text", ["KILL QUERY q1", "SHOW QUERIES", "SHOW TABLES"])
def test_what_is_no_query_says_what_works_in_python(pipeline, text):
    for ask in (pipeline.query, pipeline.subscribe, pipeline.execute):
        with pytest.raises(penstock.SqlError) as refused:
            ask(text)
        assert "Pipeline." in refused.value.render()
        assert "execute()" not in refused.value.render()


def test_columns_are_named_after_what_was_written():
    text = "CREATE VIEW n AS SELECT max_k(v, 2), p90(v), 1 + count_if(v > 1), to_string(max(v)) FROM s"
    with penstock.Pipeline(f"{PROGRAM}{text}", dialect="timeplus") as opened:
        names = [item.label for item in opened.catalog.views["n"].columns]
    assert names == ["max_k(v, 2)", "p90(v)", "(1 + count_if(v > 1))", "to_string(max(v))"]


def test_columns_are_named_alike_under_each_policy(pipeline):
    text = "select k, sum(v), 1 + max(v) from s group by k"
    names = ("k", "sum(v)", "(1 + max(v))")
    assert pipeline.subscribe(text).columns == pipeline.subscribe(f"{text} emit per event").columns == names


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
