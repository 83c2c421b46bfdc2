"""The usual way of a step by group: only the touched groups are read, and the change's partials are appended.

A small change to a small state is added up on the driver (sums.py), without a Spark job; else Spark adds up.
"""

from __future__ import annotations

from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import StructField, StructType

from penstock.backends.spark.change import Delta
from penstock.backends.spark.operators.entries import OF_CHANGE
from penstock.backends.spark.operators.groupstate import GroupState
from penstock.backends.spark.sums import STATES, Adder
from penstock.backends.thresholds import ADDED_UP_ROOM, PLANNED_ROWS
from penstock.catalog.reserved import KEY
from penstock.plan.scalar import quoted


class Touching(GroupState):
    """Computes the three states of the touched groups, and appends what the change contributes."""

    @cached_property
    def _adder(self) -> Adder:
        return Adder(self.workspace, self.groups, self.partials)

    def touch(self, entries: str, estimate: int) -> Delta | None:
        """Propose the state with the change appended; the change of the output."""
        if estimate <= PLANNED_ROWS and (self.trace is None or self.trace.is_local):
            state = None if self.trace is None else self.trace.memory
            touched = self._adder.touched(entries, estimate, state, self._outcome())
            if touched is not None:
                return self._done(touched, room=ADDED_UP_ROOM)
        change = entries if self.groups else self.compacted(entries)
        old, local = None, True
        if self.trace is not None and self.trace.view is not None:
            old, local = self.trace.view, self.trace.is_local
        if old is not None and not local:
            found = self._met(change, estimate)
            if found is None:
                return None
            old, change = found
        frame = self.workspace.sql(self._outcomes(self._three_states(old, change, local=local)))
        return self._done(Delta.of_frame(self.workspace, frame, estimate=estimate).settled())

    def _done(self, touched: Delta, room: int = 1) -> Delta | None:
        if touched.is_empty():
            return None
        self._propose(touched, room)
        return self._emitted(touched)

    def _met(self, change: str, estimate: int) -> tuple[str, str] | None:
        """The entries of the state that the change touches, and the change itself, evaluated."""
        query = self.workspace.sql(self.compacted(change))
        settled = Delta.of_frame(self.workspace, query, estimate=estimate).settled()
        if settled.is_empty():
            return None
        assert self.trace is not None  # noqa: S101 - the caller has seen it
        hint, old = self.hint("__k", settled.count(), self.trace), self.trace_relation(self.trace, settled.count())
        keys = f"SELECT DISTINCT {KEY} AS __touched FROM {settled.view}"
        touched = f"(SELECT {hint} __s.* FROM {old} __s LEFT SEMI JOIN ({keys}) __k ON __s.{KEY} = __k.__touched)"
        return touched, f"SELECT * FROM {settled.view}"

    def _three_states(self, old: str | None, change: str, *, local: bool) -> str:
        states = self.entries.states(*STATES)
        # In one partition nothing has to be exchanged to be grouped.
        hint = "/*+ COALESCE(1) */ " if local and old is not None else ""
        both = f"SELECT {hint}* FROM ({self.entries.sides(old, change)})"
        return f"SELECT {self.entries.listed}, {states} FROM ({both}) GROUP BY {self.entries.listed} HAVING {OF_CHANGE}"

    def _outcomes(self, states: str) -> str:
        kept = ", ".join(quoted(name) for name in dict.fromkeys(self.entries.appended.values()))
        return f"SELECT {self.entries.listed}, {kept}, {self._outcome()} AS __out FROM ({states})"

    def _outcome(self) -> str:
        return f"array_compact({self.output()})"

    def _emitted(self, touched: Delta) -> Delta:
        """The output rows of the touched groups; taken out on the driver where the groups are there."""
        schema: StructType = touched.schema["__out"].dataType.elementType  # type: ignore[attr-defined]
        if touched.on_driver:
            return Delta.of_arrow(self.workspace, _rows_of(touched.arrow()["__out"]), schema)
        query = f"SELECT inline(__out) FROM {touched.view}"
        return Delta.of_query(self.workspace, query, schema, estimate=2 * touched.estimate)

    def _propose(self, touched: Delta, room: int) -> None:
        """Append the change's partials to the trace; on the driver where the touched groups are there."""
        columns = [KEY, *self.groups]
        if touched.on_driver:
            table = touched.arrow().select([*columns, *self.entries.appended.values()])
            entries = table.rename_columns([*columns, *self.entries.appended])
            delta = Delta.of_arrow(self.workspace, entries, self._schema(touched.schema))
        else:
            renamed = ", ".join(f"{quoted(found)} AS {quoted(name)}" for name, found in self.entries.appended.items())
            delta = touched.projected(f"{self.entries.listed}, {renamed}")
        self.proposed = [self.state_of(delta.schema).appended(delta, room=room)]

    def _schema(self, schema: StructType) -> StructType:
        groups = [schema[name] for name in (KEY, *self.groups)]
        columns = [StructField(name, schema[found].dataType) for name, found in self.entries.appended.items()]
        return StructType([*groups, *columns])


def _rows_of(column: pa.ChunkedArray) -> pa.Table:
    """The structs of a column of arrays, one row each."""
    structs = pc.list_flatten(column.combine_chunks())
    if isinstance(structs, pa.ChunkedArray):
        structs = structs.combine_chunks()
    return pa.Table.from_arrays(structs.flatten(), names=[item.name for item in structs.type])
