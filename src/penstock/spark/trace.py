"""Traces: what an operator must remember, in layers.

    newest rows      an Arrow table on the driver, up to `memory_rows`: a small step costs no Spark job to remember
    layers           DataFrames on the executors, hash-partitioned by `__key`, each at least as large as
                     the next newer one; two that are near in size are merged, so there are few

A trace is a value: `appended` gives a new one and leaves the old as it was, so a step that fails has changed nothing.
Rows may stand in several layers with weights that cancel; who reads rows one by one must consolidate them.
`__key` is the hash of the operator's key (penstock.spark.grouping): one BIGINT for keys of any type, NULLs included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from penstock.spark.change import Delta, checkpointed, consolidated
from penstock.spark.render import KEY
from penstock.spark.workspace import Workspace

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_MAX_LAYERS = 4


@dataclass(frozen=True)
class Layer:
    """Rows on the executors, partitioned by `__key`."""

    frame: DataFrame
    rows: int


@dataclass(frozen=True)
class Trace:
    """State of one operator for one input: weighted rows with `__key`; `schema` includes `__key` and `__weight`."""

    workspace: Workspace
    schema: StructType
    memory: pa.Table | None = None
    layers: tuple[Layer, ...] = ()
    append_only: bool = False
    combine: Callable[[DataFrame], DataFrame] | None = None

    @property
    def rows(self) -> int:
        """How many entries are kept."""
        return (0 if self.memory is None else self.memory.num_rows) + sum(layer.rows for layer in self.layers)

    @property
    def bytes(self) -> int:
        """An estimate of the size of what is kept, from the part on the driver and the width of the schema."""
        width = 16 * len(self.schema.fields)
        here = 0 if self.memory is None else self.memory.nbytes
        return here + sum(layer.rows for layer in self.layers) * width

    @cached_property
    def frame(self) -> DataFrame | None:
        """All entries, None if there are none."""
        parts = [layer.frame for layer in self.layers]
        if self.memory is not None and self.memory.num_rows:
            parts.append(self.workspace.local(self.memory, self.schema))
        if not parts:
            return None
        found = parts[0]
        for part in parts[1:]:
            found = found.union(part)
        return found

    def relation(self) -> DataFrame:
        """All entries, of which there may be none."""
        return self.workspace.empty(self.schema) if self.frame is None else self.frame

    @property
    def is_local(self) -> bool:
        """Whether everything is on the driver, so that a query over it needs no exchange."""
        return not self.layers

    def appended(self, delta: Delta) -> Trace:
        """The trace with a settled change, whose columns are the trace's."""
        if delta.is_empty():
            return self
        if delta.on_driver:
            return self._remembered(delta.arrow())
        layer = Layer(*checkpointed(self._partitioned(delta.frame())))
        return replace(self, layers=(*self.layers, layer))

    def _remembered(self, table: pa.Table) -> Trace:
        import pyarrow as pa

        memory = table if self.memory is None else pa.concat_tables([self.memory, table.cast(self.memory.schema)])
        grown = replace(self, memory=memory)
        return grown if memory.num_rows <= self.workspace.memory_rows else grown.flushed()

    def flushed(self) -> Trace:
        """The same with the newest rows moved to the executors."""
        if self.memory is None or not self.memory.num_rows:
            return self
        frame = self.workspace.local(self.memory, self.schema)
        layer = Layer(*checkpointed(self._partitioned(frame)))
        return replace(self, memory=None, layers=(*self.layers, layer))

    def _partitioned(self, frame: DataFrame) -> DataFrame:
        return frame.repartition(self.workspace.partitions, KEY)

    def merged(self) -> Trace:
        """The same with layers merged where they are near in size or too many."""
        layers = list(self.layers)
        while len(layers) > 1 and (len(layers) > _MAX_LAYERS or layers[-1].rows * 2 >= layers[-2].rows):
            newest, older = layers.pop(), layers.pop()
            layers.append(self._merge([older, newest]))
        return self if len(layers) == len(self.layers) else replace(self, layers=tuple(layers))

    def compacted(self) -> Trace:
        """The same as one layer without cancelled rows."""
        full = self.flushed()
        if not full.layers:
            return full
        return replace(full, layers=(self._merge(list(full.layers)),))

    def _merge(self, layers: list[Layer]) -> Layer:
        frame = layers[0].frame
        for layer in layers[1:]:
            frame = frame.union(layer.frame)
        if self.combine is not None:
            frame = self.combine(frame)
        elif not self.append_only:
            frame = consolidated(frame)
        return Layer(*checkpointed(frame))

    def rewritten(self, frame: DataFrame, rows: int) -> Trace:
        """A trace that holds just these rows, already evaluated and partitioned by `__key`."""
        return replace(self, memory=None, layers=(Layer(frame, rows),))


def with_key(schema: StructType) -> StructType:
    """The schema of a trace's rows: the change's columns, then `__key`."""
    from pyspark.sql.types import LongType, StructField, StructType

    return StructType([*schema.fields, StructField(KEY, LongType(), nullable=False)])
