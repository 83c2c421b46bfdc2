"""Rows that were there before columns were added to their table: what they have in these.

It is a constant, said with the column (`Column.earlier`); without one it is the DEFAULT, or NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.backends.api import Earlier, Relations
from penstock.backends.clock import clocked_text
from penstock.backends.columns import arrow_type, python_rows
from penstock.backends.rows import Row
from penstock.catalog.model import Catalog, Column, Table
from penstock.catalog.types import is_checked, plain_type
from penstock.errors import Diagnostic, SqlError, message_of
from penstock.steps.rows.defaults import evaluated
from penstock.steps.rows.values import BadValue, converter

if TYPE_CHECKING:
    from penstock.backends.native.store import Store

_NULL = "NULL"


@dataclass
class Added(Earlier):
    """The values of added columns, each evaluated once."""

    relations: Relations
    store: Callable[[], Store | None]
    _values: dict[tuple[str, str], pa.Scalar] = field(default_factory=dict)

    def value(self, column: Column) -> pa.Scalar:
        """The value of a column in rows from before it, as Arrow carries it."""
        kind, text = arrow_type(column.type), _text(column)
        if text in {None, _NULL}:
            return pa.scalar(None, kind)
        key = (text, column.type)
        if key not in self._values:
            stated = f"CAST(({text}) AS {plain_type(column.type)})"
            found = evaluated(stated, column, self.store(), lambda: self.relations)
            self._values[key] = pa.scalar(_limited(column, found[0].as_py()), kind) if _is_limited(column) else found[0]
        return self._values[key]

    def check(self, table: Table) -> None:
        """Evaluate what earlier rows have, before anything depends on it; SqlError for what does not fit its column."""
        for column in table.columns:
            if column.earlier is not None and not self.value(column).is_valid and not column.nullable:
                _refuse_null(column)

    def completed(self, table: Table, rows: pa.Table) -> pa.Table:
        """Rows of a table in all of its columns, in their order; others that there are, as the weight, stay behind."""
        there = set(rows.column_names)
        if all(column.name in there for column in table.columns):
            return rows
        names = {column.name for column in table.columns}
        columns = {
            column.name: rows.column(column.name)
            if column.name in there
            else pa.repeat(self.value(column), rows.num_rows)
            for column in table.columns
        }
        return pa.table(columns | {name: rows.column(name) for name in rows.column_names if name not in names})

    def completing(self, one: Table, other: Table) -> Callable[[Row], Row]:
        """The same of rows as Python values: gives for one of a table that of the same with more columns."""
        places = {column.name: at for at, column in enumerate(one.columns)}
        new = [column for column in other.columns if column.name not in places]
        values = pa.table({column.name: pa.repeat(self.value(column), 1) for column in new})
        given = dict(zip(values.column_names, python_rows(values)[0], strict=True))
        parts = [(places.get(column.name), given.get(column.name)) for column in other.columns]
        return lambda row: tuple(value if at is None else row[at] for at, value in parts)

    def text(self, column: Column) -> str:
        """The value as Spark SQL, in the column's type."""
        text = _text(column) or _NULL
        if _is_limited(column):
            value = self.value(column).as_py()
            text = _NULL if value is None else _literal(str(value))
        return f"CAST(({text}) AS {plain_type(column.type)})"


def _is_limited(column: Column) -> bool:
    return is_checked(column.type)


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _limited(column: Column, value: object) -> object:
    """A value in a column of a length or a range, as a row has it; SqlError if it does not fit."""
    try:
        return None if value is None else converter(column.type)(value)
    except BadValue as error:
        message = f"the DEFAULT of the column {column.name!r} does not fit {column.type.upper()}: {message_of(error)}"
        raise SqlError(Diagnostic("BAD_VALUE", message, column.span)) from None


def _refuse_null(column: Column) -> None:
    message = f"the DEFAULT of the column {column.name!r} is NULL, and the column is NOT NULL"
    raise SqlError(Diagnostic("MISSING_VALUE", message, column.span, hint="leave NOT NULL out", sqlstate="23502"))


def _text(column: Column) -> str | None:
    return column.default if column.earlier is None else column.earlier


def columns_added(before: Catalog, after: Catalog) -> tuple[str, ...]:
    """The lower-case names of the tables of both catalogs that have more columns in the second."""
    return tuple(name for name, one, other in tables_of_both(before, after) if new_columns(one, other))


def tables_of_both(before: Catalog, after: Catalog) -> Iterator[tuple[str, Table, Table]]:
    """The tables of both catalogs by their lower-case names, as they are in each."""
    for name, table in after.tables.items():
        if name in before.tables:
            yield name, before.tables[name], table


def new_columns(one: Table, other: Table) -> tuple[Column, ...]:
    """The columns of a table that another one lacks."""
    there = {column.name.lower() for column in one.columns}
    return tuple(column for column in other.columns if column.name.lower() not in there)


def with_earlier(before: Catalog, after: Catalog, names: Sequence[str], clock: datetime) -> Catalog:
    """The catalog whose added columns say what the rows have that are there at a clock."""
    timed = clocked_text(clock)
    for name in names:
        table = after.tables[name]
        new = set(new_columns(before.tables[name], table))
        dated = {item: replace(item, earlier=timed(item.default or _NULL)) for item in new}
        after = after.with_table(replace(table, columns=tuple(dated.get(item, item) for item in table.columns)))
    return after
