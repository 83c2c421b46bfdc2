"""The maintained content of a view: the sum of its changes, for MATERIALIZED views and for `verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.backends import api
from penstock.backends.api import Content
from penstock.backends.native.proof import not_proven
from penstock.backends.spark.change import Delta, own
from penstock.backends.spark.kept import Kept
from penstock.backends.spark.trace import Trace
from penstock.backends.spark.void_columns import arrow_schema
from penstock.backends.thresholds import HELD_ROWS

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


class KeptContent(Kept, Content):
    """A trace of the view's changes, in no order that matters."""

    def propose(self, delta: api.Delta) -> None:
        """Add the settled change of a step, if it is committed."""
        self.proposed = self.with_change(own(delta))

    def with_change(self, delta: Delta) -> Trace:
        trace = self.trace or Trace(self.workspace, delta.schema.toNullable(), most_here=HELD_ROWS)
        return trace.appended(delta)

    def drop(self) -> None:
        """Nothing is to be given back: the rows go with whoever reads them."""

    @property
    def relation(self) -> str | None:
        """The rows as FROM takes them in the process: they are not there."""
        return None

    def arrow(self) -> pa.Table:
        """The rows with their weights, not consolidated; NotProvenError if some lie on the executors."""
        if self.trace is None or not self.trace.is_local:
            not_proven("rows of a view, which lie on Spark")
        rows = self.trace.memory
        return arrow_schema(self.trace.schema).empty_table() if rows is None else rows.combine_chunks()

    def weighted(self) -> DataFrame | None:
        """The rows with their weights, not consolidated; None if there never were any."""
        return None if self.trace is None else self.trace.relation()
