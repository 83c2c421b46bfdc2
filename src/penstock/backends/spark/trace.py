"""Traces: weighted rows that are kept, in layers: by operators, of views, of tables by key.

    newest rows      Arrow tables on the driver, up to `most_here`: a small step costs no Spark job to remember
    layers           DataFrames on the executors, hash-partitioned by `__key` if the rows have one; when there are too
                     many, the newest and all that are near them in size are merged, so there are few and most rows
                     lie still; large ones that a merge would only copy are merged tier by tier (docs/adr/0017)

A trace is a value: `appended` gives a new one and leaves the old as it was, so a step that fails has changed nothing.
Rows may stand in several layers with weights that cancel; who reads rows one by one must consolidate them.
`__key` is the hash of the operator's key (penstock.backends.spark.grouping): one BIGINT for keys of any type,
NULLs included.

A UNION is known to be partitioned like its branches only if each branch names its key exactly as its partitioning
does, qualifiers included, which a column read through a view does not. So a layer keeps its key under a name of its
own and gives it out as a new column `__key`; see docs/adr/0006.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.backends.cancelling import equal_added_up, may_be_null, without_cancelled
from penstock.backends.columns import fitted
from penstock.backends.spark.change import Delta, consolidated
from penstock.backends.spark.void_columns import fetched_arrow
from penstock.backends.thresholds import (
    DRIVER_LAYERS,
    JUDGED_AGAIN,
    LARGE_LAYER_ROWS,
    NEWEST_ROWS,
    NEWEST_SHARE,
    RELIEF,
    REPEATED,
    TIER_BITS,
    TRACE_LAYERS,
)
from penstock.catalog.reserved import KEY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from penstock.backends.spark.workspace import Workspace

_COUNTER = itertools.count()


@dataclass(frozen=True, eq=False)
class Layer:
    """Rows on the executors, partitioned by `__key` if they have one."""

    workspace: Workspace
    frame: DataFrame
    rows: int
    distributed = True

    @cached_property
    def view(self) -> str:
        """A name for the rows that stands as long as the layer."""
        return self.workspace.standing(self.frame, self)


@dataclass(frozen=True, eq=False)
class DriverLayer:
    """Rows on the driver, given to Spark at most once."""

    workspace: Workspace
    schema: StructType
    table: pa.Table
    distributed = False

    def __getstate__(self) -> dict[str, Any]:
        """For a snapshot: what Spark has been given of it is given again."""
        return _fields_of(self)

    @property
    def rows(self) -> int:
        """Their number."""
        return int(self.table.num_rows)

    @cached_property
    def frame(self) -> DataFrame:
        """The rows as a local relation."""
        return self.workspace.local(self.table, self.schema)

    @cached_property
    def view(self) -> str:
        """A name for the rows that stands as long as the layer."""
        return self.workspace.standing(self.frame, self)

    def with_rows(self, table: pa.Table) -> DriverLayer:
        """The layer with more rows."""
        joined = pa.concat_tables([self.table, fitted(table, self.table.schema)]).combine_chunks()
        return DriverLayer(self.workspace, self.schema, joined)


@dataclass(frozen=True)
class Trace:
    """Weighted rows; `schema` includes `__weight`, and `__key` where they are found by it.

    Of one that nobody reads by key, such as the content of a view, the layers lie as they come.
    Of an `append_only` input no weight is below zero, and its rows are kept as they came, unless equal ones may be
    added up (`may_repeat`): that is done until a merge leaves most of them, when the trace has `distinct_at` rows.
    """

    workspace: Workspace
    schema: StructType
    here: tuple[DriverLayer, ...] = ()  # on the driver: most rows, and the newest, which alone are given to Spark anew
    layers: tuple[Layer, ...] = ()
    append_only: bool = False
    may_repeat: bool = False
    distinct_at: int = 0
    combine: Callable[[DataFrame], DataFrame] | None = None
    retracts: bool = False  # whether a row may stand beside one that takes it back
    most_here: int | None = None  # so many rows may lie on the driver; None: as many as of an operator's

    def __getstate__(self) -> dict[str, Any]:
        """For a snapshot: the relation of all parts is made of them again."""
        return _fields_of(self)

    @property
    def rows(self) -> int:
        """The number of entries that are kept."""
        return sum(part.rows for part in self._parts)

    @property
    def _parts(self) -> tuple[Layer | DriverLayer, ...]:
        return (*self.layers, *self.here)

    def _read(self) -> tuple[Layer | DriverLayer, ...]:
        """All parts, for somebody who reads all entries."""
        self.workspace.reads(*self._parts)
        return self._parts

    @property
    def memory(self) -> pa.Table | None:
        """The entries on the driver, None if there are none."""
        self.workspace.reads(*self.here)
        return self._memory

    @property
    def _memory(self) -> pa.Table | None:
        if not self.here:
            return None
        schema = self.here[0].table.schema
        return pa.concat_tables([fitted(layer.table, schema) for layer in self.here])

    @property
    def bytes(self) -> int:
        """An estimate of the size of what is kept, from the part on the driver and the width of the schema."""
        width = 16 * len(self.schema.fields)
        here = sum(int(layer.table.get_total_buffer_size()) for layer in self.here)
        return here + sum(layer.rows for layer in self.layers) * width

    @property
    def frame(self) -> DataFrame | None:
        """All entries, None if there are none."""
        self._read()
        return self._frame

    @cached_property
    def _frame(self) -> DataFrame | None:
        found: DataFrame | None = None
        for part in self._parts:
            found = part.frame if found is None else found.union(part.frame)
        return found

    @property
    def view(self) -> str | None:
        """The relation for a FROM that has all entries, None if there are none."""
        parts = [part.view for part in self._read()]
        if len(parts) <= 1:
            return parts[0] if parts else None
        return f"({' UNION ALL '.join(f'SELECT * FROM {part}' for part in parts)})"

    def relation(self) -> DataFrame:
        """All entries, of which there may be none."""
        return self.workspace.empty(self.schema) if self.frame is None else self.frame

    @property
    def exchanged(self) -> str | None:
        """The same as `view`, all of it partitioned by `__key`: what is on the driver is exchanged, no layer is."""
        if not self.layers or not self.here:
            return self.view
        at = _own_name()
        newest = self.workspace.local(self.memory, self.schema).withColumnRenamed(KEY, at)
        spread = newest.repartition(self.workspace.partitions, at).withColumnRenamed(at, KEY)
        layers = replace(self, here=()).view
        return f"(SELECT * FROM {layers} UNION ALL SELECT * FROM {self.workspace.name(spread)})"

    @property
    def is_keyed(self) -> bool:
        """True if rows are found by `__key`, and lie by it."""
        return KEY in self.schema.names

    @property
    def is_local(self) -> bool:
        """True if everything is on the driver, so that a query over it needs no exchange."""
        return not self.layers

    def appended(self, delta: Delta, *, room: int = 1) -> Trace:
        """The trace with a settled change, whose columns are the trace's.

        The driver may hold `room` times as much as usual: for an operator that does not hand it to Spark.
        """
        if delta.is_empty():
            return self
        return replace(self._grown(delta, room), retracts=self.retracts or delta.retracts)

    def _grown(self, delta: Delta, room: int) -> Trace:
        if delta.on_driver:
            most = self.workspace.memory_rows if self.most_here is None else self.most_here
            return self._remembered(delta.arrow(), room * most)
        if delta.partitioned or not self.is_keyed:
            return replace(self, layers=(*self.layers, Layer(self.workspace, delta.frame(), delta.count())))
        return replace(self, layers=(*self.layers, self._partitioned(delta.frame())))

    def _remembered(self, table: pa.Table, most: int) -> Trace:
        table = may_be_null(table)
        here = list(self.here)
        if len(here) < DRIVER_LAYERS:
            here.append(DriverLayer(self.workspace, self.schema, table))
        else:
            here[-1] = here[-1].with_rows(table)
        if len(here) > 1 and here[-1].rows > max(NEWEST_ROWS, here[0].rows // NEWEST_SHARE):
            here = [here[0].with_rows(here[1].table)]
        grown = replace(self, here=tuple(here))
        if len(here) > 1 and here[-1].rows >= here[0].rows:
            grown = grown.lightened()
        return grown if sum(layer.rows for layer in grown.here) <= most else grown.relieved(most)

    def lightened(self) -> Trace:
        """The same with what is on the driver added up, as far as that needs no job.

        It is due when as much has come as there was: an answer that each step replaces must not be read with all of
        its old ones, which a join multiplies, and the next join again.
        """
        if self.append_only or self.combine is not None:
            return self
        fewer = without_cancelled(self._memory)
        return self if fewer is None else self._holding(fewer)

    def _holding(self, table: pa.Table) -> Trace:
        """The same with these rows on the driver, in place of those there."""
        return replace(self, here=(DriverLayer(self.workspace, self.schema, table),) if table.num_rows else ())

    def relieved(self, most: int) -> Trace:
        """The same with fewer rows on the driver: what cancels or adds up leaves them, or else all move away.

        A state of few groups or rows that come again and again stays on the driver for ever, where a step needs no job.
        """
        if self.is_local and not self.copies:
            fewer = self.condensed()
            if fewer.rows * RELIEF <= most:
                return fewer
        return self.flushed()

    def flushed(self) -> Trace:
        """The same with the newest rows moved to the executors."""
        memory = self._memory
        if memory is None:
            return self
        layer = self._partitioned(self.workspace.local(memory, self.schema))
        return replace(self, here=(), layers=(*self.layers, layer))

    def _partitioned(self, frame: DataFrame) -> Layer:
        return self._layer(frame, self.workspace.partitions)

    def _layer(self, frame: DataFrame, partitions: int | None = None) -> Layer:
        """Rows evaluated as a layer, which lies by key if there is one."""
        found = (
            by_key(self.workspace, frame, partitions) if self.is_keyed else self.workspace.checkpoints.evaluated(frame)
        )
        return Layer(self.workspace, *found)

    @property
    def copies(self) -> bool:
        """True if a merge copies rows as they are: nothing cancels, and when it was last seen, little added up."""
        return self._only_grows and (not self.may_repeat or self.rows < JUDGED_AGAIN * self.distinct_at)

    @property
    def _only_grows(self) -> bool:
        return self.append_only and self.combine is None

    def merged(self) -> Trace:
        """The same, and if there are too many layers, the newest of them merged, with each that is near them in size.

        They are merged at once: a job costs more than the rows that it writes, for all but the largest layers. Large
        ones with little to add up wait until there are sixteen of one tier; a tier's are sixteen times the last one's.
        """
        waits = self._only_grows and (not self.may_repeat or self.distinct_at > 0)
        still = [layer for layer in self.layers if waits and layer.rows >= LARGE_LAYER_ROWS]
        kept = [layer for layer in self.layers if layer not in still]
        if len(kept) > TRACE_LAYERS:
            newest = [kept.pop(), kept.pop()][::-1]
            while kept and 2 * sum(layer.rows for layer in newest) >= kept[-1].rows:
                newest.insert(0, kept.pop())
            return self._with_merged((*still, *kept), newest)
        tiers: dict[int, list[Layer]] = {}
        for layer in still:
            tiers.setdefault(_tier(layer), []).append(layer)
        full = next((tier for tier in tiers.values() if len(tier) >= 1 << TIER_BITS), None)
        return self if full is None else self._with_merged([item for item in self.layers if item not in full], full)

    def compacted(self) -> Trace:
        """The same as one layer, consolidated as a merge of its layers would be."""
        if self.here:
            return self.flushed().compacted()
        return self._with_merged((), self.layers) if self.layers else self

    def condensed(self) -> Trace:
        """The same with the rows on the driver consolidated there."""
        memory = self._memory
        if memory is None or self.copies:
            return self
        table = equal_added_up(memory) if self.combine is None else None
        if table is None:
            rows = fetched_arrow(self.consolidate(self.workspace.local(memory, self.schema)))
            table = fitted(rows, memory.schema)
        return self._holding(table)

    def consolidate(self, frame: DataFrame) -> DataFrame:
        """Rows of the trace as a merge writes them: added up and without those that cancel, or as they are."""
        if self.combine is not None:
            return self.combine(frame)
        return frame if self.copies else consolidated(frame)

    def _with_merged(self, others: Iterable[Layer], layers: Sequence[Layer]) -> Trace:
        merged, distinct_at = self._merge(layers), self.distinct_at
        sizes = sorted(layer.rows for layer in layers)
        if self._only_grows and not self.copies and sum(sizes) >= LARGE_LAYER_ROWS:
            added, new = merged.rows - sizes[-1], sum(sizes[:-1])  # what is new beside the largest layer, of how much
            distinct_at = self.rows if REPEATED * added > new else 0
        return replace(self, layers=(*others, merged), distinct_at=distinct_at)

    def _merge(self, layers: Sequence[Layer]) -> Layer:
        frame = layers[0].frame
        for layer in layers[1:]:
            frame = frame.union(layer.frame)
        return self._layer(self.consolidate(frame))

    def rewritten(self, frame: DataFrame, rows: int) -> Trace:
        """A trace that holds just these rows, already evaluated by `by_key`."""
        return replace(self, here=(), layers=(Layer(self.workspace, frame, rows),))


def _fields_of(value: DriverLayer | Trace) -> dict[str, Any]:
    return {item.name: getattr(value, item.name) for item in fields(value)}


def _tier(layer: Layer) -> int:
    return ((layer.rows // LARGE_LAYER_ROWS).bit_length() - 1) // TIER_BITS


def by_key(
    workspace: Workspace, frame: DataFrame, partitions: int | None = None, *, consolidate: bool = False
) -> tuple[DataFrame, int]:
    """The frame evaluated on the executors, and its number of rows.

    It keeps its partitioning by `__key`, or is partitioned anew by it, in a way that later queries recognise. Equal
    rows are added up with `consolidate`: they are in one place by then.
    """
    at = _own_name()
    spread = frame.withColumnRenamed(KEY, at)
    if partitions is not None:
        spread = spread.repartition(partitions, at)
    kept, rows = workspace.checkpoints.evaluated(consolidated(spread) if consolidate else spread)
    return workspace.checkpoints.sharing(kept.withColumnRenamed(at, KEY), kept), rows


def _own_name() -> str:
    return f"{KEY}_{next(_COUNTER)}"


def with_key(schema: StructType) -> StructType:
    """The schema of a trace's rows: the change's columns, then `__key`."""
    from pyspark.sql.types import LongType, StructField, StructType  # noqa: PLC0415 - `check` goes without PySpark

    return StructType([*schema.fields, StructField(KEY, LongType(), nullable=False)])
