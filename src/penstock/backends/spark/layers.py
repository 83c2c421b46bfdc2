"""The maintained content of a view: the sum of its changes, for MATERIALIZED views and for `verify`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.backends import api
from penstock.backends.api import Content
from penstock.backends.cancelling import may_be_null
from penstock.backends.native.proof import not_proven
from penstock.backends.spark.change import Delta, consolidated, own
from penstock.backends.thresholds import CONTENT_LAYERS, HELD_ROWS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.backends.spark.workspace import Workspace


@dataclass(frozen=True, eq=False)
class Part:
    """Rows on the executors, not partitioned in any way that matters."""

    frame: DataFrame
    rows: int


class Layers(Content):
    """The changes of one view so far: small ones on the driver, others as layers on the executors."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._schema: Any = None
        self._recent: list[pa.Table] = []
        self._layers: list[Part] = []
        self._proposed: Delta | None = None

    def propose(self, delta: api.Delta) -> None:
        """Add the settled change of a step, if it is committed."""
        self._proposed = own(delta)

    def commit(self) -> None:
        """The step has happened."""
        if self._proposed is not None:
            self._add(self._proposed)
            self._proposed = None

    def discard(self) -> None:
        """The step has not happened."""
        self._proposed = None

    def maintain(self) -> None:
        """Nothing is left to do between steps."""

    def drop(self) -> None:
        """Nothing is to be given back: the rows go with whoever reads them."""

    @property
    def relation(self) -> str | None:
        """The rows as FROM takes them in the process: they are not there."""
        return None

    def _add(self, delta: Delta) -> None:
        self._schema = self._schema or delta.schema.toNullable()
        if not delta.on_driver:
            self._layers.append(Part(delta.frame(), delta.count()))
        elif delta.count():
            self._recent.append(delta.arrow())
        if sum(piece.num_rows for piece in self._recent) > HELD_ROWS:
            self._settle()
        if len(self._layers) > CONTENT_LAYERS:
            self._merge()

    def _settle(self) -> None:
        frame = consolidated(self._workspace.spark.createDataFrame(self._together(), schema=self._schema))
        self._layers.append(Part(*self._workspace.checkpoints.evaluated(frame)))
        self._recent = []

    def _merge(self) -> None:
        """Merge the newest layers, up to the first that is larger than all of them."""
        newest = self._layers.pop()
        frame, rows = newest.frame, newest.rows
        while self._layers and (self._layers[-1].rows <= 2 * rows or len(self._layers) >= CONTENT_LAYERS):
            older = self._layers.pop()
            frame, rows = older.frame.union(frame), rows + older.rows
        self._layers.append(Part(*self._workspace.checkpoints.evaluated(consolidated(frame))))

    def _together(self) -> pa.Table:
        # What holds no NULL in one change may hold some in the next.
        pieces = [may_be_null(piece) for piece in self._recent]
        # In one piece: Spark stops reading at an empty batch.
        return pa.concat_tables([piece.cast(pieces[0].schema) for piece in pieces]).combine_chunks()

    def arrow(self) -> pa.Table:
        """The rows with their weights, not consolidated; NotProvenError if some lie on the executors."""
        if self._layers or not self._recent:
            not_proven("rows of a view, which lie on Spark")
        return self._together()

    def weighted(self) -> DataFrame | None:
        """The rows with their weights, not consolidated; None if there never were any."""
        parts = [part.frame for part in self._layers]
        if self._recent:
            parts.append(self._workspace.spark.createDataFrame(self._together(), schema=self._schema))
        if not parts:
            return None
        found = parts[0]
        for part in parts[1:]:
            found = found.union(part)
        return found
