"""The rows of a table that a database has more than before, by a column that grows.

Each look asks for the rows above the last value, in the column's order, and for all rows of the value with which a step
ends, so that none is missed that has the same. A step's manifest has the values from which and up to which it has read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import Any, Literal

from penstock.catalog.model import Table
from penstock.errors import DataError, Diagnostic
from penstock.sources.formats.columns import check_unknown
from penstock.sources.formats.declared import EPOCH
from penstock.sources.looks import LookedSource, Looks
from penstock.sources.polled.anywhere import Anywhere
from penstock.sources.polled.databases import DuckDb, Growing, Postgres, Rows, Sqlite, Written
from penstock.sources.polled.declared import (
    COLUMN,
    EVERY,
    TABLE,
    TIMEOUT,
    UNKNOWN_COLUMNS,
    URL,
    kind_of,
)
from penstock.sources.postgres.values import ANY_NUMBER
from penstock.sources.postgres.values import given as as_given
from penstock.sources.secrets import expanded, secret_values
from penstock.steps.exact import exact, from_exact
from penstock.steps.intake.inputs import MakeReader
from penstock.steps.rows.batch import INSERT, Batch, Operated, RowReader
from penstock.steps.rows.new_columns import kind_of_value, wider
from penstock.steps.rows.rejected import Rejections
from penstock.steps.rows.values import Leniency


@dataclass(frozen=True, slots=True)
class _Read:
    """Rows, and the value behind which they begin and that with which they end.

    `beyond` are those of its columns that the table is to get, with the types that hold their values.
    """

    names: Sequence[str]
    rows: Sequence[Mapping[str, Any]]
    start: Any
    end: Any
    beyond: Mapping[str, str | None] = field(default_factory=dict)


@dataclass
class PolledSource(LookedSource[_Read]):
    """The rows of one table; `at` is the last value of the column that a step has, None before the first."""

    table: Table
    reader: RowReader
    database: Growing
    where: str
    secrets: frozenset[str] = frozenset()
    now: Callable[[], float] = time.monotonic
    at: Any = None
    _read: _Read | None = None
    _again: tuple[Any, Any] | None = None

    def __post_init__(self) -> None:
        """The looks, as the table says."""
        now = lambda: self.now()  # noqa: E731, PLW0108 - a test puts another clock in
        self._looks = Looks.of(self.table, lambda: self.where, EVERY, TIMEOUT, self.secrets, now)

    def read(self, rows: int, rejections: Rejections, *, ended: bool = False) -> Batch | None:
        """About so many of the rows that have come, or those that `seek` has named; None if it is not time to ask."""
        found = self._looks.found(partial(_asked, self.table, self.database, self.at, self._again, rows), ended=ended)
        if found is None:
            return None
        self._read = found
        self._know(found)
        items = [Operated(INSERT, row) for row in found.rows]
        return self.reader.read(items, rejections, lambda index: f"{self.where} row {index + 1} behind {found.start}")

    def _know(self, found: _Read) -> None:
        """Know the types of columns that the table is to get; DataError for what it lacks and does not take."""
        check_unknown(self.table, found.names, f"{TABLE.value(self.table) or 'its query'} at {self.where}")
        self.reader.know({name: kind for name, kind in found.beyond.items() if kind is not None})

    def taken(self) -> dict[str, Any]:
        """The values read from and to."""
        if self._read is None:
            return {}
        place = {"database": self.where, "column": COLUMN.value(self.table)}
        start, end = _kept(self._read.start), _kept(self._read.end)
        return {"connector": "sql", "read": [{**place, "from": {"value": start}, "to": {"value": end}}]}

    def seek(self, taken: Mapping[str, Any]) -> None:
        """Ask next for what a manifest names."""
        item = taken["read"][0]
        self._again = from_exact(item["from"]["value"]), from_exact(item["to"]["value"])

    def skip(self, taken: Mapping[str, Any]) -> None:
        """Go on behind what a manifest names."""
        self.at = from_exact(taken["read"][-1]["to"]["value"])

    def commit(self) -> None:
        """Go on behind what a step has; there may be more at once."""
        if self._read is not None:
            self.at, self._read, self._again = self._read.end, None, None
            self._looks.patience.at_once()

    def rewind(self) -> None:
        """Ask for the same again."""
        self._read = None
        self._looks.patience.at_once()

    def close(self) -> None:
        """Let go of the connection."""
        self._looks.end()
        self.database.close()

    def describe(self) -> str:
        """The table, or a query, and its database."""
        asked = TABLE.value(self.table) or "a query"
        return f"{self.table.name} from {asked} at {self.where} by {COLUMN.value(self.table)}"


def _asked(table: Table, database: Growing, at: Any, again: tuple[Any, Any] | None, rows: int) -> _Read | None:
    """The rows of one look. It knows nothing of the pipeline, which may be gone when the answer comes."""
    if again is not None:
        return _read(table, database.between(*again), *again)
    names, found = database.above(at, rows)
    if not found:
        return None
    place = next(place for place, name in enumerate(names) if name.lower() == COLUMN.value(table).lower())
    last = found[-1][place]
    if len(found) == rows:  # others may have the same value as the last
        kept = [row for row in found if row[place] != last]
        _, same = database.equal(last)
        found = [*kept, *same]
    return _read(table, (names, found), at, last)


def _read(table: Table, answer: Rows, start: Any, end: Any) -> _Read:
    names, found = answer
    adds = UNKNOWN_COLUMNS.value(table) == "add"
    lacking = {name: at for at, name in enumerate(names) if adds and table.column(name) is None}
    beyond = {name: _kind_of_values(row[at] for row in found) for name, at in lacking.items()}
    return _Read(names, [_row(table, names, row, beyond) for row in found], start, end, beyond)


def _row(table: Table, names: Sequence[str], row: Sequence[Any], beyond: Collection[str]) -> dict[str, Any]:
    """The columns that the table has, and those beyond that it is to get."""
    pairs = [(name, table.column(name), value) for name, value in zip(names, row, strict=True)]
    found = {column.label: _as_given(value, column.type) for _, column, value in pairs if column is not None}
    return found | {name: value for name, column, value in pairs if column is None and name in beyond}


def _kind_of_values(values: Iterable[Any]) -> str | None:
    """The type that holds the values of a column; None if all of them are NULL."""
    found: str | None = None
    for kind in {_kind_of(value) for value in values if value is not None}:
        found = kind if found is None else wider(found, kind)
    return found


def _kind_of(value: Any) -> str:
    match value:
        case datetime():
            return "TIMESTAMP_NTZ" if value.tzinfo is None else "TIMESTAMP"
        case date():
            return "DATE"
        case Decimal():
            return ANY_NUMBER
        case bytes() | bytearray() | memoryview():
            return "BINARY"
        case _:
            return kind_of_value(value)


def _as_given(value: Any, kind: str) -> Any:
    """A value for a column; SQLite has no booleans but 0 and 1."""
    if kind.lower() == "boolean" and isinstance(value, int) and value in (0, 1):
        return bool(value)
    return as_given(value, kind)


def _kept(value: Any) -> Any:
    """A value of the column as a manifest has it; TypeError if it has no form for it."""
    return exact(value if isinstance(value, int | float | str | datetime | date | Decimal | None) else str(value))


def opened(table: Table, readers: MakeReader) -> PolledSource:
    """The source of a table. DataError for an address that is none."""
    what = f"table {table.name}"
    url = expanded(URL.value(table), f"{what}: '{URL.name}'")
    kind, path = kind_of(url), url.partition(":")[2]
    path = path.removeprefix("//")
    shown = URL.value(table).partition(":")[2].removeprefix("//")
    secrets = frozenset(secret_values(table.properties.values()))
    new: Literal["", "values"] = "values" if UNKNOWN_COLUMNS.value(table) == "add" else ""
    reader = readers(table, Leniency(text=True, epoch=EPOCH.value(table), ignore_unknown=True, new=new))
    match kind:
        case "sqlite":
            return PolledSource(table, reader, Written.of(table, Sqlite(path)), f"SQLite {shown}", secrets)
        case "duckdb":
            return PolledSource(table, reader, Written.of(table, DuckDb(path)), f"DuckDB {shown}", secrets)
        case "postgres":
            database = Postgres(table, what)
            return PolledSource(table, reader, Written.of(table, database), database.where, secrets)
        case "sqlalchemy":
            other = Anywhere.of(table, url, what)
            return PolledSource(table, reader, other, other.where, secrets | other.secrets)
        case _:
            message = f"{what}: '{URL.name}' is no address of a database that is known here"
            raise DataError(Diagnostic("BAD_PROPERTY", message, table.span, hint=URL.takes))
