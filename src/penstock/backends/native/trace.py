"""The memory that an operator has of a relation: its weighted rows, in one table.

What a step brings is appended; rows that cancel one another go when as many have been appended as were left after the
last time, so that a row costs the same however long the pipeline runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.backends.native.kinds import stored, width
from penstock.backends.native.proof import quoted
from penstock.backends.native.store import Store
from penstock.catalog.reserved import WEIGHT
from penstock.catalog.types import Type

_LEAST_MERGED_ROWS = 64  # an answer that each step replaces must not pile up: joins multiply what cancels
Columns = tuple[tuple[str, Type], ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """A relation of the step as FROM takes it, and how many entries it has; None for a query that nobody has run."""

    name: str
    count: int | None = None


class Trace:
    """The rows that have come so far, less those that have gone."""

    def __init__(self, store: Store, columns: Columns, *, append_only: bool = False) -> None:
        self.store = store
        self.columns = columns
        self.append_only = append_only
        self.names = tuple(name for name, _ in columns)
        self.table = store.table([*((name, stored(kind)) for name, kind in columns), (WEIGHT, "BIGINT")])
        self.rows = 0
        self._merged = 0  # entries after the last merge
        self._proposed = 0

    @property
    def bytes(self) -> int:
        """About how much memory its rows take."""
        return self.rows * width((*(stored(kind) for _, kind in self.columns), "BIGINT"))

    def append(self, rows: Rows) -> None:
        """Take in the change of a step."""
        self._proposed += self.store.changed(
            f"INSERT INTO {self.table} SELECT {listed((*self.names, WEIGHT))} FROM {rows.name}"
        )

    def commit(self) -> None:
        """Count what the step has appended."""
        self.rows += self._proposed
        self._proposed = 0

    def discard(self) -> None:
        """Forget what the step has appended; its rows go with the transaction."""
        self._proposed = 0

    def is_due(self) -> bool:
        """True if it has as many new entries as it had in all."""
        return not self.append_only and self.rows >= 2 * max(self._merged, _LEAST_MERGED_ROWS)

    def merge(self, without: Sequence[str] = ()) -> None:
        """Have each different row once, but none for which one of the conditions holds."""
        kept = " AND ".join(f"NOT coalesce({item}, false)" for item in without)
        source = f"{self.table}{f' WHERE {kept}' if kept else ''}"
        query = (
            f"SELECT {listed((*self.names, WEIGHT))} FROM {source}" if self.append_only else summed(self.names, source)
        )
        self.rows = self._merged = self.store.rewritten(self.table, query)


def listed(names: Iterable[str]) -> str:
    """Columns as a SELECT lists them."""
    return ", ".join(map(quoted, names))


def summed(names: Sequence[str], source: str, having: str = "<> 0") -> str:
    """The query for each different row once, with the sum of its weights."""
    columns = listed(names)
    total = f"sum({WEIGHT})::BIGINT"
    grouped = f" GROUP BY {columns}" if columns else ""
    return (
        f"SELECT {columns}{', ' if columns else ''}{total} AS {WEIGHT} FROM {source}{grouped} HAVING {total} {having}"
    )


def spelled(names: Sequence[str], source: str) -> str:
    """The query for each row as often as its weight says."""
    columns = listed(names)
    if not columns:
        return f"SELECT 1 AS __none FROM (SELECT unnest(range({WEIGHT})) FROM {source})"
    return f"SELECT {columns} FROM (SELECT {columns}, unnest(range({WEIGHT})) AS __copy FROM {source})"
