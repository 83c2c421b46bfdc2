"""Deletions that do not say which of several equal rows is meant: of those that are there the one that came first goes.

Rows keep hidden in which order they have arrived, and perhaps when (`AS PROCTIME()`), which a deletion need not give.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from penstock.backends.columns import arrow_rows, python_rows
from penstock.backends.rows import Key, Row
from penstock.catalog.model import Table
from penstock.catalog.reserved import POSITION
from penstock.steps.rows.batch import DELETE, Batch
from penstock.steps.rows.identity import identity_of

if TYPE_CHECKING:
    from penstock.steps.intake.rowcounts import RowCounts

Found = list[tuple[int, int, Row]]


def left_open(table: Table) -> tuple[int, ...]:
    """The places of the columns that a deletion need not give; none where rows do not keep how they arrived."""
    if table.key or table.append_only or table.column(POSITION) is None:
        return ()
    return tuple(at for at, item in enumerate(table.columns) if item.optional and item.computed is None)


def found_by(table: Table) -> list[str]:
    """The columns by which the rows of a table without a key are found."""
    opened = left_open(table)
    return [item.name for at, item in enumerate(table.columns) if at not in opened]


def with_earliest(batch: Batch, counts: Callable[[], RowCounts]) -> Batch:
    """The batch whose deletions each name one row, stored or inserted before them, as far as there is one."""
    opened = left_open(batch.table)
    rows = python_rows(batch.rows)
    vague = [at for at, row in enumerate(rows) if batch.operation(at) == DELETE and any(row[i] is None for i in opened)]
    if not vague:
        return batch
    choosing = _Choosing(batch.table, opened)
    wanted = {choosing.key(rows[at]) for at in vague}
    for row, count in counts().there([rows[at] for at in vague]):
        choosing.add(row, count)
    named = list(rows)
    for at, row in enumerate(rows):
        if choosing.key(row) not in wanted:
            continue
        if batch.operation(at) == DELETE:
            named[at] = choosing.taken(row)
        else:
            choosing.add(row, 1)
    return replace(batch, rows=arrow_rows(batch.rows.schema, named))


class _Choosing:
    """The rows that are there, by the columns that a deletion gives, the earliest first."""

    def __init__(self, table: Table, opened: Sequence[int]) -> None:
        self._opened = opened
        self._identity = identity_of(table)
        self._position = next(at for at, item in enumerate(table.columns) if item.name == POSITION)
        self._there: dict[Key, Found] = {}
        self._number = 0

    def key(self, row: Row) -> Key:
        """The row but for what a deletion need not give."""
        return self._identity(tuple(None if at in self._opened else value for at, value in enumerate(row)))

    def add(self, row: Row, count: int) -> None:
        """Have a row be there so often."""
        for _ in range(count):
            self._number += 1
            heappush(self._there.setdefault(self.key(row), []), (row[self._position] or 0, self._number, row))

    def taken(self, row: Row) -> Row:
        """The first row that a deletion can mean, which is there no more; the row itself if there is none."""
        there = self._there.get(self.key(row), [])
        passed: Found = []
        chosen = row
        while there:
            item = heappop(there)
            if all(row[at] is None or row[at] == item[2][at] for at in self._opened):
                chosen = item[2]
                break
            passed.append(item)
        for item in passed:
            heappush(there, item)
        return chosen
