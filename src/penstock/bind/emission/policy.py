"""The policy of a query that leaves it open: by its kind, in its dialect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from penstock.errors import Diagnostic, Span, SqlError, UnsupportedError
from penstock.plan.emission import Batch, Content, EmitClause, GroupDelay, Row, SessionClose, Tick, Trigger, WindowClose
from penstock.plan.refinement import EARLY_DELAY, LAST, NAMES, early_delay, of_flink, refinement

_TICK = timedelta(seconds=2)
STREAM, CHANGES, DELTA = "STREAM", "CHANGES", "DELTA"


@dataclass(frozen=True, slots=True)
class Kind:
    """The kind of a query: aggregated or not, over windows or not; `told` if it shows changes as a column.

    A `streamed` one, SELECT STREAM, shows each row once. A `running` one is over groups that change: its own, or those
    of a query in FROM of which it chooses and computes rows.
    """

    aggregated: bool
    windowed: bool
    dialect: str
    told: bool = False
    streamed: bool = False
    running: bool = False

    @property
    def timeplus(self) -> bool:
        """True in the dialect in which a query without EMIT stands."""
        return self.dialect == "timeplus"


def closes_windows(clause: EmitClause, dialect: str) -> bool:
    """True if rows of windows are shown when these close: where EMIT says so, or nothing else."""
    if clause.trigger is not None:
        return isinstance(clause.trigger, WindowClose)
    return bool(dialect == "timeplus" or clause.timeout or clause.delay)


def trigger_of(clause: EmitClause, kind: Kind) -> Trigger:
    """The trigger that a clause asks for, or that its kind of query has."""
    if clause.trigger is not None:
        return clause.trigger
    if kind.windowed and closes_windows(clause, kind.dialect):
        return WindowClose()
    if kind.running and kind.timeplus:
        return Tick(_TICK)
    return Batch()


def refined(
    clause: EmitClause, properties: Mapping[str, str], kind: Kind, places: Mapping[str, Span | None]
) -> Trigger | None:
    """The trigger that properties of refinement ask for, or Flink's settings; SqlError beside another one."""
    found = refinement(properties, windowed=kind.windowed, places=places)
    if found is not None and (clause.trigger is not None or clause.delay is not None):
        names = ", ".join(name for name in NAMES if name in properties)
        message = f"{names} and {clause.text()} both say when results are shown"
        hint = "keep one of them; EMIT CHANGES and EMIT STREAM go with both"
        raise SqlError(Diagnostic("EMIT_NOT_TOGETHER", message, clause.span, hint=hint))
    return found


def of_flink_settings(clause: EmitClause, settings: Mapping[str, str], kind: Kind) -> Trigger | None:
    """The trigger of Flink's settings of early and late results, for windows whose EMIT says nothing of it."""
    if kind.dialect != "flink" or not kind.windowed or clause.trigger is not None:
        return None
    properties, delay = of_flink(settings, clause.span), early_delay(settings)
    if delay is None:
        return refinement(properties, windowed=True)
    if LAST in properties:
        message = "late results beside early ones that have a delay by the clock"
        hint = f"SET '{EARLY_DELAY}' = '0 s' makes one of each row; or say update_rate in SETTINGS, in the rows' time"
        raise UnsupportedError(Diagnostic("REFINEMENT", message, clause.span, hint=hint))
    return GroupDelay(delay, and_watermark=True)


def content_of(clause: EmitClause, trigger: Trigger, kind: Kind) -> Content:
    """The content that a clause shows."""
    if clause.word == DELTA:
        return Content.DELTA
    if isinstance(trigger, WindowClose | SessionClose):
        return Content.FINAL
    if clause.word == CHANGES or kind.told or is_stamped(clause, kind):
        return Content.CHANGES
    if isinstance(trigger, Tick) and (kind.aggregated or kind.running):
        return Content.FULL
    return Content.CHANGED


def is_stamped(clause: EmitClause, kind: Kind) -> bool:
    """True for the EMIT STREAM of "One SQL to Rule Them All"; in the dialect of Timeplus the word changes nothing."""
    return clause.word == STREAM and not kind.timeplus


def check(clause: EmitClause, trigger: Trigger, kind: Kind) -> None:
    """Refuse what cannot go together, and what is not built."""
    if isinstance(trigger, SessionClose) and kind.windowed:
        message = "EMIT AFTER SESSION CLOSE makes sessions of its own, but the query is over windows"
        hint = "leave the window function out, or write EMIT AFTER WATERMARK"
        raise SqlError(Diagnostic("EMIT_FORM", message, clause.span, hint=hint))
    if isinstance(trigger, SessionClose):
        _check_sessions(clause, trigger, kind)
    if isinstance(trigger, Row) and (clause.word in (CHANGES, DELTA) or kind.told):
        message = "EMIT PER EVENT shows a row for each that comes, and none of them changes"
        raise SqlError(Diagnostic("EMIT_FORM", message, clause.span, hint="leave CHANGES, DELTA and _tp_delta out"))
    if clause.word == DELTA and not kind.aggregated:
        message = "EMIT DELTA shows by how much aggregates change, but the query has none"
        raise SqlError(Diagnostic("EMIT_FORM", message, clause.span, hint="EMIT CHANGES shows the rows that change"))
    if clause.word == CHANGES and isinstance(trigger, WindowClose):
        written = replace(clause, trigger=trigger).text()
        message = f"{written}: what is shown when its window closes never changes"
        hint = "leave out CHANGELOG, which is CHANGES as well, or AFTER WINDOW CLOSE"
        raise SqlError(Diagnostic("EMIT_FORM", message, clause.span, hint=hint))


def _check_sessions(clause: EmitClause, trigger: SessionClose, kind: Kind) -> None:
    """Refuse sessions of rows that are not aggregated, that no row opens, or that every row closes."""
    message, hint = None, "start is a column or true, end is a column or false"
    if not kind.aggregated:
        message = "EMIT AFTER SESSION CLOSE shows one row for a session, but the query has no aggregate"
        hint = "as in SELECT k, count(*) … GROUP BY k"
    elif trigger.start is False:
        message = f"EMIT {trigger}: no row opens a session"
    elif trigger.end is True:
        message = f"EMIT {trigger}: every row closes its session"
    elif clause.word in (CHANGES, DELTA) or kind.told:
        message = "what is shown when its session closes never changes"
        hint = "leave CHANGES, DELTA and _tp_delta out, or AFTER SESSION CLOSE"
    if message is not None:
        raise SqlError(Diagnostic("EMIT_FORM", message, clause.span, hint=hint))


def with_delay(clause: EmitClause, trigger: Trigger, *, windowed: bool) -> EmitClause:
    """The clause; SqlError for a delay that has no waterline to hold back, or a timeout that has nothing to close."""
    if clause.delay is not None and not windowed and not isinstance(trigger, GroupDelay):
        message = "WITH DELAY holds back a waterline, but the query has no window that waits for one"
        raise SqlError(Diagnostic("EMIT_FORM", message, clause.span, hint="GROUP BY window_start of a window function"))
    if clause.timeout is not None and not windowed and isinstance(trigger, Batch | Tick | Row):
        message = "TIMEOUT closes windows when no rows come, but the query has none that waits for that"
        raise SqlError(Diagnostic("EMIT_FORM", message, clause.span, hint="GROUP BY window_start of a window function"))
    return replace(clause, trigger=trigger)
