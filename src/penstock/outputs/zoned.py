"""Points in time as text where a program's zone is not UTC: with UTC's offset, as others are read in the zone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from penstock.backends.parts import part_changer
from penstock.outputs.forms import Row
from penstock.outputs.sink import Sink

Zoned = Callable[[Row], Row]


def as_it_is(row: Row) -> Row:
    """The row: its times are read as they are written."""
    return row


def zoned_rows(sink: Sink) -> Zoned:
    """A function that marks the points in time of a row as those of UTC, wherever they stand in a value."""
    if sink.zone.upper() in ("UTC", "ETC/UTC"):
        return as_it_is
    changes = [part_changer(column.type, "timestamp", _of_utc) if column.type else None for column in sink.columns]
    if not any(changes):
        return as_it_is

    def change(row: Row) -> Row:
        return tuple(value if each is None else each(value) for each, value in zip(changes, row, strict=True))

    return change


def _of_utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC)
