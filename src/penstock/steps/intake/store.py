"""What a table must remember to judge its input: the row of each key, or how often each row is there.

    newest entries   a dict on the driver, so a small step needs no Spark job to look up what it touches
    base             a Trace on the executors, once the dict has outgrown `_DRIVER_ENTRIES`

A store changes only by `apply`, after the step has succeeded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.catalog.model import Table
from penstock.catalog.reserved import WEIGHT
from penstock.errors import DataError, Diagnostic
from penstock.plan.scalar import quoted
from penstock.spark.change import consolidated
from penstock.steps.intake.lateness import TableLateness, comparable_value
from penstock.steps.rows.batch import Batch
from penstock.steps.rows.columns import arrow_schema, python_rows, weighted_schema
from penstock.steps.rows.exchange import as_delta, as_frame, carried, in_arrow, repeated
from penstock.steps.rows.parts import part_changer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.spark.change import Delta
    from penstock.spark.trace import Trace
    from penstock.spark.workspace import Workspace

Row = tuple[Any, ...]
Key = tuple[Any, ...]
_DRIVER_ENTRIES = 100_000
_LEAST_ENTRIES = 10_000  # below twice so many entries there is nothing to win by forgetting


def forgets(table: Table) -> bool:
    """Whether keys of the table are dropped: nobody asks for its content, and time tells the keys that are over."""
    key = {name.lower() for name in table.key}
    late = any(column.lateness is not None and column.name.lower() in key for column in table.columns)
    return late and table.history.lower() == "none"


def _is_late(row: Row | None, lateness: TableLateness) -> bool:
    return row is not None and lateness.late(
        {item.place: comparable_value(row[item.place]) for item in lateness.columns}
    )


def canonical(value: Any) -> Any:
    """A value as a hashable one that is equal where Spark's grouping is: NaN to NaN, -0.0 to 0.0.

    Spark groups MAPs whatever the order of their entries. A row shows it, so here it is a part of the value.
    """
    if isinstance(value, float):
        return value if value == value else "\0NaN"  # noqa: PLR0124 - only NaN differs from itself
    if isinstance(value, Mapping):
        return tuple((canonical(key), canonical(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(canonical(item) for item in value)
    return value


def unordered(value: Any) -> Any:
    """The same for values that are equal but for the order of the entries of their MAPs, which are lists of pairs."""
    if isinstance(value, list):
        items = [unordered(item) for item in value]
        return frozenset(items) if all(isinstance(item, tuple) for item in value) else tuple(items)
    if isinstance(value, tuple):
        return tuple(unordered(item) for item in value)
    if isinstance(value, Mapping):
        return tuple((key, unordered(item)) for key, item in value.items())
    return canonical(value)


def canonical_row(row: Iterable[Any]) -> Key:
    """A whole row, hashable."""
    return tuple(canonical(value) for value in row)


def identity_of(table: Table) -> Callable[[Row], Key]:
    """What tells rows of the table apart: as `canonical_row`, with a VARIANT's JSON as the value that it stands for."""
    kinds = enumerate(column.type for column in table.columns)
    changers = {place: change for place, kind in kinds if (change := part_changer(kind, "variant", _json_identity))}
    if not changers:
        return canonical_row
    return lambda row: canonical_row(
        changers[place](value) if place in changers else value for place, value in enumerate(row)
    )


def _json_identity(text: str) -> frozenset[Any]:
    return frozenset({("\0JSON", _json_value(json.loads(text, parse_int=Decimal, parse_float=Decimal)))})


def _json_value(value: Any) -> Any:
    """JSON as Python finds it equal: fields in any order, 1.0 and 1; but true is no number."""
    if isinstance(value, bool):
        return "\0true" if value else "\0false"
    if isinstance(value, dict):
        return frozenset((name, _json_value(item)) for name, item in value.items())
    return tuple(_json_value(item) for item in value) if isinstance(value, list) else value


def arrow_rows(schema: pa.Schema, rows: Sequence[Row]) -> pa.Table:
    """Tuples as an Arrow table."""
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    return pa.Table.from_arrays(
        [pa.array(list(values), item.type) for values, item in zip(columns, schema, strict=True)], schema=schema
    )


