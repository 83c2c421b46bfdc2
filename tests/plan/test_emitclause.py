"""EMIT is read to its value, or refused with the place."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.bind.program.compile import compile_program
from penstock.errors import Span, SqlError
from penstock.plan.emission import (
    Batch,
    EmitClause,
    GroupDelay,
    Last,
    Row,
    SessionClose,
    Tick,
    Trigger,
    WindowClose,
)
from penstock.plan.emitclause import read_emit

SESSION = "EMIT AFTER SESSION CLOSE"

# As written, and the normal form.
FORMS = [
    ("EMIT STREAM", "EMIT STREAM"),
    ("EMIT CHANGES", "EMIT CHANGELOG"),
    ("EMIT CHANGELOG", "EMIT CHANGELOG"),
    ("EMIT DELTA PERIODIC 2s", "EMIT DELTA PERIODIC 2s"),
    ("emit stream periodic 3s repeat", "EMIT STREAM PERIODIC 3s REPEAT"),
    ("EMIT AFTER WATERMARK", "EMIT AFTER WINDOW CLOSE"),
    ("EMIT AFTER WINDOW CLOSE", "EMIT AFTER WINDOW CLOSE"),
    ("EMIT AFTER WATERMARK WITH DELAY 1s", "EMIT AFTER WINDOW CLOSE WITH DELAY 1s"),
    ("EMIT AFTER WINDOW CLOSE AND TIMEOUT 5s", "EMIT AFTER WINDOW CLOSE AND TIMEOUT 5s"),
    ("EMIT AFTER WINDOW CLOSE TIMEOUT 5s", "EMIT AFTER WINDOW CLOSE AND TIMEOUT 5s"),
    ("EMIT TIMEOUT 5s AFTER WATERMARK WITH DELAY 1s", "EMIT AFTER WINDOW CLOSE WITH DELAY 1s AND TIMEOUT 5s"),
    ("EMIT AFTER WATERMARK AND LAST 1h AND TIMEOUT 5s", "EMIT AFTER WINDOW CLOSE AND TIMEOUT 5s AND LAST 1h"),
    ("EMIT PERIODIC 1s REPEAT WITH DELAY 1s AND TIMEOUT 5s", "EMIT PERIODIC 1s REPEAT WITH DELAY 1s AND TIMEOUT 5s"),
    ("EMIT ON UPDATE", "EMIT ON UPDATE"),
    ("EMIT ON UPDATE WITH BATCH 1s WITH DELAY 2s", "EMIT ON UPDATE WITH BATCH 1s WITH DELAY 2s"),
    ("EMIT PERIODIC 1s ON UPDATE", "EMIT ON UPDATE WITH BATCH 1s"),
    ("EMIT ON UPDATE PERIODIC 1s", "EMIT ON UPDATE WITH BATCH 1s"),
    ("EMIT PER EVENT WITH DELAY 1s AND TIMEOUT 5s", "EMIT PER EVENT WITH DELAY 1s AND TIMEOUT 5s"),
    ("EMIT TIMEOUT 3s", "EMIT TIMEOUT 3s"),
    ("EMIT LAST 1h", "EMIT LAST 1h"),
    ("EMIT LAST 1h ON PROCTIME", "EMIT LAST 1h ON PROCTIME"),
    ("EMIT PERIODIC 5s LAST 1h", "EMIT PERIODIC 5s AND LAST 1h"),
    ("EMIT LAST 1h ON PROCTIME AND PERIODIC 5s", "EMIT PERIODIC 5s AND LAST 1h ON PROCTIME"),
    ("EMIT STREAM AFTER DELAY INTERVAL '6' MINUTES", "EMIT STREAM AFTER DELAY 6m"),
    ("EMIT AFTER DELAY 6m AND AFTER WATERMARK", "EMIT AFTER DELAY 6m AND AFTER WATERMARK"),
    ("EMIT AFTER DELAY 6m AFTER WATERMARK", "EMIT AFTER DELAY 6m AND AFTER WATERMARK"),
    ("EMIT AFTER WATERMARK AND AFTER DELAY 6m", "EMIT AFTER DELAY 6m AND AFTER WATERMARK"),
    (f"{SESSION} WITH MAXSPAN 120m", f"{SESSION} WITH MAXSPAN 120m"),
    ("EMIT AFTER KEY EXPIRE WITH ONLY MAXSPAN 1s TIMEOUT 1s", f"{SESSION} WITH ONLY MAXSPAN 1s AND TIMEOUT 1s"),
    (f"{SESSION} IDENTIFIED BY _tp_time WITH MAXSPAN 1s", f"{SESSION} IDENTIFIED BY _tp_time WITH MAXSPAN 1s"),
    (f"{SESSION} IDENTIFIED BY (ts) WITH MAXSPAN 1s", f"{SESSION} IDENTIFIED BY ts WITH MAXSPAN 1s"),
    (
        f'{SESSION} identified by ("my ts", TRUE, `true`) WITH MAXSPAN 1s',
        f"{SESSION} IDENTIFIED BY (`my ts`, true, `true`) WITH MAXSPAN 1s",
    ),
    ("EMIT /* often */ PERIODIC -- by the clock\n 1s", "EMIT PERIODIC 1s"),
]


@pytest.mark.parametrize(("written", "normal"), FORMS)
def test_the_normal_form(written: str, normal: str) -> None:
    assert read_emit(written).text() == normal
    assert read_emit(normal) == read_emit(written)


@pytest.mark.parametrize(
    ("written", "length"),
    [
        ("5s", timedelta(seconds=5)),
        ("5 s", timedelta(seconds=5)),
        ("1m", timedelta(minutes=1)),
        ("60s", timedelta(minutes=1)),
        ("100ms", timedelta(milliseconds=100)),
        ("7us", timedelta(microseconds=7)),
        ("3000ns", timedelta(microseconds=3)),
        ("2h", timedelta(hours=2)),
        ("1d", timedelta(days=1)),
        ("INTERVAL 5 SECOND", timedelta(seconds=5)),
        ("interval 5 seconds", timedelta(seconds=5)),
        ("INTERVAL '6' MINUTES", timedelta(minutes=6)),
        ("INTERVAL '6 minutes'", timedelta(minutes=6)),
        ("INTERVAL 5s", timedelta(seconds=5)),
        ("365000d", timedelta(days=365_000)),
    ],
)
def test_lengths_of_time(written: str, length: timedelta) -> None:
    assert read_emit(f"EMIT PERIODIC {written}") == EmitClause(trigger=Tick(length))


# The clause, its code, the place, and a part of the message or the hint.
REFUSED = [
    ("EMIT", "EMIT_CLAUSE", "T", "EMIT says nothing"),
    ("STREAM", "EMIT_CLAUSE", "STREAM", "expected EMIT"),
    ("EMIT STREAM CHANGES", "EMIT_CLAUSE", "CHANGES", "directly behind EMIT"),
    ("EMIT PERIODDIC 1s", "EMIT_CLAUSE", "PERIODDIC", "did you mean: PERIODIC?"),
    ("EMIT FINAL", "EMIT_CLAUSE", "FINAL", "AFTER WATERMARK"),
    ("EMIT 'STREAM'", "EMIT_CLAUSE", "'STREAM'", "found 'STREAM'"),
    ("EMIT ; SELECT 1", "EMIT_CLAUSE", ";", "found ;"),
    ("EMIT AFTER", "EMIT_CLAUSE", "R", "WATERMARK, WINDOW CLOSE, DELAY, SESSION CLOSE, KEY EXPIRE; the clause ends"),
    ("EMIT AFTER WINDOW OPEN", "EMIT_CLAUSE", "OPEN", "AFTER WINDOW is followed by CLOSE; found OPEN"),
    ("EMIT ON CHANGE", "EMIT_CLAUSE", "CHANGE", "ON is followed by WINDOW CLOSE, UPDATE"),
    ("EMIT PERIODIC 1s WITH BATCH 2s", "EMIT_CLAUSE", "BATCH", "directly behind ON UPDATE"),
    ("EMIT TIMEOUT 1s REPEAT", "EMIT_CLAUSE", "REPEAT", "directly behind PERIODIC"),
    ("EMIT AND TIMEOUT 1s", "EMIT_CLAUSE", "AND", "between two parts"),
    ("EMIT TIMEOUT 1s AND", "EMIT_CLAUSE", "D", "AND is followed by nothing"),
    ("EMIT TIMEOUT 1s AND AND LAST 1s", "EMIT_CLAUSE", "AND", "between two parts"),
    ("EMIT PERIODIC 1s EMIT STREAM", "EMIT_CLAUSE", "EMIT", "EMIT stands twice"),
    ("EMIT STREAM WITH DELAY 1s", "EMIT_CLAUSE", "WITH DELAY 1s", "AFTER WATERMARK WITH DELAY"),
    ("EMIT LAST 1h ON SOMETHING", "EMIT_CLAUSE", "SOMETHING", "LAST … ON is followed by PROCTIME"),
    ("EMIT LAST 1h ON UPDATE", "EMIT_CLAUSE", "UPDATE", "write ON UPDATE before LAST"),
    (SESSION, "EMIT_CLAUSE", "E", "WITH [ONLY] MAXSPAN"),
    (f"{SESSION} IDENTIFIED BY WITH MAXSPAN 1s", "EMIT_CLAUSE", "WITH", "IDENTIFIED BY takes one column"),
    (f"{SESSION} IDENTIFIED BY (ts, s) WITH MAXSPAN 1s", "EMIT_CLAUSE", "(ts, s)", "IDENTIFIED BY takes one column"),
    (f"{SESSION} IDENTIFIED BY (a, b, c, d) WITH MAXSPAN 1s", "EMIT_CLAUSE", "(a, b, c, d)", "IDENTIFIED BY takes"),
    (f"{SESSION} IDENTIFIED BY (a = 1, s, e) WITH MAXSPAN 1s", "EMIT_CLAUSE", "=", "IDENTIFIED BY takes one column"),
    (f"{SESSION} IDENTIFIED BY (a, s", "EMIT_CLAUSE", "s", "IDENTIFIED BY takes one column"),
    (f"{SESSION} IDENTIFIED BY true WITH MAXSPAN 1s", "EMIT_CLAUSE", "true", "IDENTIFIED BY takes one column"),
    (f"{SESSION} IDENTIFIED BY 'ts' WITH MAXSPAN 1s", "EMIT_CLAUSE", "'ts'", "IDENTIFIED BY takes one column"),
    (f"{SESSION} IDENTIFIED BY t.ts WITH MAXSPAN 1s", "EMIT_CLAUSE", ".", "IDENTIFIED BY takes one column"),
    ("EMIT PERIODIC", "EMIT_LENGTH", "C", "PERIODIC is followed by a length of time"),
    ("EMIT PERIODIC 'x'", "EMIT_LENGTH", "'x'", "PERIODIC is followed by a length of time"),
    ("EMIT PERIODIC 0s", "EMIT_LENGTH", "0s", "PERIODIC takes a length of time above zero"),
    ("EMIT PERIODIC -5s", "EMIT_LENGTH", "-5s", "PERIODIC takes a length of time above zero"),
    ("EMIT LAST INTERVAL '-5' SECOND", "EMIT_LENGTH", "INTERVAL '-5' SECOND", "LAST takes a length"),
    ("EMIT AFTER WATERMARK WITH DELAY 0s", "EMIT_LENGTH", "0s", "WITH DELAY takes a length of time above zero"),
    ("EMIT PERIODIC 1w", "EMIT_LENGTH", "1w", "PERIODIC takes no weeks"),
    ("EMIT PERIODIC 1M", "EMIT_LENGTH", "1M", "PERIODIC takes no months"),
    ("EMIT PERIODIC 1q", "EMIT_LENGTH", "1q", "PERIODIC takes no quarters"),
    ("EMIT PERIODIC 1y", "EMIT_LENGTH", "1y", "PERIODIC takes no years"),
    ("EMIT TIMEOUT INTERVAL 1 MONTH", "EMIT_LENGTH", "INTERVAL 1 MONTH", "TIMEOUT takes no months"),
    ("EMIT PERIODIC 5S", "EMIT_LENGTH", "5S", "case sensitive"),
    ("EMIT PERIODIC 5 AND TIMEOUT 5s", "EMIT_LENGTH", "5", "us, ms, s, m, h or d, found 5"),
    ("EMIT PERIODIC 1.5s", "EMIT_LENGTH", "1.5s", "a whole number"),
    ("EMIT PERIODIC 5ns", "EMIT_LENGTH", "5ns", "whole microseconds"),
    ("EMIT PERIODIC 1000000000d", "EMIT_LENGTH", "1000000000d", "365000d"),
    (f"EMIT PERIODIC {'9' * 5000}d", "EMIT_LENGTH", f"{'9' * 5000}d", "365000d"),
    (f"{SESSION} WITH MAXSPAN 0s", "EMIT_LENGTH", "0s", "MAXSPAN takes a length of time above zero"),
    (f"{SESSION} WITH MAXSPAN 1h", "EMIT_LENGTH", "1h", "MAXSPAN takes a length of time in ms, s or m"),
    (f"{SESSION} WITH MAXSPAN 120m AND TIMEOUT 15m", "EMIT_NOT_TOGETHER", "TIMEOUT 15m", "shorter than MAXSPAN"),
    (f"{SESSION} WITH MAXSPAN 1s WITH DELAY 1s", "EMIT_NOT_TOGETHER", "WITH DELAY 1s", "SESSION CLOSE and WITH DELAY"),
    ("EMIT TIMEOUT 1s TIMEOUT 2s", "EMIT_NOT_TOGETHER", "TIMEOUT 2s", "TIMEOUT 1s and TIMEOUT 2s"),
    ("EMIT PERIODIC 1s PERIODIC 2s", "EMIT_NOT_TOGETHER", "PERIODIC 2s", "PERIODIC 1s and PERIODIC 2s"),
    ("EMIT PERIODIC 1s AFTER WATERMARK", "EMIT_NOT_TOGETHER", "AFTER WATERMARK", "PERIODIC 1s and AFTER WATERMARK"),
    ("EMIT PERIODIC 1s REPEAT ON UPDATE", "EMIT_NOT_TOGETHER", "ON UPDATE", "leave REPEAT out"),
    ("EMIT PERIODIC 1s ON UPDATE WITH BATCH 1s", "EMIT_NOT_TOGETHER", "ON UPDATE WITH BATCH 1s", "interval once"),
    ("EMIT AFTER DELAY 1s AFTER WATERMARK PER EVENT", "EMIT_NOT_TOGETHER", "PER EVENT", "keep one"),
    ("EMIT PER EVENT AND LAST 1h", "EMIT_NOT_TOGETHER", "LAST 1h", "PER EVENT and LAST"),
    ("EMIT 'x", "UNCLOSED_QUOTE", "'", "close it"),
]


@pytest.mark.parametrize(("text", "code", "place", "said"), REFUSED)
def test_a_clause_that_is_wrong(text: str, code: str, place: str, said: str) -> None:
    before = "SELECT 1 "
    with pytest.raises(SqlError) as caught:
        read_emit(text, Span(len(before), len(before) + len(text)))
    error = caught.value.with_source(before + text)
    found = error.diagnostics[0]
    assert found.span is not None
    assert (found.code, (before + text)[found.span.start : found.span.end]) == (code, place)
    assert said in error.render()


def test_nothing_at_all() -> None:
    with pytest.raises(SqlError, match="expected EMIT"):
        read_emit("")


def test_a_clause_alone_is_shown_with_its_text() -> None:
    with pytest.raises(SqlError) as caught:
        read_emit("EMIT PERIODIC 1w")
    assert "   1 | EMIT PERIODIC 1w\n     |               ^^" in caught.value.render()


def test_a_mistake_in_the_clause_of_a_view_is_found_by_the_compiler() -> None:
    text = "CREATE TABLE t (a INT);\nCREATE VIEW v AS SELECT a, COUNT(*) AS n FROM t GROUP BY a EMIT PERIODIC 1w"
    with pytest.raises(SqlError) as caught:
        compile_program(text, "timeplus")
    found = caught.value.diagnostics[0]
    assert found.span is not None
    assert (found.code, text[found.span.start : found.span.end]) == ("EMIT_LENGTH", "1w")


LENGTHS = st.timedeltas(timedelta(microseconds=1), timedelta(days=4000)) | st.integers(1, 500).map(
    lambda count: timedelta(seconds=count)
)
SPANS = st.integers(1, 10**9).map(lambda count: timedelta(milliseconds=count))
NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=8)
BOUNDS = st.booleans() | NAMES
MARKED = st.tuples(NAMES, BOUNDS, BOUNDS)
SESSIONS = st.one_of(
    st.builds(SessionClose, SPANS, st.booleans(), st.none() | NAMES),
    st.builds(lambda span, only, marked: SessionClose(span, only, *marked), SPANS, st.booleans(), MARKED),
)
WORDS = st.sampled_from([None, "STREAM", "CHANGES", "DELTA"])
TRIGGERS = st.one_of(
    st.none(),
    st.just(WindowClose()),
    st.builds(Tick, LENGTHS, st.booleans()),
    st.builds(Batch, st.none() | LENGTHS),
    st.just(Row()),
    st.builds(GroupDelay, LENGTHS, st.booleans()),
    SESSIONS,
)


@st.composite
def clauses(draw: st.DrawFn) -> EmitClause:
    """Any clause that can be written."""
    trigger: Trigger | None = draw(TRIGGERS)
    timed = trigger is not None and not isinstance(trigger, SessionClose)
    delay = draw(st.none() | LENGTHS) if timed else None
    timeout = draw(st.none() | LENGTHS)
    if timeout is not None and isinstance(trigger, SessionClose):
        timeout += trigger.maxspan
    windowed = trigger is None or isinstance(trigger, WindowClose | Tick | Batch)
    last = draw(st.none() | st.builds(Last, LENGTHS, st.booleans())) if windowed else None
    return EmitClause(draw(WORDS), trigger, delay, timeout, last)


@given(clauses().filter(lambda clause: clause != EmitClause()))
def test_the_normal_form_reads_back(clause: EmitClause) -> None:
    assert read_emit(clause.text()) == clause


PARTS = [
    *("STREAM", "DELTA", "AND", "AFTER WATERMARK", "AFTER KEY EXPIRE", "AFTER DELAY 6m", "PERIODIC 1s", "REPEAT"),
    *("ON UPDATE", "WITH BATCH 1s", "PER EVENT", "WITH DELAY 5 s", "WITH MAXSPAN 5m", "WITH ONLY MAXSPAN 1ms"),
    *("TIMEOUT 1h", "LAST 1d", "ON PROCTIME", "IDENTIFIED BY `t`", "IDENTIFIED BY (a, true, b)"),
]
SCRAPS = [
    *(
        "EMIT",
        "AFTER",
        "WINDOW",
        "ON",
        "WITH",
        "BY",
        "(",
        ")",
        ",",
        ".",
        "=",
        ";",
        "-",
        "+",
        "::",
        "?",
        "$1",
        "\\",
        "\n",
    ),
    *(
        "INTERVAL",
        "SECOND",
        "MONTHS",
        "5",
        "5s",
        "1.5s",
        "0s",
        "1M",
        "5x",
        "0x5s",
        "5e9s",
        "5bd",
        "'5'",
        "r'5'",
        "x'ff'",
    ),
    *("IDENTIFIER('a.b')", '"t"', "'", "`", "/*", "*/", "--"),
]
SOUP = st.lists(st.sampled_from(PARTS) | st.sampled_from(SCRAPS) | st.text(max_size=3), max_size=8).map(" ".join)


def read_or_refused(text: str) -> EmitClause | None:
    """The clause, or None for one that is wrong."""
    try:
        return read_emit(text)
    except SqlError:
        return None


@given(SOUP | st.lists(st.sampled_from(PARTS), max_size=5).map(" ".join))
def test_whatever_is_written_is_read_or_refused(soup: str) -> None:
    assert read_or_refused(soup) is None or soup.strip().upper().startswith("EMIT")
    clause = read_or_refused(f"EMIT {soup}")
    assert clause is None or read_emit(clause.text()) == clause
