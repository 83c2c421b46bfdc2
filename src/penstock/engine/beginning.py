"""The first step of views that are made late: over the rows that their tables have already, where these lie.

Rows that lie in the process, for operators that all work there, are laid into the store piece by piece: no JVM is
started for them, and memory need not hold them all at once. Spark reads all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from penstock.backends.native.kinds import stored
from penstock.backends.native.operators.operator import columns_of
from penstock.backends.native.proof import NotProvenError, not_proven
from penstock.backends.native.store import Store
from penstock.backends.native.trace import Columns, Rows, summed, weighing
from penstock.backends.spark.change import Delta, consolidated
from penstock.backends.spark.workspace import Workspace
from penstock.catalog.reserved import WEIGHT
from penstock.circuit.operators import Cleaned, Source
from penstock.engine.installed import Installed
from penstock.engine.native import arrow_of
from penstock.engine.schemas import schema_of
from penstock.plan.node import Field
from penstock.plan.scalar import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Before(Protocol):
    """The rows of tables, and of views with LATENESS, before a step; their weights may cancel.

    With `since` they are those that have come into a table after that step.
    """

    def weighted(self, name: str, since: int | None = None) -> DataFrame | None:
        """All rows, for Spark; None if nothing ever came in."""

    def pieces_of(self, name: str, since: int | None = None) -> Iterator[pa.Table]:
        """The same in Arrow, piece by piece; NotProvenError if they lie on the executors."""

    def retracts_of(self, name: str) -> bool:
        """True if some of the weights may cancel."""


class Nothing:
    """Tables without rows."""

    def weighted(self, name: str, since: int | None = None) -> DataFrame | None:  # noqa: ARG002 - of every table
        """No rows."""
        return None

    def pieces_of(self, name: str, since: int | None = None) -> Iterator[pa.Table]:  # noqa: ARG002 - of every table
        """No rows."""
        return iter(())

    def retracts_of(self, name: str) -> bool:  # noqa: ARG002 - of every table
        """False: nothing can cancel."""
        return False


def added_up_here(store: Store | None, columns: Columns, pieces: Iterator[pa.Table]) -> pa.Table:
    """Weighted rows, those that cancel left out; NotProvenError where the process cannot tell them apart."""
    if store is None:
        not_proven("a program that works on Spark")
    lying = _Lying(store, columns_of(tuple(Field(name, kind) for name, kind in columns)))
    return lying.fetched(lying.laid(pieces))


@dataclass(frozen=True)
class Beginning:
    """The first change of the sources of a circuit."""

    workspace: Workspace
    store: Store | None
    installed: Installed
    before: Before

    def change(self, source: Source, delta: Delta | None) -> Delta | None:
        """The rows of a source before the step, and its change in the step on top."""
        try:
            return self._in_process(source, delta)
        except NotProvenError:
            return self._on_spark(source, delta)

    def _in_process(self, source: Source, delta: Delta | None) -> Delta | None:
        readers = [item for item in self.installed.circuit.operators if source.number in item.inputs]
        # A filter by LATENESS goes through its rows in Arrow, wherever they are.
        there = {item.number for item in readers if not isinstance(item, Cleaned)}
        if self.store is None or not self.installed.native.keys() >= there:
            not_proven("an operator on Spark that reads them")
        if delta is not None and delta.distributed:
            not_proven("a change that lies on Spark")
        columns = columns_of(source.node.fields)
        pieces = self.before.pieces_of(source.relation, source.since)
        first = next(pieces, None)
        if first is None:
            return delta
        changes = [] if delta is None else [delta.arrow()]
        if source.since is not None:  # what came then is shown as it came
            self.store.keep_order()
        lying = _Lying(self.store, columns)
        rows = lying.laid(chain([first], pieces, changes))
        return Delta.of_native(self.workspace, rows, schema_of(self.workspace, self.installed, source.number), lying)

    def _on_spark(self, source: Source, delta: Delta | None) -> Delta | None:
        rows = self.before.weighted(source.relation, source.since)
        if rows is None:
            return delta
        frame = rows.select(*map(quoted, (*source.node.names, WEIGHT)))
        both = frame if delta is None else frame.unionByName(delta.frame())
        if self.before.retracts_of(source.relation) or (delta is not None and delta.retracts):
            both = consolidated(both)  # nothing is to be evaluated for what has gone
        return Delta.of_frame(self.workspace, both, estimate=1 << 40).settled()


@dataclass(frozen=True)
class _Lying:
    """Rows that lie in the store as long as the step lasts."""

    store: Store
    columns: Columns

    def laid(self, pieces: Iterator[pa.Table]) -> Rows:
        """Weighted rows in the store, without those that cancel: nothing is to be evaluated for what has gone."""
        kinds = [*((name, stored(kind)) for name, kind in self.columns), (WEIGHT, "BIGINT")]
        name = self.store.loaded(kinds, pieces)
        if self.store.value(f"SELECT bool_or({WEIGHT} < 0) FROM {name}"):
            given, name = name, self.store.name()
            return Rows(name, self.store.made(name, summed([column for column, _ in self.columns], given)))
        return Rows(name, int(str(self.store.value(f"SELECT count(*) FROM {name}"))))

    def fetched(self, rows: Rows) -> pa.Table:
        """The rows as Arrow, for whom reads them elsewhere."""
        names = weighing(column for column, _ in self.columns)
        return arrow_of(self.store, f"SELECT {names} FROM {rows.name}", self.columns)

    def evaluated(self, rows: Rows) -> Rows:
        """The rows, which are a table already."""
        return rows
