"""Queries without a key to go by: recomputed as Spark's batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.backends.portable import Portable
from penstock.backends.rules.recomputed import RecomputedRule
from penstock.backends.spark.change import Delta, consolidated
from penstock.backends.spark.fixpoint import least_fixpoint
from penstock.backends.spark.names import columns_text
from penstock.backends.spark.operators.runner import SparkRunner
from penstock.backends.spark.trace import Trace, with_key
from penstock.backends.spark.workspace import Workspace
from penstock.catalog.reserved import KEY, WEIGHT
from penstock.circuit.operators import Iterated, Recomputed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


class RecomputedRunner(RecomputedRule[Delta], SparkRunner):
    """Keeps its inputs and its last answer."""

    def __init__(self, workspace: Workspace, operator: Recomputed | Iterated, schemas: Sequence[StructType]) -> None:
        super().__init__(workspace)
        self.operator = operator
        self.schemas = schemas
        self.traces = [Trace(workspace, with_key(schema)) for schema in schemas]
        self.answer: Delta | None = None
        self.next_answer: Delta | None = None
        self.at = workspace.clock

    @property
    def reads_clock(self) -> bool:
        return self.operator.uses_clock

    def clock_has_moved(self) -> bool:
        return self.workspace.clock != self.at

    def answered(self) -> Delta | None:
        estimate = sum(trace.rows for trace in self.remembered) + (0 if self.answer is None else self.answer.count())
        answer = self._answered(self.remembered)
        self.next_answer = Delta.of_frame(self.workspace, answer, estimate=estimate).settled()
        return self._difference(estimate)

    def _answered(self, traces: Sequence[Trace]) -> DataFrame:
        """The answer over the contents of traces, with weights."""
        contents = zip(self.operator.inputs, map(self._contents, traces), strict=True)
        frames = {f"#{number}": frame for number, frame in contents}
        return self.evaluated(frames).selectExpr("*", f"1L AS {WEIGHT}")

    def portable(self) -> Portable:
        return Portable(super().portable().rows, None if self.answer is None else self.answer.consolidated().arrow())

    def hold(self, found: Portable) -> None:
        super().hold(found)
        if found.answers is not None:
            schema = self._answered(self.traces).schema
            self.answer = Delta.of_arrow(self.workspace, found.answers.select(schema.names), schema)

    def evaluated(self, frames: dict[str, DataFrame]) -> DataFrame:
        """The answer over the whole inputs."""
        return self.workspace.query(self.operator.node, frames)

    def _contents(self, trace: Trace) -> DataFrame:
        """The rows of a trace, each as often as its weight says."""
        frame = self.workspace.empty(trace.schema) if trace.frame is None else trace.frame
        name = self.workspace.name(consolidated(frame.drop(KEY)))
        names = [name for name in trace.schema.names if name not in (KEY, WEIGHT)]
        spelled = f"LATERAL VIEW explode(array_repeat(0, cast({WEIGHT} as int))) __copies AS __copy"
        return self.workspace.sql(f"SELECT {columns_text(tuple(names)) or '1 AS __none'} FROM {name} {spelled}")

    def _difference(self, estimate: int) -> Delta:
        now = self.next_answer.frame()  # type: ignore[union-attr]
        if self.answer is None:
            return Delta.of_frame(self.workspace, consolidated(now), estimate=estimate)
        self.workspace.reads(self.answer)
        before = self.answer.frame()
        taken = before.withColumn(WEIGHT, -before[WEIGHT])
        return Delta.of_frame(self.workspace, consolidated(now.union(taken)), estimate=estimate)

    def commit(self) -> None:
        super().commit()
        if self.next_answer is not None:
            self.answer, self.next_answer = self.next_answer, None
        self.at = self.workspace.clock

    def discard(self) -> None:
        super().discard()
        self.next_answer = None


class RepeatedRunner(RecomputedRunner):
    """Recursive views, recomputed to their least fixed point."""

    def evaluated(self, frames: dict[str, DataFrame]) -> DataFrame:
        return least_fixpoint(self.workspace, self.operator.node, frames)  # type: ignore[arg-type]
