"""The memory that an operator has of a relation: its weighted rows, in one table.

What a step brings is appended; rows that cancel one another go when as many have been appended as were left after the
last time, so that a row costs the same however long the pipeline runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.backends.native.kinds import schema_in_arrow, stored, to_arrow, width
from penstock.backends.native.proof import quoted
from penstock.backends.native.store import Store
from penstock.backends.thresholds import LEAST_DELETED_ROWS, LEAST_MERGED_ROWS
from penstock.catalog.reserved import WEIGHT
from penstock.catalog.types import Type

if TYPE_CHECKING:
    import pyarrow as pa

Columns = tuple[tuple[str, Type], ...]
_LONG = ("VARCHAR", "BLOB")  # an index of their hashes is made in a quarter of the time


@dataclass(frozen=True, slots=True)
class Rows:
    """A relation of the step as FROM takes it, and how many entries it has; None for a query that nobody has run.

    Where it is `distinct`, each different row is one entry, with a weight that is not zero. A query is `costly` if it
    computes answers: whoever reads it more than once lets it be a table first.
    """

    name: str
    count: int | None = None
    distinct: bool = False
    costly: bool = False


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
        self._indexed: list[str] = []
        self._proposed = 0

    @property
    def bytes(self) -> int:
        """About how much memory its rows take."""
        return self.rows * width((*(stored(kind) for _, kind in self.columns), "BIGINT"))

    @property
    def is_empty(self) -> bool:
        """True if nothing has come that has not gone, the step's own rows included."""
        return self.rows + self._proposed <= 0

    def append(self, rows: Rows) -> None:
        """Take in the change of a step."""
        self._proposed += self.store.changed(f"INSERT INTO {self.table} SELECT {weighing(self.names)} FROM {rows.name}")

    def commit(self) -> None:
        """Count what the step has appended."""
        self.rows += self._proposed
        self._proposed = 0

    def discard(self) -> None:
        """Forget what the step has appended; its rows go with the transaction."""
        self._proposed = 0

    def is_due(self) -> bool:
        """True if it has as many new entries as it had in all."""
        return not self.append_only and self.rows >= 2 * max(self._merged, LEAST_MERGED_ROWS)

    def merge(self, without: Sequence[str] = ()) -> None:
        """Have each different row once, but none for which one of the conditions holds."""
        kept = " AND ".join(f"NOT coalesce({item}, false)" for item in without)
        source = f"{self.table}{f' WHERE {kept}' if kept else ''}"
        query = f"SELECT {weighing(self.names)} FROM {source}" if self.append_only else summed(self.names, source)
        self.rows = self._merged = self.store.rewritten(self.table, query)
        for name in self._indexed:
            self._index(name)

    def fetched(self) -> pa.Table:
        """Its rows as those of Spark lie in Arrow, without those that cancel one another."""
        query = f"SELECT {weighing(self.names)} FROM {self.table}"
        query = query if self.append_only else summed(self.names, self.table)
        return to_arrow(self.store.arrow(query), schema_in_arrow((*self.columns, (WEIGHT, "bigint"))))

    def load(self, rows: pa.Table | None) -> None:
        """Take in such rows, between steps."""
        if rows is not None and rows.num_rows:
            with self.store.given(rows) as given:
                self.append(Rows(given))
            self.commit()
            self._merged = self.rows

    def index(self, names: Sequence[str]) -> str:
        """Have rows found by the values of a column from now on: that of the names which has the most values."""
        found = self.indexed_among(names)
        if found is None:
            found = names[0] if len(names) == 1 else self._most_selective(names)
            self._index(found)
            self._indexed.append(found)
        return found

    def indexed_among(self, names: Sequence[str]) -> str | None:
        """The first of the columns that has an index; None if none has."""
        return next((name for name in names if name in self._indexed), None)

    def indexed_value(self, name: str, value: str) -> tuple[str, str]:
        """Both sides of the comparison that an index of a column finds rows by, of which more may be found."""
        if stored(dict(self.columns)[name]) in _LONG:
            return f"hash({quoted(name)})", f"hash({value})"
        return quoted(name), value

    def _most_selective(self, names: Sequence[str]) -> str:
        counts = ", ".join(f"approx_count_distinct({quoted(name)})" for name in names)
        (numbers,) = self.store.fetched(f"SELECT {counts} FROM {self.table}")
        return str(max(zip(numbers, names, strict=True))[1])

    def _index(self, name: str) -> None:
        place, (value, _) = self.names.index(name), self.indexed_value(name, "NULL")
        self.store.execute(f"CREATE INDEX IF NOT EXISTS {self.table}_by_{place} ON {self.table}(({value}))")


class Replaced(Trace):
    """Rows of which steps take some away by their places in the table, and bring others; none of them cancel."""

    def __init__(self, store: Store, columns: Columns) -> None:
        super().__init__(store, columns, append_only=True)
        self._deleted = 0  # rows that still take room in the table

    def replace(self, places: str, rows: str) -> None:
        """Take away the rows at the places that a query gives, and take in those of a relation."""
        gone = self.store.changed(f"DELETE FROM {self.table} WHERE rowid IN {places}") if self.rows else 0
        self.append(Rows(rows))
        self._proposed -= gone
        self._deleted += gone

    def is_due(self) -> bool:
        """True if as many rows have gone as are left."""
        return self._deleted >= max(self.rows, LEAST_DELETED_ROWS)

    def merge(self, without: Sequence[str] = ()) -> None:
        super().merge(without)
        self._deleted = 0


def listed(names: Iterable[str]) -> str:
    """Columns as a SELECT lists them."""
    return ", ".join(map(quoted, names))


def weighing(names: Iterable[str], weight: str = "") -> str:
    """Columns as a SELECT lists them, and the weight, or what is to be the weight."""
    return ", ".join([*map(quoted, names), f"{weight} AS {WEIGHT}" if weight else WEIGHT])


def summed(names: Sequence[str], source: str, having: str = "<> 0") -> str:
    """The query for each different row once, with the sum of its weights."""
    total = f"sum({WEIGHT})::BIGINT"
    grouped = f" GROUP BY {listed(names)}" if names else ""
    return f"SELECT {weighing(names, total)} FROM {source}{grouped} HAVING {total} {having}"


def added_up(names: Sequence[str], parts: Iterable[str]) -> str:
    """The query for the rows of several queries together, without those that cancel one another."""
    return summed(names, f"({' UNION ALL '.join(parts)})")


def once_each(names: Sequence[str], source: str) -> str:
    """The query for rows without weights, each of which is there once."""
    return f"SELECT {weighing(names, '1::BIGINT')} FROM {source}"


def negated(names: Sequence[str], source: str) -> str:
    """The query for rows that go, as often as they came."""
    return f"SELECT {weighing(names, f'-{WEIGHT}')} FROM {source}"


def difference(names: Sequence[str], answer: str, before: str) -> str:
    """The query for the change of an answer: its rows, which have no weights, less what was answered before."""
    return added_up(names, [once_each(names, answer), negated(names, before)])


def spelled(names: Sequence[str], source: str) -> str:
    """The query for each row as often as its weight says."""
    columns = listed(names)
    if not columns:
        return f"SELECT 1 AS __none FROM (SELECT unnest(range({WEIGHT})) FROM {source})"
    return f"SELECT {columns} FROM (SELECT {columns}, unnest(range({WEIGHT})) AS __copy FROM {source})"


def content(names: Sequence[str], source: str) -> str:
    """A relation of the rows that are left of those that came and went, each as often as it is there."""
    present = summed(names, source, "> 0")
    return f"({spelled(names, f'({present})')})"
