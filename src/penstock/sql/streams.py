"""The streams of the dialect timeplus: their kind, their settings, and the time that each row has.

`_tp_time` is the column that `event_time_column` names, under another name; else a column of the stream's own, which is
the clock of the step in which the row arrived unless the row brings it. When and in
which order rows arrived is kept beside it, hidden: for windows over `now()`, and for what goes by the order of arrival.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.catalog.model import EVENT_TIME, Column, Lateness
from penstock.catalog.properties import CONNECTOR, CONNECTORS, TABLE, is_among
from penstock.catalog.reserved import ARRIVED, POSITION
from penstock.errors import Diagnostic, Span, SqlError, did_you_mean
from penstock.sql.cursor import Cursor
from penstock.sql.failure import ParseFailure
from penstock.sql.properties import Properties
from penstock.sql.sparktables import idle, no_meaning

EVENT_TIME_COLUMN, MODE = "event_time_column", "mode"
APPEND, CHANGELOG = "append", "changelog"
KEYED = ("versioned_kv", "changelog_kv")
MODES = (APPEND, *KEYED, CHANGELOG)
_TIMES = ("timestamp", "timestamp_ntz", "date")
_KEY = "CREATE STREAM s (…) PRIMARY KEY k SETTINGS mode = 'versioned_kv'"


@dataclass(frozen=True)
class Kind:
    """The kind of a stream: its key, and whether its rows stay as they came."""

    key: tuple[str, ...]
    append_only: bool
    warnings: tuple[Diagnostic, ...] = ()


def without_storage(properties: Properties) -> list[Diagnostic]:
    """Take out the SETTINGS that are about Timeplus' storage, and warn of each; SqlError for a misspelt one of ours."""
    connector = properties.values.get(CONNECTOR)
    if connector is not None and connector.lower() not in CONNECTORS:
        return []  # another package's, which knows its words
    known = [item.name for item in TABLE]
    known += [name for names in CONNECTORS.values() for name in names] if connector is not None else []
    warnings = []
    for name in [name for name in properties.values if not is_among(name, known)]:
        span = properties.spans.get(name)
        near = did_you_mean(name, known, cutoff=0.8)
        if near:
            raise SqlError(Diagnostic("UNKNOWN_PROPERTY", f"a stream has no setting {name[:60]!r}", span, near))
        warnings.append(no_meaning(f"the setting {name[:60]!r}", span, _WHY.get(name, "")))
        del properties.values[name]
    return warnings


_STORED = ("ORDER", "TTL", "PARTITION", "SAMPLE", "ENGINE")


def read_storage(cursor: Cursor) -> list[Diagnostic]:
    """`ORDER BY e`, `PARTITION BY e` and `TTL e`, which say how Timeplus keeps rows, and for how long."""
    warnings = []
    while cursor.peek() in _STORED or cursor.peek() in ("ORDER BY", "PARTITION BY"):
        start, word = cursor.index, cursor.peek().split()[0]
        cursor.move()
        cursor.accept("BY")
        cursor.accept("=")
        cursor.expression()
        while cursor.accept(","):
            cursor.expression()
        cursor.accept("DELETE")
        why = "rows stay, whatever their age" if word == "TTL" else ""
        warnings.append(idle(cursor, start, why))
    return warnings


_WHY = {"version_column": "rows of a key replace each other in the order in which they arrive"}


def kind_of(properties: Properties, key: tuple[str, ...], span: Span | None, *, stream: bool) -> Kind:
    """The kind that `mode` says; ParseFailure for one that there is not, or that lacks its key."""
    written = properties.values.get(MODE)
    mode = (written or APPEND).lower()
    place = properties.spans.get(MODE, span)
    if mode not in MODES:
        message, hint = f"there is no mode {mode[:60]!r}", f"the modes are {', '.join(MODES)}"
        raise ParseFailure(None, Diagnostic("BAD_PROPERTY", message, place, did_you_mean(mode, MODES), hint))
    if not stream and written is None:
        return Kind(key, append_only=False)
    if mode in KEYED and not key:
        message = f"a stream of mode {mode} replaces rows by their key, and has none"
        raise ParseFailure(None, Diagnostic("BAD_PROPERTY", message, place, hint=_KEY))
    if mode == APPEND and key:
        why = f"rows of a stream stay as they came; {_KEY} replaces them"
        return Kind(
            (), append_only=True, warnings=(no_meaning("the PRIMARY KEY of a stream of mode append", span, why),)
        )
    return Kind(key, append_only=mode == APPEND)


def event_time(columns: tuple[Column, ...], properties: Properties) -> str | None:
    """The declared column that `event_time_column` names; ParseFailure for what is no time."""
    name = properties.values.get(EVENT_TIME_COLUMN)
    if name is None or name == EVENT_TIME:
        return None
    found = next((item for item in columns if item.label == name), None)
    place = properties.spans.get(EVENT_TIME_COLUMN)
    if any(item.name.lower() == EVENT_TIME for item in columns):
        message = f"the time of a row would be both {EVENT_TIME} and {name[:60]}"
        hint = f"leave out the column {EVENT_TIME}, or the setting"
        raise ParseFailure(None, Diagnostic("BAD_PROPERTY", message, place, hint=hint))
    if found is None:
        known = [item.name for item in columns]
        message, hint = f"the stream has no column {name[:60]}", f"its columns are {', '.join(known)}"
        raise ParseFailure(None, Diagnostic("UNKNOWN_COLUMN", message, place, did_you_mean(name, known), hint))
    if found.type not in _TIMES:
        message = f"the time of a row is a DATETIME64 or a DATE, and {name} is {found.type.upper()}"
        raise ParseFailure(None, Diagnostic("BAD_PROPERTY", message, place))
    return found.name


def told_apart(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """The columns, those with names of their own that differ from another's by case only."""
    found: list[Column] = []
    taken = {item.name.lower() for item in columns}
    for item in columns:
        if all(item.name.lower() != other.name.lower() for other in found):
            found.append(item)
            continue
        number = 2
        while f"{item.name}_{number}".lower() in taken:
            number += 1
        found.append(replace(item, name=f"{item.name}_{number}", written=item.name))
        taken.add(found[-1].name.lower())
    return tuple(found)


def with_times(columns: tuple[Column, ...], declared: str | None, kind: Kind) -> tuple[Column, ...]:
    """The columns with those that Timeplus adds: `_tp_time` unless `declared` is it, when the row arrived, and where.

    Where rows only come, none comes before those that are there: state that looks back in this order need not be kept.
    """
    clock = Column(EVENT_TIME, "timestamp", nullable=False, default="now()", optional=True)
    own = any(item.name.lower() == EVENT_TIME for item in columns) or declared is not None
    rising = Lateness("0") if kind.append_only and not kind.key else None
    position = Column(POSITION, "bigint", lateness=rising, optional=True, hidden=True)
    return (*columns, *(() if own else (clock,)), replace(clock, name=ARRIVED, hidden=True), position)
