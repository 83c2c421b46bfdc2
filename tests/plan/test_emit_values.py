"""EMIT as a value, and its normal form."""

from datetime import timedelta

import pytest

from penstock.errors import Span
from penstock.plan.emission import Batch, EmitClause, GroupDelay, Last, Row, SessionClose, Tick, WindowClose, length

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


@pytest.mark.parametrize(
    ("clause", "text"),
    [
        (EmitClause("STREAM"), "EMIT STREAM"),
        (EmitClause(trigger=WindowClose()), "EMIT AFTER WINDOW CLOSE"),
        (EmitClause("CHANGES", Tick(SECOND), delay=SECOND), "EMIT CHANGELOG PERIODIC 1s WITH DELAY 1s"),
        (
            EmitClause("DELTA", Tick(SECOND, repeat=True), SECOND, 5 * SECOND),
            "EMIT DELTA PERIODIC 1s REPEAT WITH DELAY 1s AND TIMEOUT 5s",
        ),
        (EmitClause(trigger=Batch()), "EMIT ON UPDATE"),
        (EmitClause(trigger=Batch(SECOND / 10), timeout=MINUTE), "EMIT ON UPDATE WITH BATCH 100ms AND TIMEOUT 1m"),
        (EmitClause(trigger=Row()), "EMIT PER EVENT"),
        (EmitClause(timeout=30 * SECOND), "EMIT TIMEOUT 30s"),
        (EmitClause(last=Last(60 * MINUTE, on_proctime=True)), "EMIT LAST 1h ON PROCTIME"),
        (EmitClause(trigger=Tick(SECOND), last=Last(MINUTE)), "EMIT PERIODIC 1s AND LAST 1m"),
        (EmitClause(timeout=SECOND, last=Last(MINUTE)), "EMIT TIMEOUT 1s AND LAST 1m"),
        (
            EmitClause("STREAM", GroupDelay(6 * MINUTE, and_watermark=True)),
            "EMIT STREAM AFTER DELAY 6m AND AFTER WATERMARK",
        ),
        (EmitClause(trigger=SessionClose(SECOND)), "EMIT AFTER SESSION CLOSE WITH MAXSPAN 1s"),
        (
            EmitClause(trigger=SessionClose(SECOND, only=True, time="ts")),
            "EMIT AFTER SESSION CLOSE IDENTIFIED BY ts WITH ONLY MAXSPAN 1s",
        ),
        (
            EmitClause(trigger=SessionClose(SECOND, time="my `ts`", start=True, end="True")),
            "EMIT AFTER SESSION CLOSE IDENTIFIED BY (`my ``ts```, true, `True`) WITH MAXSPAN 1s",
        ),
    ],
)
def test_normal_form(clause: EmitClause, text: str) -> None:
    assert clause.text() == text


def test_the_place_makes_no_difference() -> None:
    assert EmitClause("STREAM", span=Span(3, 14)) == EmitClause("STREAM")


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (timedelta(days=7), "7d"),
        (timedelta(hours=25), "25h"),
        (90 * SECOND, "90s"),
        (120 * SECOND, "2m"),
        (timedelta(milliseconds=1500), "1500ms"),
        (timedelta(microseconds=1_000_001), "1000001us"),
    ],
)
def test_a_length_is_told_in_its_largest_whole_unit(span: timedelta, text: str) -> None:
    assert length(span) == text
