"""An operator in DuckDB among those on Spark: changes are handed over as Arrow, or as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import pyarrow as pa

from penstock.backends import api
from penstock.backends.api import Lines, Runner
from penstock.backends.native.kinds import schema_in_arrow, to_arrow
from penstock.backends.native.operators.operator import NativeOperator
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Columns, Rows, weighing
from penstock.backends.spark.change import Delta, Evaluating
from penstock.backends.spark.schemas import spark_schema
from penstock.backends.spark.workspace import Workspace
from penstock.catalog.reserved import WEIGHT
from penstock.engine.native_lines import native_lines
from penstock.errors import Diagnostic, InternalError


class NativeRunner(Runner[Delta]):
    """Runs an operator in DuckDB within the step's transaction, which the engine begins and ends."""

    def __init__(self, workspace: Workspace, native: NativeOperator) -> None:
        self.workspace = workspace
        self.native = native
        self.schema = spark_schema(native.outputs, weighted=True)

    def step(self, inputs: Sequence[Delta | None], *, first: bool) -> Delta | None:
        renamed = self._renamed(inputs)
        if renamed is not None:
            return renamed
        pairs = zip(inputs, self.native.inputs, strict=True)
        changes = [relation_of(self.native.store, delta, columns) for delta, columns in pairs]
        found = self.native.step(changes, first=first)
        if found is None:
            return None
        estimate = max((delta.estimate for delta in inputs if delta is not None), default=0)
        return Delta.of_native(self.workspace, found, self.schema, self, estimate)

    def _renamed(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The rows of a change that are here, where all that is done is to name their columns."""
        delta = inputs[0] if len(inputs) == 1 else None
        if self.native.renamed is None or delta is None or not delta.is_here:
            return None
        rows, wanted = delta.arrow(), arrow_schema(self.native.outputs)
        columns = [rows.column(name) for name in (*self.native.renamed, WEIGHT)]
        if [column.type for column in columns] != wanted.types:
            return None
        table = pa.Table.from_arrays(columns, schema=wanted)
        whole = set(self.native.renamed) >= set(delta.names)
        return Delta.of_arrow(self.workspace, table, self.schema, cancels=delta.cancels, once=whole and delta.is_once)

    def fetched(self, rows: Rows) -> pa.Table:
        """The rows of a change as Arrow."""
        self.native.see_clock()
        names = weighing(name for name, _ in self.native.outputs)
        return arrow_of(self.native.store, f"SELECT {names} FROM {rows.name}", self.native.outputs)

    def evaluated(self, rows: Rows) -> Rows:
        """A change that is a query, as a table of the step."""
        return self.native.evaluated(rows)

    def wants_step(self) -> bool:
        return self.native.wants_step()

    def commit(self) -> None:
        self.native.commit()

    def discard(self) -> None:
        self.native.discard()

    def merge(self, lines: Lines | None = None) -> None:
        self.native.merge(native_lines(self.workspace, lines))

    def compact(self, lines: Lines | None = None) -> None:
        self.native.compact(native_lines(self.workspace, lines))

    def state(self) -> Iterator[tuple[int, int]]:
        return self.native.state()


def relation_of(store: Store, delta: api.Delta | None, columns: Columns) -> Rows | None:
    """The change as a relation of the step; one that comes from elsewhere is given over once."""
    if delta is None or delta.is_empty():
        return None
    if delta.native is None:
        table = delta.arrow()
        wanted = arrow_schema(columns)
        if table.schema.types != wanted.types:
            table = _as_declared(table, wanted)
        delta.native = Rows(store.taken(table), table.num_rows)
    return delta.native if delta.native.count != 0 else None


def change_in_store(workspace: api.Workspace, rows: Rows, columns: Columns, source: Evaluating) -> Delta:
    """A change that lies in the store as long as the step lasts."""
    return Delta.of_native(cast("Workspace", workspace), rows, spark_schema(columns, weighted=True), source)


def arrow_of(store: Store, query: str, columns: Columns) -> pa.Table:
    """The rows of a query for a change with those columns."""
    return to_arrow(store.arrow(query), arrow_schema(columns))


def arrow_schema(columns: Columns) -> pa.Schema:
    """The schema of a change in Arrow, as Spark has it."""
    return schema_in_arrow(columns).append(pa.field(WEIGHT, pa.int64()))


def _as_declared(table: pa.Table, wanted: pa.Schema) -> pa.Table:
    """The rows of a change in the types that its reader was made for; InternalError if they are others."""
    try:
        return table.cast(wanted)
    except pa.ArrowInvalid as error:
        message = f"a change has columns of the types {table.schema.types}, its reader expects {wanted.types}: {error}"
        raise InternalError(Diagnostic("UNLIKE_TYPES", message)) from error
