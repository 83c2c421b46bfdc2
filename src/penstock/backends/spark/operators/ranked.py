"""ORDER BY … LIMIT without a key.

The operator keeps candidates: the best rows, more of them than it shows, and the last of them as the border. Rows
behind the border are only remembered. A step merges its change into the candidates; when deletions have left fewer
than are shown, the candidates are taken anew from all remembered rows. From an append-only input nothing is ever
taken back, so the shown rows are candidates enough and nothing else is remembered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from penstock.backends.portable import Portable
from penstock.backends.spark.change import Delta, consolidated
from penstock.backends.spark.grouping import consolidation
from penstock.backends.spark.names import columns_text
from penstock.backends.spark.operators.runner import SparkRunner, column_terms
from penstock.backends.spark.trace import Trace, with_key
from penstock.backends.spark.typetext import type_text
from penstock.backends.spark.workspace import Workspace
from penstock.backends.thresholds import SPARE_CANDIDATES
from penstock.catalog.reserved import KEY, WEIGHT
from penstock.catalog.sorting import sortable
from penstock.circuit.forgetting import sorted_text
from penstock.circuit.operators import Ranked
from penstock.plan.nodes import TopK
from penstock.plan.scalar import quoted

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_BORDER = "__border"


class RankedRunner(SparkRunner):
    """The first rows of everything, in one order."""

    def __init__(self, workspace: Workspace, operator: Ranked, schema: StructType) -> None:
        super().__init__(workspace)
        self.node: TopK = operator.node  # type: ignore[assignment]
        self.schema = schema
        self.append_only = operator.append_only
        self.shown = self.node.offset + (self.node.limit or 0)
        self.room = self.shown if operator.append_only else 2 * self.shown + SPARE_CANDIDATES
        self.traces = [] if operator.append_only else [Trace(workspace, with_key(schema))]
        self.candidates: Delta | None = None
        self.border: Delta | None = None  # None while all rows are candidates
        self.next: tuple[Delta, Delta | None] | None = None

    def state(self) -> Iterator[tuple[int, int]]:
        yield from super().state()
        if self.candidates is not None:
            yield self.candidates.count(), self.candidates.arrow().get_total_buffer_size()

    def portable(self) -> Portable:
        """All rows, or, of rows that are never taken back, the candidates."""
        if self.traces:
            return super().portable()
        return Portable((None if self.candidates is None else self.candidates.arrow(),))

    def hold(self, found: Portable) -> None:
        (rows,) = found.rows
        if rows is not None and rows.num_rows:
            self.step([Delta.of_arrow(self.workspace, rows.select(self.schema.names), self.schema)], first=True)
            self.commit()

    def step(self, inputs: Sequence[Delta | None], *, first: bool) -> Delta | None:
        del first
        change = self.keyed(inputs[0], column_terms(self.schema, self.schema.names[:-1]))
        if change is None:
            return None
        if self.traces:
            self.proposed = [self.traces[0].appended(change)]
        found = self._merged(change)
        if self.border is not None and self.traces and _copies(found) < self.shown:
            found = self._refilled()
            self.next = (found, self._border_of(found))
        else:
            self.next = (found, self._new_border(found))
        return self._difference(found)

    def _order(self) -> str:
        keys = [sorted_text(key) for key in self.node.order]
        rest = [field for field in self.schema.fields if field.name != WEIGHT]
        keys += [f"{sortable(quoted(item.name), type_text(item.dataType))} ASC NULLS FIRST" for item in rest]
        return ", ".join(keys)

    def _merged(self, change: Delta) -> Delta:
        """Candidates and change together, without what lies behind the border."""
        names = columns_text(tuple(name for name in self.schema.names if name != WEIGHT))
        parts = [f"SELECT {names}, {WEIGHT}, 0 AS {_BORDER} FROM {change.view}"]
        if self.candidates is not None:
            self.workspace.reads(self.candidates)
            parts.append(f"SELECT {names}, {WEIGHT}, 0 AS {_BORDER} FROM {self.candidates.view}")
        if self.border is not None:
            parts.append(f"SELECT {names}, 0L AS {WEIGHT}, 1 AS {_BORDER} FROM {self.border.view}")
        together = consolidation(self.schema, f"({' UNION ALL '.join(parts)})", WEIGHT, border=_BORDER)
        inside = (
            f"SELECT *, coalesce(max({_BORDER}) OVER (ORDER BY {self._order()} "
            f"ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS __behind "
            f"FROM ({together}) WHERE {WEIGHT} > 0 OR {_BORDER} = 1"
        )
        rows = f"SELECT {names}, {WEIGHT} FROM ({inside}) WHERE __behind = 0 AND {WEIGHT} > 0"
        return self._best(rows)

    def _refilled(self) -> Delta:
        """Candidates taken anew from everything that is remembered."""
        trace = self.proposed[0] if self.proposed else self.traces[0]
        if trace.frame is None:
            return Delta.of_frame(self.workspace, self.workspace.empty(self.schema)).settled()
        name = self.workspace.name(consolidated(trace.frame.drop(KEY)))
        return self._best(f"SELECT * FROM {name} WHERE {WEIGHT} > 0")

    def _best(self, rows: str) -> Delta:
        query = f"SELECT * FROM ({rows}) ORDER BY {self._order()} LIMIT {self.room}"
        return Delta.of_frame(self.workspace, self.workspace.sql(query), estimate=self.room).settled()

    def _new_border(self, found: Delta) -> Delta | None:
        """The border stays; the first is drawn when there are more rows than room."""
        if found.count() >= self.room:
            return self._border_of(found)
        return self.border

    def _border_of(self, found: Delta) -> Delta | None:
        if found.count() < max(self.room, 1):
            return None
        table = found.arrow()
        return Delta.of_arrow(self.workspace, table.slice(table.num_rows - 1, 1), self.schema)

    def _difference(self, found: Delta) -> Delta:
        parts = [self._top(found, 1)]
        if self.candidates is not None and not self.candidates.is_empty():
            parts.append(self._top(self.candidates, -1))
        frame = self.workspace.sql(consolidation(self.schema, f"({' UNION ALL '.join(parts)})", WEIGHT))
        return Delta.of_frame(self.workspace, frame, estimate=2 * self.shown).settled()

    def _top(self, candidates: Delta, sign: int) -> str:
        """The shown rows, each copy counted."""
        names = columns_text(tuple(name for name in self.schema.names if name != WEIGHT))
        frame = f"ORDER BY {self._order()} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
        before = f"coalesce(sum({WEIGHT}) OVER ({frame}), 0)"
        counted = f"SELECT *, {before} AS __before FROM {candidates.view}"
        copies = f"(least({WEIGHT} + __before, {self.shown}L) - greatest(__before, {self.node.offset}L))"
        return f"SELECT {names}, {sign}L * {copies} AS {WEIGHT} FROM ({counted}) WHERE {copies} > 0"

    def commit(self) -> None:
        super().commit()
        if self.next is not None:
            self.candidates, self.border = self.next
            self.next = None

    def discard(self) -> None:
        super().discard()
        self.next = None


def _copies(candidates: Delta) -> int:
    return int(pc.sum(candidates.arrow()[WEIGHT]).as_py() or 0)
