"""What every running operator has in common.

A runner takes the changes of its inputs and gives its own. What it will remember is only proposed until
`commit`; `discard` forgets the proposal, so a step that fails anywhere has changed nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.analysis.derived import Derived
from penstock.circuit.collection import Expiry
from penstock.plan.scalar import quoted
from penstock.spark.change import Delta, consolidated
from penstock.spark.grouping import hash_text
from penstock.spark.render import KEY, WEIGHT
from penstock.spark.trace import Trace
from penstock.spark.workspace import Workspace, columns_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType

LineText = Callable[[Derived], str]
Terms = list[tuple[str, "DataType"]]
BROADCAST_ROWS = 200_000


class Runner(ABC):
    """One operator at work; `traces` is its state, one for each input or one for its groups."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.traces: list[Trace] = []
        self.proposed: list[Trace] | None = None
        self.expiries: tuple[Expiry, ...] = ()
        self._unexpired: dict[int, str] = {}  # by trace: which rows something may still touch, as of the last step

    @abstractmethod
    def step(self, inputs: Sequence[Delta | None], *, first: bool) -> Delta | None:
        """The change of the output; None stands for no change. `first` in the operator's first step."""

    def wants_step(self) -> bool:
        """Whether the operator must run although none of its inputs changed."""
        return False

    def commit(self) -> None:
        """Make what was proposed the state."""
        if self.proposed is not None:
            self.traces, self.proposed = self.proposed, None

    def merge(self, lines: LineText | None = None) -> None:
        """Merge layers of the traces where that is due, without what has expired.

        It runs Spark jobs, so it is no part of `commit`. `lines` gives a waterline as constant Spark SQL.
        """
        self._look_at(lines)
        self.traces = [
            self._collecting(place, trace, Trace.merged) if len(trace.layers) > 1 else trace
            for place, trace in enumerate(self.traces)
        ]

    def _look_at(self, lines: LineText | None) -> None:
        """Note what has expired after the last step; the next one's own waterlines come too early for its rows."""
        texts: dict[int, list[str]] = {}
        for item in self.expiries:
            if lines is not None and item.trace < len(self.traces) and self.traces[item.trace].layers:
                texts.setdefault(item.trace, []).append(_unexpired(item, lines(item.waterline)))
        self._unexpired = {place: " AND ".join(found) for place, found in texts.items()}

    def _collecting(self, place: int, trace: Trace, work: Callable[[Trace], Trace]) -> Trace:
        """What `work` makes of a trace, rows that have expired left out of every layer that it writes."""
        kept = self.unexpired(place)
        if not kept:
            return work(trace)

        def combined(frame: DataFrame) -> DataFrame:
            added = trace.combine(frame) if trace.combine is not None else frame
            if trace.combine is None and not trace.append_only:
                added = consolidated(frame)
            return added.where(kept)

        return replace(work(replace(trace, combine=combined)), combine=trace.combine)

    def unexpired(self, place: int) -> str:
        """The condition of a trace's rows that something may still touch, "" where all may."""
        return self._unexpired.get(place, "")

    def discard(self) -> None:
        """Forget what was proposed."""
        self.proposed = None

    def compact(self, lines: LineText | None = None) -> None:
        """Merge every trace into one layer, without what has expired."""
        self.traces = [trace.flushed() for trace in self.traces]
        self._look_at(lines)
        self.traces = [self._collecting(place, trace, Trace.compacted) for place, trace in enumerate(self.traces)]

    def state(self) -> Iterator[tuple[int, int]]:
        """Rows and bytes of each trace."""
        for trace in self.traces:
            yield trace.rows, trace.bytes

    def keyed(self, delta: Delta | None, terms: Terms) -> Delta | None:
        """The change with the hash of its key as the last column, settled; None if it has no rows."""
        if delta is None or delta.is_empty():
            return None
        names = columns_text((*delta.names, WEIGHT))
        query = f"SELECT {names}, {hash_text(terms)} AS {KEY} FROM {delta.view}"
        found = Delta.of_frame(self.workspace, self.workspace.sql(query), estimate=delta.estimate).settled()
        return None if found.is_empty() else found

    def hint(self, relation: str, rows: int, *traces: Trace) -> str:
        """How a small relation should meet traces: without any exchange where all is on the driver."""
        if all(trace.is_local for trace in traces):
            return f"/*+ SHUFFLE_HASH({relation}) */"
        return f"/*+ BROADCAST({relation}) */" if rows <= BROADCAST_ROWS else f"/*+ SHUFFLE_HASH({relation}) */"

    def kept(self, trace: Trace, rows: int) -> str:
        """What stands for a trace in a FROM where a relation of so many rows meets it by `hint`."""
        found = trace.view if rows <= BROADCAST_ROWS else trace.exchanged
        return found or self.workspace.name(trace.relation())


def _unexpired(item: Expiry, line: str) -> str:
    """The condition of rows that stay; all do while the waterline is not known."""
    below = f"({item.text}) < ({line})"
    if item.nulls:
        return f"(({line}) IS NULL OR coalesce(NOT {below}, false))"
    return f"coalesce(NOT {below}, true)"


def column_terms(schema: StructType, names: Sequence[str]) -> Terms:
    """Columns as the terms of a hash."""
    return [(quoted(name), schema[name].dataType) for name in names]
