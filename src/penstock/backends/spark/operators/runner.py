"""The base of every operator at work on Spark, whose state is traces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.analysis.derived import OfKeys
from penstock.backends.api import LineText
from penstock.backends.portable import Portable
from penstock.backends.rules.rule import Rule
from penstock.backends.spark.change import Delta
from penstock.backends.spark.collecting import collected, unexpired
from penstock.backends.spark.grouping import hash_text
from penstock.backends.spark.names import columns_text
from penstock.backends.spark.trace import Trace, by_key
from penstock.backends.spark.workspace import Workspace
from penstock.backends.thresholds import BROADCAST_ROWS, LEAST_COLLECTED_ROWS
from penstock.catalog.reserved import KEY, WEIGHT
from penstock.circuit.forgetting import Expiry
from penstock.plan.scalar import quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType

Terms = list[tuple[str, "DataType"]]


class SparkRunner(Rule[Delta]):
    """One operator at work; `traces` is its state, one for each input or one for its groups."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.traces: list[Trace] = []
        self.proposed: list[Trace] | None = None
        self.expiries: tuple[Expiry, ...] = ()
        self._unexpired: dict[int, str] = {}  # by trace: which rows something may still touch, as of the last step
        self.collected: dict[int, int] = {}  # how large a trace was when all that had expired was gone

    def has_rows(self, change: Delta | None) -> bool:
        return change is not None and not change.is_empty()

    def met(self, place: int, change: Delta | None) -> Delta | None:
        return None if change is None else self.keyed(change, self.terms_of(place, change))

    def terms_of(self, place: int, change: Delta) -> Terms:
        """The key by which a change of an input is hashed; that of its rows as a whole, unless somebody says more."""
        del place
        return column_terms(change.schema, change.names)

    def remember(self, place: int, change: Delta) -> None:
        self.proposed = list(self.remembered)
        self.proposed[place] = self.proposed[place].appended(change)

    def remembers(self, place: int) -> bool:
        return self.remembered[place].rows > 0

    @property
    def remembered(self) -> list[Trace]:
        """The traces as they are with what the step has proposed."""
        return self.traces if self.proposed is None else self.proposed

    def commit(self) -> None:
        if self.proposed is not None:
            self.traces, self.proposed = self.proposed, None

    def merge(self, lines: LineText | None = None) -> None:
        """Merge layers of the traces where that is due, without what has expired.

        It runs Spark jobs, so it is no part of `commit`.
        """
        self._look_at(lines)
        self.traces = [self._collecting(place, trace, lines) for place, trace in enumerate(self.traces)]

    def _collecting(self, place: int, trace: Trace, lines: LineText | None) -> Trace:
        """The trace merged where that is due; all of it is gone through when it has doubled."""
        doubled = trace.rows >= 2 * max(self.collected.get(place, 0), LEAST_COLLECTED_ROWS)
        if lines is not None and doubled and any(item.trace == place for item in self.expiries):
            found = collected(trace, self.expiries, place, lines, self.settle, whole=True)
            self.collected[place] = found.rows
            return found
        return collected(trace, self.expiries, place, lines, self.settle) if len(trace.layers) > 1 else trace

    def _look_at(self, lines: LineText | None) -> None:
        """Note what has expired after the last step; the next one's own waterlines come too early for its rows."""
        texts: dict[int, list[str]] = {}
        for item in self.expiries:
            large = item.trace < len(self.traces) and bool(self.traces[item.trace].layers)
            if lines is not None and large and not item.keep and not isinstance(item.waterline, OfKeys):
                texts.setdefault(item.trace, []).append(unexpired(item, lines(item.waterline)))
        self._unexpired = {place: " AND ".join(found) for place, found in texts.items()}

    def unexpired(self, place: int) -> str:
        """The condition of a trace's rows that something may still touch, "" where all may."""
        return self._unexpired.get(place, "")

    def discard(self) -> None:
        self.proposed = None

    def settle(self, rows: DataFrame, line: str) -> DataFrame:
        """Of the rows of a trace those that matches may still need, once a waterline is at `line`."""
        del line
        return rows

    def compact(self, lines: LineText | None = None) -> None:
        """Merge every trace into one layer, without what has expired."""
        self._look_at(lines)
        self.traces = [
            collected(trace, self.expiries, place, lines, self.settle, whole=True)
            for place, trace in enumerate(self.traces)
        ]
        self.collected = {place: trace.rows for place, trace in enumerate(self.traces)}

    def state(self) -> Iterator[tuple[int, int]]:
        for trace in self.traces:
            yield trace.rows, trace.bytes

    def portable(self) -> Portable:
        """All that it remembers, for an operator elsewhere."""
        return Portable(tuple(self._fetched(trace) for trace in self.traces))

    def _fetched(self, trace: Trace) -> pa.Table | None:
        """The rows of a trace, without those that cancel one another; None if there are none."""
        frame = trace.frame
        return None if frame is None else self.workspace.arrow(trace.consolidate(frame).drop(KEY))

    def hold(self, found: Portable) -> None:
        """Remember what an operator elsewhere does, in place of nothing."""
        self.traces = [
            self._holding(trace, rows, terms)
            for trace, rows, terms in zip(self.traces, found.rows, self._terms_of_traces(), strict=True)
        ]

    def _terms_of_traces(self) -> Sequence[Terms]:
        """The key of each trace's rows."""
        return [column_terms(trace.schema, _columns_of(trace)) for trace in self.traces]

    def _holding(self, trace: Trace, rows: pa.Table | None, terms: Terms) -> Trace:
        """A trace that has rows which come from elsewhere."""
        if rows is None:
            return trace
        names = [*_columns_of(trace), WEIGHT]
        schema = type(trace.schema)([trace.schema[name] for name in names])
        delta = self.keyed(Delta.of_arrow(self.workspace, rows.select(names), schema), terms)
        return trace if delta is None else trace.appended(delta)

    def keyed(self, delta: Delta | None, terms: Terms) -> Delta | None:
        """The change with the hash of its key as the last column, settled; None if it has no rows.

        What is large is exchanged while it is evaluated; a trace takes it as it is, and a join finds it in its place.
        Rows of a join that cancel one another go: the next join would multiply them, and the one after it again.
        """
        if delta is None or delta.is_empty():
            return None
        names = columns_text((*delta.names, WEIGHT))
        query = f"SELECT {names}, {hash_text(terms)} AS {KEY} FROM {delta.view}"
        frame = self.workspace.sql(query)
        if delta.estimate > self.workspace.driver_rows:
            kept, rows = by_key(self.workspace, frame, self.workspace.partitions, consolidate=delta.cancels)
            found = Delta.of_frame(self.workspace, kept, rows=rows, partitioned=True, retracts=delta.retracts)
        else:
            found = Delta.of_frame(self.workspace, frame, estimate=delta.estimate, retracts=delta.retracts).settled()
            if delta.cancels:
                found = found.lightened()
        return None if found.is_empty() else found

    def hint(self, relation: str, rows: int, *traces: Trace) -> str:
        """The hint by which a small relation meets traces: without any exchange where all is on the driver."""
        if all(trace.is_local for trace in traces):
            return f"/*+ SHUFFLE_HASH({relation}) */"
        return f"/*+ BROADCAST({relation}) */" if rows <= BROADCAST_ROWS else f"/*+ SHUFFLE_HASH({relation}) */"

    def trace_relation(self, trace: Trace, rows: int) -> str:
        """The relation for a FROM that has a trace's rows, where a relation of so many rows meets it by `hint`."""
        found = trace.view if rows <= BROADCAST_ROWS else trace.exchanged
        return found or self.workspace.name(trace.relation())


@dataclass
class Fanout:
    """The rows of an output that come of a changed row: a guess, then what was found where somebody has counted."""

    rows: float

    def expected(self, changed: int) -> int:
        """The rows that so many changed ones give."""
        return int(changed * self.rows)

    def counted(self, changed: int) -> Callable[[int], None] | None:
        """The function to tell how many rows so many changed ones have given; None where there were none."""

        def learn(rows: int) -> None:
            self.rows = max(self.rows, 2.0 * rows / changed)

        return learn if changed else None


def column_terms(schema: StructType, names: Sequence[str]) -> Terms:
    """Columns as the terms of a hash."""
    return [(quoted(name), schema[name].dataType) for name in names]


def _columns_of(trace: Trace) -> list[str]:
    """The columns of the relation whose rows a trace has."""
    return [name for name in trace.schema.names if name not in (KEY, WEIGHT)]