class Base:
    """The part of a store that is on the executors: weighted rows hashed by some of their columns."""

    def __init__(self, workspace: Workspace, table: Table, by: Sequence[str]) -> None:
        self.workspace = workspace
        self._table = table
        self._by = tuple(by)
        self.trace: Trace | None = None
        self._kept = 0  # rows that forgetting has left

    def probe(self, rows: pa.Table) -> list[tuple[Row, int]]:
        """The stored rows, with their counts, that agree with one of `rows` in the hashed columns."""
        if self.trace is None or self.trace.frame is None or not rows.num_rows:
            return []
        from penstock.catalog.reserved import KEY
        from penstock.spark.grouping import hash_text

        workspace = self.workspace
        keys = as_frame(workspace, self._table, rows)
        terms = [(quoted(name), keys.schema[name].dataType) for name in self._by]
        wanted = workspace.name(
            workspace.sql(f"SELECT DISTINCT {hash_text(terms)} AS {KEY} FROM {workspace.name(keys)}")
        )
        stored = workspace.name(self.trace.frame)
        names = ", ".join(f"__s.{quoted(column.name)}" for column in self._table.columns)
        semi_join = f"FROM {stored} __s LEFT SEMI JOIN {wanted} __w ON __s.{KEY} = __w.{KEY}"
        query = f"SELECT /*+ BROADCAST(__w) */ {names}, __s.{WEIGHT} {semi_join}"
        return _consolidated(python_rows(in_arrow(self._table, carried(workspace.sql(query), self._table).toArrow())))

    def append(self, delta: Delta) -> None:
        """Add a weighted change of the table."""
        from penstock.catalog.reserved import KEY
        from penstock.spark.change import Delta
        from penstock.spark.grouping import hash_text
        from penstock.spark.trace import Trace

        terms = [(quoted(name), delta.schema[name].dataType) for name in self._by]
        query = f"SELECT *, {hash_text(terms)} AS {KEY} FROM {delta.view}"
        keyed = Delta.of_frame(self.workspace, self.workspace.sql(query), estimate=1 << 40).settled()
        trace = self.trace or Trace(self.workspace, keyed.schema)
        self.trace = trace.appended(keyed).merged()

    @property
    def doubled(self) -> bool:
        """Whether there are twice as many rows as forgetting has left the last time."""
        return self.trace is not None and self.trace.rows >= 2 * max(self._kept, _DRIVER_ENTRIES)

    def forget(self, lateness: TableLateness) -> None:
        """Drop the rows that are below a waterline."""
        from penstock.steps.lines import staying

        condition = staying(lateness)
        if self.trace is None or condition is None:
            return
        combined = replace(self.trace, combine=lambda frame: consolidated(frame).where(condition))
        self.trace = replace(combined.compacted(), combine=None)
        self._kept = self.trace.rows

    def weighted(self) -> DataFrame | None:
        """Every stored row with its weight; None if there are none."""
        from penstock.catalog.reserved import KEY

        frame = None if self.trace is None else self.trace.frame
        return None if frame is None else frame.drop(KEY)


def _consolidated(rows: Iterable[Row]) -> list[tuple[Row, int]]:
    found: dict[Key, tuple[Row, int]] = {}
    for row in rows:
        key = canonical_row(row[:-1])
        found[key] = (row[:-1], found.get(key, ((), 0))[1] + row[-1])
    return [item for item in found.values() if item[1]]


class KeyStore:
    """The row of each key of a table with a primary key."""

    def __init__(self, workspace: Workspace, table: Table) -> None:
        self._table = table
        names = [column.name.lower() for column in table.columns]
        self._places = [names.index(name.lower()) for name in table.key]
        self._base = Base(workspace, table, table.key)
        # key -> the row in the base, the row now
        self._newest: dict[Key, tuple[Row | None, Row | None]] = {}
        self._kept = 0  # entries on the driver that forgetting has left

    def key(self, row: Sequence[Any]) -> Key:
        """The hashable key of a row."""
        return tuple(canonical(row[place]) for place in self._places)

    def lookup(self, keys: Mapping[Key, Row]) -> dict[Key, Row]:
        """The stored rows of these keys; each key comes with a row that has it."""
        found = {key: self._newest[key][1] for key in keys if key in self._newest}
        missing = [row for key, row in keys.items() if key not in found]
        if missing and self._base.trace is not None:
            rows = arrow_rows(arrow_schema(self._table.columns), missing)
            found |= {self.key(row): row for row, count in self._base.probe(rows) if count > 0}
        return {key: row for key, row in found.items() if row is not None}

    def apply(self, changes: Mapping[Key, tuple[Row | None, Row | None]]) -> None:
        """Take over what a step did: for each key the row before it and after it."""
        for key, (before, after) in changes.items():
            base = self._newest[key][0] if key in self._newest else before if self._base.trace is not None else None
            if base is None and after is None:
                self._newest.pop(key, None)
            else:
                self._newest[key] = (base, after)
        if len(self._newest) > _DRIVER_ENTRIES:
            self.flush()

    def forget(self, lateness: TableLateness) -> None:
        """Drop keys that are below a waterline: an operation on one is late before anybody asks for its row."""
        if len(self._newest) < 2 * max(self._kept, _LEAST_ENTRIES) and not self._base.doubled:
            return
        # Both parts at once: one may hold what takes back a row of the other.
        self._newest = {key: rows for key, rows in self._newest.items() if not _is_late(rows[1] or rows[0], lateness)}
        self._kept = len(self._newest)
        self._base.forget(lateness)

    def apply_frame(self, delta: Delta) -> None:
        """Take over a change that stays on the executors."""
        self.flush()
        self._base.append(delta)

    def flush(self) -> None:
        """Move the newest entries to the executors."""
        rows = self._unflushed()
        if rows:
            self._base.append(
                as_delta(self._base.workspace, self._table, arrow_rows(weighted_schema(self._table.columns), rows))
            )
        self._newest = {}

    def _unflushed(self) -> list[Row]:
        pairs = self._newest.values()
        gone = [(*base, -1) for base, now in pairs if base is not None]
        return gone + [(*now, 1) for _, now in pairs if now is not None]

    def content(self) -> DataFrame:
        """Every row of the table."""
        base, workspace = self._base.weighted(), self._base.workspace
        if base is None:
            rows = [now for _, now in self._newest.values() if now is not None]
            return as_frame(workspace, self._table, arrow_rows(arrow_schema(self._table.columns), rows))
        newest = as_frame(workspace, self._table, arrow_rows(weighted_schema(self._table.columns), self._unflushed()))
        return repeated(base.union(newest))

    def base_frame(self) -> DataFrame | None:
        """The stored rows with their weights, after `flush`."""
        self.flush()
        return self._base.weighted()


