"""State by group whose changes can be added up, whichever way a step takes (touching.py, rewriting.py)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from penstock.backends.spark.operators.entries import Entries
from penstock.backends.spark.operators.runner import SparkRunner
from penstock.backends.spark.trace import Trace
from penstock.circuit.partials import Partial

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

    def state_of(self, schema: StructType) -> Trace:
        """The trace, or the first one, whose entries have these columns."""
        if self.trace is not None:
            return self.trace
        return Trace(self.workspace, schema.toNullable(), combine=self.combined)
