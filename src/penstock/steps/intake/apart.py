"""Waterlines of a partitioned source: the least of its partitions' own, so that catching up makes nothing late (B2).

    W_p(k) = max(W_p(k-1), max over the rows of step k that have come from p of c - e)
    W(k)   = max(W(k-1), min of W_p(k) over the partitions that count)

A partition counts until it has been silent for a while by the step's clock; one that is new, or known to have more than
has been read, is not silent. If all are, those that fell silent last count, so that W stands where time has left it.
Rows that come from no partition, as of an INSERT, move W as those of any table do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.backends.columns import python_rows
from penstock.catalog.reserved import WEIGHT
from penstock.steps.intake.lateness import (
    NONE_YET,
    LateColumn,
    PartitionLines,
    TableLateness,
    Waterline,
    furthest,
    later,
)
from penstock.steps.rows.batch import Batch
from penstock.steps.rows.identity import unordered
from penstock.steps.rows.partitioned import Partitioned

_ASTRAY = -1  # the place of a row of which nobody can tell where it has come from


def moved_by_rows(
    lateness: TableLateness, rows: pa.Table, origin: Partitioned | None, clock: datetime
) -> TableLateness:
    """The lateness of a table after rows, of which `origin` says where they have come from."""
    if origin is None:
        return settled(lateness.moved(values_of(lateness, rows)), clock)
    own = lateness.moved(values_of(lateness, rows.filter(pc.is_null(origin.places))))
    return settled(replace(own, partitions=MappingProxyType(dict(_partitions(lateness, rows, origin, clock)))), clock)


def values_of(lateness: TableLateness, rows: pa.Table) -> dict[str, list[Any]]:
    """The values of rows that move the waterlines, by column."""
    return {item.column.name.lower(): furthest(item, rows.column(item.place)) for item in lateness.columns}


def _partitions(
    lateness: TableLateness, rows: pa.Table, origin: Partitioned, clock: datetime
) -> Iterator[tuple[str, PartitionLines]]:
    """The partitions that there are, with their own lines after the rows."""
    present = origin.present()
    for name in origin.names:
        known = lateness.partitions.get(name)
        before = known or PartitionLines(clock)
        awake = known is None or name in present or name in origin.unread
        until = clock + origin.idle_after if awake else before.until
        values = values_of(lateness, rows.filter(origin.of(name))) if name in present else {}
        lines = {
            item.column.name.lower(): item.moved(_line(before, item), values.get(item.column.name.lower(), ()))
            for item in lateness.columns
        }
        yield name, PartitionLines(until, MappingProxyType(lines))


def settled(lateness: TableLateness, clock: datetime) -> TableLateness:
    """The lateness at a clock: partitions that have been silent for too long count no more."""
    if not lateness.partitions:
        return lateness
    counting = [item for item in lateness.partitions.values() if item.until > clock]
    if not counting:
        last = max(item.until for item in lateness.partitions.values())
        counting = [item for item in lateness.partitions.values() if item.until == last]
    found = dict(lateness.waterlines)
    for column in lateness.columns:
        name = column.column.name.lower()
        ats = [_line(item, column).at for item in counting]
        least = None if any(at is None for at in ats) else min(ats)
        seen = [_line(item, column).seen for item in lateness.partitions.values()]
        found[name] = _advanced(found.get(name, NONE_YET), least, seen)
    return replace(lateness, waterlines=MappingProxyType(found))


def _advanced(line: Waterline, at: Any, seen: list[Any]) -> Waterline:
    greatest = line.seen
    for value in seen:
        greatest = later(greatest, value)
    return replace(line, at=later(line.at, at), seen=greatest)


def _line(item: PartitionLines, column: LateColumn) -> Waterline:
    return item.waterlines.get(column.column.name.lower(), NONE_YET)


def next_silence(lateness: TableLateness) -> datetime | None:
    """The next clock at which a partition that holds a waterline back counts no more; None if none does."""
    for until in sorted({item.until for item in lateness.partitions.values()}):
        if settled(lateness, until) != lateness:
            return until
    return None


def holding_back(lateness: TableLateness, item: LateColumn) -> str | None:
    """The partition whose own line is where the table's stands, or which has none yet."""
    at = lateness.waterline(item).at
    lines = {name: _line(part, item).at for name, part in lateness.partitions.items()}
    least = [name for name, own in lines.items() if own is None or (at is not None and own <= at)]
    return least[0] if least else None


def origin_of_change(change: pa.Table, batch: Batch) -> Partitioned | None:
    """The partitions of the rows of a keyed table's change: of each key that of the last operation on it.

    A row whose key is written otherwise than in the batch, as a collation allows, moves no line.
    """
    origin = batch.partitions
    if origin is None:
        return None
    present = origin.present()
    if len(present) == 1:
        place = origin.names.index(next(iter(present)))
        return replace(origin, places=pa.repeat(pa.scalar(place, pa.int32()), change.num_rows))
    keys = [column.name for name in batch.table.key if (column := batch.table.column(name)) is not None]
    last = dict(zip(_values_of(batch.rows, keys), origin.places.to_pylist(), strict=True))
    places = [last.get(key, _ASTRAY) for key in _values_of(change, keys)]
    return replace(origin, places=pa.array(places, pa.int32()))


def _values_of(rows: pa.Table, columns: list[str]) -> list[Any]:
    return [unordered(row) for row in python_rows(rows.select(columns))]


def moved_by_change(lateness: TableLateness, change: pa.Table, batch: Batch, clock: datetime) -> TableLateness:
    """The lateness of a keyed table after its change, which a batch has brought."""
    return moved_by_rows(lateness, change.drop_columns([WEIGHT]), origin_of_change(change, batch), clock)