class RowCounts:
    """How often each row of a table without a key is there; made when the first deletion asks."""

    def __init__(self, workspace: Workspace, table: Table) -> None:
        self._table = table
        self._identity = identity_of(table)
        self._base = Base(workspace, table, [column.name for column in table.columns])
        self._newest: dict[Key, tuple[Row, int]] = {}
        self._kept = 0  # entries on the driver that forgetting has left

    def counts(self, rows: Sequence[Row]) -> dict[Key, int]:
        """For each of the rows how often it is there."""
        found: dict[Key, int] = {}
        for row, count in self._probed(rows):
            key = self._identity(row)
            found[key] = found.get(key, 0) + count
        return {
            key: found.get(key, 0) + (self._newest[key][1] if key in self._newest else 0)
            for key in map(self._identity, rows)
        }

    def _probed(self, rows: Sequence[Row]) -> list[tuple[Row, int]]:
        return self._base.probe(arrow_rows(arrow_schema(self._table.columns), rows)) if self._base.trace else []

    def alike(self, rows: Sequence[Row]) -> list[tuple[Row, int]]:
        """The stored rows, with their counts, that equal one of `rows` in any order of a MAP's entries.

        It goes through all that is on the driver: a deletion seldom comes in an order of its own.
        """
        wanted = {unordered(row) for row in rows}
        near = [*self._probed(rows), *self._newest.values()]
        return [(row, count) for row, count in near if unordered(row) in wanted]

    def apply(self, changes: Iterable[tuple[Row, int]]) -> None:
        """Take over what a step did: rows and weights."""
        for row, weight in changes:
            key = self._identity(row)
            total = weight + (self._newest[key][1] if key in self._newest else 0)
            if total:
                self._newest[key] = (row, total)
            else:
                self._newest.pop(key, None)
        if len(self._newest) > _DRIVER_ENTRIES:
            self._flush()

    def forget(self, lateness: TableLateness) -> None:
        """Drop rows that are below a waterline: a deletion of one is late before anybody asks whether it is there."""
        if len(self._newest) < 2 * max(self._kept, _LEAST_ENTRIES) and not self._base.doubled:
            return
        # Both parts at once: one may hold what takes back a row of the other.
        self._newest = {key: item for key, item in self._newest.items() if not _is_late(item[0], lateness)}
        self._kept = len(self._newest)
        self._base.forget(lateness)

    def apply_frame(self, delta: Delta) -> None:
        """Take over a change that is large or stays on the executors."""
        self._base.append(delta)

    def check_frame(self, delta: Delta) -> None:
        """Raise DataError if a change on the executors deletes a row more often than it is there."""
        self._flush()
        before = self._base.weighted()
        after = delta.frame() if before is None else before.union(delta.frame())
        negative = consolidated(after).where(f"{WEIGHT} < 0").limit(1).toArrow().to_pylist()
        if negative:
            message = f"table {self._table.name}: a row to delete is not there: {negative[0]}"
            raise DataError(Diagnostic("ROW_NOT_FOUND", message))

    def load(self, delta: Delta) -> None:
        """Take over the whole content, consolidated, as the first that is known."""
        if delta.on_driver:
            self.apply((row[:-1], row[-1]) for row in python_rows(in_arrow(self._table, delta.arrow())))
        else:
            self._base.append(delta)

    def _flush(self) -> None:
        rows = [(*row, count) for row, count in self._newest.values()]
        if not rows:
            return
        self._base.append(
            as_delta(self._base.workspace, self._table, arrow_rows(weighted_schema(self._table.columns), rows))
        )
        self._newest = {}


def weighted_batch(batch: Batch) -> pa.Table:
    """The rows of a batch of inserts and deletes as a change."""
    weights = (
        [-1 if operation == "-" else 1 for operation in batch.operations] if batch.operations else [1] * len(batch)
    )
    return with_weights(batch.rows, weights)


def with_weights(rows: pa.Table, weights: Sequence[int]) -> pa.Table:
    """Rows with a weight each."""
    return rows.append_column(pa.field(WEIGHT, pa.int64()), pa.array(weights, pa.int64()))
