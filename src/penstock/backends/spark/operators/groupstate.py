"""State by group whose changes can be added up, whichever way a step takes (touching.py, rewriting.py)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from penstock.backends.columns import fitted
from penstock.backends.portable import Portable
from penstock.backends.spark.change import Delta
from penstock.backends.spark.grouping import hash_text
from penstock.backends.spark.operators.entries import Entries
from penstock.backends.spark.operators.runner import SparkRunner
from penstock.backends.spark.sums import AT
from penstock.backends.spark.trace import Trace
from penstock.backends.spark.void_columns import arrow_schema
from penstock.catalog.reserved import KEY
from penstock.circuit.partials import PRESENT, Partial
from penstock.plan.scalar import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


class GroupState(SparkRunner):
    """The shared part; a subclass says what a row contributes and what a group's partials mean as output."""

    groups: tuple[str, ...]
    partials: tuple[Partial, ...]

    def output(self) -> str:
        """Spark SQL for the output rows of one touched group, from its partials before and after.

        An array of structs that end with `__weight`; NULL stands for a row that is not there.
        """
        raise NotImplementedError

    @property
    def trace(self) -> Trace | None:
        """The state, None before there is any."""
        return self.traces[0] if self.traces else None

    @cached_property
    def entries(self) -> Entries:
        """The entries of the trace, as Spark SQL."""
        return Entries(self.groups, self.partials)

    def combined(self, frame: DataFrame) -> DataFrame:
        """Entries of a trace with those of one group added up, and groups without rows gone."""
        name = self.workspace.name(frame)
        gone = self.entries.vanished()
        having = f" HAVING NOT ({gone})" if gone else ""
        return self.workspace.sql(
            f"SELECT {self.entries.listed}, {self.entries.merged()} FROM {name} GROUP BY {self.entries.listed}{having}"
        )

    def compacted(self, entries: str) -> str:
        """Entries with those of one group added up."""
        return f"SELECT {self.entries.listed}, {self.entries.added()} FROM ({entries}) GROUP BY {self.entries.listed}"

    def portable(self) -> Portable:
        frame = None if self.trace is None else self.trace.frame
        if frame is None:
            return Portable()
        names = [*self.groups, *(item.name for item in self.partials)]
        return Portable(groups=self.workspace.arrow(self.combined(frame).select(names)))

    def hold(self, found: Portable) -> None:
        if found.groups is None or not found.groups.num_rows:
            return
        schema = self.contributed_schema()
        fields = [schema[name] for name in (*self.groups, *(item.name for item in self.partials))]
        kinds = type(schema)(fields).toNullable()
        rows = fitted(found.groups.select(kinds.names), arrow_schema(kinds))
        items = ", ".join(
            [
                f"{hash_text([(quoted(name), schema[name].dataType) for name in self.groups])} AS {KEY}",
                *map(quoted, kinds.names),
                *([f"{quoted(PRESENT)} AS {AT}"] if self.entries.totals else []),
            ]
        )
        frame = self.workspace.sql(f"SELECT {items} FROM {self.workspace.name(self.workspace.local(rows, kinds))}")
        delta = Delta.of_frame(self.workspace, frame, estimate=rows.num_rows).settled()
        self.traces = [self.state_of(delta.schema).appended(delta)]

    def contributed_schema(self) -> StructType:
        """The key, the groups and the partials, as a change contributes them."""
        raise NotImplementedError

    def state_of(self, schema: StructType) -> Trace:
        """The trace, or the first one, whose entries have these columns."""
        if self.trace is not None:
            return self.trace
        return Trace(self.workspace, schema.toNullable(), combine=self.combined)
