"""Terms over the rows that come into a table, evaluated before these are judged.

    price * 2, to_timestamp(told)       over the rows  (price 3, told '2026-01-02')

It is done in the process where all of them are proven, by Spark otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING

from penstock.backends.native.kinds import schema_in_arrow, to_arrow
from penstock.backends.native.proof import NotProvenError, Proven, not_proven
from penstock.backends.native.scalars import proven
from penstock.backends.reported import clipped
from penstock.backends.spark.raised import reported
from penstock.catalog.model import Column, Table
from penstock.catalog.types import plain_type
from penstock.circuit.raised import diagnosed
from penstock.errors import Diagnostic, SqlError
from penstock.plan.scalar import parsed, quoted, scalar_of

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.backends.api import Relations
    from penstock.backends.native.store import Store


class TermRaisedError(Exception):
    """A term that has raised for some row, with what it says."""


@dataclass(frozen=True)
class Terms:
    """The values of some columns of a table, each by its `computed` term over the others."""

    table: Table
    columns: tuple[Column, ...]
    relations: Callable[[], Relations]
    store: Callable[[], Store | None]

    def values(self, rows: pa.Table) -> pa.Table:
        """The values for rows of the table, in their order.

        Raises TermRaisedError if a term does for one of them, SqlError for a term that Spark refuses.
        """
        try:
            return self._values(rows)
        except Exception as error:
            found = self._told_of(error)
            if found is None:
                raise
            raise found from error

    def _told_of(self, error: Exception) -> TermRaisedError | SqlError | None:
        """The error of a term; None for one that is about something else."""
        raised = diagnosed(error)
        if raised is not None:
            return TermRaisedError(clipped(raised.message.strip()))
        found = reported(error)
        if found is None or found.what == "failed":
            return None
        if found.what == "raised":
            return TermRaisedError(found.message)
        message = f"table {self.table.name}, the computed column {self.told}: {found.message}"
        return SqlError(Diagnostic(found.condition, message, self.columns[0].span, sqlstate=found.sqlstate))

    def _values(self, rows: pa.Table) -> pa.Table:
        store = self.store()
        if store is None or self._proven is None:
            return self._by_spark(rows)
        items = [f"{item.text} AS v{at}" for at, item in enumerate(self._proven)]
        found = store.apart(f"SELECT {', '.join(items)} FROM come ORDER BY {self._place}", come=self._placed(rows))
        return to_arrow(found, schema_in_arrow((column.name, column.type) for column in self.columns))

    @property
    def told(self) -> str:
        """The names under which the values are read."""
        return ", ".join(column.told for column in self.columns)

    @cached_property
    def _place(self) -> str:
        """The name of a column for the places of rows, which no column has."""
        names = {column.name.lower() for column in self.table.columns}
        return next(name for name in (f"place{'_' * more}" for more in count()) if name not in names)

    @cached_property
    def _proven(self) -> list[Proven] | None:
        try:
            return [proven_term(self.table, column) for column in self.columns]
        except NotProvenError:
            return None

    @cached_property
    def _read(self) -> tuple[Column, ...]:
        """The columns that the terms read."""
        names = frozenset().union(*(scalar_of(parsed(str(column.computed))).columns for column in self.columns))
        return tuple(column for column in self.table.columns if column.name in names)

    def _placed(self, rows: pa.Table) -> pa.Table:
        """The columns that are read, with the place of each row."""
        import pyarrow as pa  # noqa: PLC0415 - 100 ms that `explain` need not wait

        chosen = {column.name: rows.column(column.name) for column in self._read}
        return pa.table({**chosen, self._place: pa.array(range(rows.num_rows), pa.int64())})

    def _by_spark(self, rows: pa.Table) -> pa.Table:
        relations, place = self.relations(), Column(self._place, "bigint")
        given = relations.relation_of(Table(self.table.name, (*self._read, place)), self._placed(rows))
        terms = [f"CAST(({item.computed}) AS {item.type}) AS {quoted(item.name)}" for item in self.columns]
        found = relations.declared_rows(
            relations.selected(given, [*terms, self._place]), Table(self.table.name, (*self.columns, place))
        )
        return found.sort_by(self._place).drop_columns([self._place])


def proven_term(table: Table, column: Column) -> Proven:
    """The term of a column that is computed when a row comes, in DuckDB's SQL; raises NotProvenError."""
    kinds = {item.name: plain_type(item.type) for item in table.columns if item.computed is None}
    found = proven(parsed(str(column.computed)), kinds)
    if found.type != plain_type(column.type):
        not_proven(f"a {found.type} as {column.type}")
    return found
