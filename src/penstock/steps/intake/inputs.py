"""The input that a user hands to `step()`, as checked batches: tuples, pandas, Arrow, Spark DataFrames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.backends.api import is_relation
from penstock.catalog.model import Catalog, Table
from penstock.catalog.zones import near_zones, zone_named
from penstock.errors import DataError, Diagnostic, SqlError, did_you_mean, message_of
from penstock.steps.intake.bulk import GivenBatch
from penstock.steps.rows.batch import Batch, RowReader
from penstock.steps.rows.defaults import Defaults
from penstock.steps.rows.new_columns import NewColumns
from penstock.steps.rows.rejected import Rejections
from penstock.steps.rows.values import STRICT, BadValue, Leniency, converter, shown

if TYPE_CHECKING:
    from penstock.backends.api import Workspace
    from penstock.backends.native.store import Store


MakeReader = Callable[[Table, Leniency], RowReader]


class Readers:
    """The readers of all tables of a catalog, with their defaults."""

    def __init__(
        self,
        workspace: Callable[[], Workspace],
        zone: tzinfo,
        clock: Callable[[], datetime],
        store: Callable[[], Store | None] = lambda: None,
    ) -> None:
        self._defaults = Defaults(workspace, clock, store)
        self._zone = zone
        self._new: dict[str, NewColumns] = {}

    def __call__(self, table: Table, lenient: Leniency = STRICT) -> RowReader:
        """The reader of one table."""
        new = self._new.setdefault(table.name.lower(), NewColumns()) if lenient.new else None
        return RowReader(table, self._defaults, self._zone, lenient, new)

    def new_columns(self) -> dict[str, dict[str, str]]:
        """The columns that rows have been found to have since the last time: of each table, with their types."""
        found = {name: new.taken() for name, new in self._new.items()}
        return {name: columns for name, columns in found.items() if columns}


def batch_of(table: Table, rows: Any, reader: RowReader) -> Batch | GivenBatch:
    """The checked rows of anything that `step()` takes; DataError for what does not fit."""
    if is_relation(rows):
        return GivenBatch(table, rows, reader)
    if type(rows).__module__.startswith("pandas"):
        return _pandas_batch(rows, reader)
    if isinstance(rows, pa.RecordBatch):
        rows = pa.Table.from_batches([rows])
    if isinstance(rows, pa.Table):
        return reader.read_arrow(rows, Rejections())
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        message = f"table {table.name}: found {shown(rows)}, expected rows: tuples, pandas, Arrow or a Spark DataFrame"
        raise DataError(Diagnostic("BAD_VALUE", message))
    return reader.read(rows, Rejections())


def _pandas_batch(rows: Any, reader: RowReader) -> Batch:
    """Pandas marks a missing value by NaN, NaT or None; all of them are NULL.

    For a column of dicts Arrow would take the keys of all of them, for one of mixed numbers the widest type.
    """
    kinds = {column.name.lower(): column.type.lower() for column in reader.table.columns}
    mixed = [str(name).lower() for name, kind in zip(rows.columns, rows.dtypes, strict=True) if kind.kind == "O"]
    if not any("<" in kinds.get(name, "") or kinds.get(name, "") == "variant" for name in mixed):
        with suppress(pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            return reader.read_arrow(pa.Table.from_pandas(rows, preserve_index=False), Rejections())
    cleaned = rows.astype(object).where(rows.notna(), None)
    return reader.read_arrow_rows(cleaned.to_dict("records"), Rejections())


def find_table(catalog: Catalog, name: str) -> Table:
    """The table of that name; DataError with the names that are close."""
    table = catalog.tables.get(str(name).lower())
    if table is None:
        known = [item.name for item in catalog.tables.values()]
        what = "is a view" if str(name).lower() in catalog.views else "does not exist"
        raise DataError(
            Diagnostic("UNKNOWN_TABLE", f"table {str(name)[:100]} {what}", None, did_you_mean(str(name), known))
        )
    return table


def clock_value(clock: Any) -> datetime:
    """A clock given as a datetime or as text, as naive UTC."""
    try:
        found = converter("timestamp", UTC)(clock)
    except BadValue as error:
        raise DataError(Diagnostic("BAD_VALUE", f"clock: {message_of(error)}, expected a TIMESTAMP")) from None
    assert isinstance(found, datetime)  # noqa: S101 - the converter of timestamps gives nothing else
    return found


def zone_of(catalog: Catalog) -> tzinfo:
    """The pipeline's time zone: UTC unless SET TIME ZONE."""
    name = catalog.settings.get("time zone", "UTC")
    found = zone_named(name)
    if found is None:
        message = f"there is no time zone {name[:100]!r}"
        raise SqlError(Diagnostic("BAD_SETTING", message, None, near_zones(name), "as in 'Europe/Rome' or '+05:30'"))
    return found
