"""SESSION on Spark: the touched sessions are found by a hash of the key, where they lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pyspark.sql.types import IntegerType, StructField, StructType

from penstock.backends.portable import Portable
from penstock.backends.render import VERSION
from penstock.backends.rules.sessions import SessionsRule
from penstock.backends.spark.change import Delta
from penstock.backends.spark.grouping import consolidation
from penstock.backends.spark.names import columns_text
from penstock.backends.spark.operators.join import expression_type
from penstock.backends.spark.operators.runner import SparkRunner, Terms
from penstock.backends.spark.trace import Trace, with_key
from penstock.backends.spark.workspace import Workspace
from penstock.backends.thresholds import ROWS_OF_SESSIONS
from penstock.catalog.reserved import KEY, WEIGHT
from penstock.circuit.operators import Sessions
from penstock.plan.nodes import Field, Scan, Session
from penstock.plan.scalar import quoted

_ROWS = "#rows"


class SessionsRunner(SessionsRule[Delta], SparkRunner):
    """Keeps its own output by key."""

    def __init__(
        self, workspace: Workspace, operator: Sessions, schema: StructType, output: Callable[[], StructType]
    ) -> None:
        super().__init__(workspace)
        self.node: Session = operator.node  # type: ignore[assignment]
        self.schema = schema
        self.output = output()
        self.terms: Terms = [(key.text, expression_type(workspace, key.text, schema)) for key in self.node.keys]
        self.traces = [Trace(workspace, with_key(self.output))]

    def portable(self) -> Portable:
        return Portable(answers=self._fetched(self.traces[0]))

    def hold(self, found: Portable) -> None:
        self.traces = [self._holding(self.traces[0], found.answers, self.terms)]

    def terms_of(self, place: int, change: Delta) -> Terms:
        del place, change
        return self.terms

    def moved(self, change: Delta) -> Delta | None:
        weighted = Scan(_ROWS, (*self.node.input.fields, Field(WEIGHT, "bigint", nullable=False)))
        renderer = self.workspace.renderer({_ROWS: f"({self._versions(change)})"}, (VERSION,))
        answer = renderer.sql(replace(self.node, input=weighted))
        names = [name for name in self.output.names if name != WEIGHT]
        signed = (
            f"SELECT {columns_text(tuple(names))}, if({VERSION} = 1, {WEIGHT}, -{WEIGHT}) AS {WEIGHT} FROM ({answer})"
        )
        query = consolidation(self.output, f"({signed})", WEIGHT)
        found = Delta.of_query(self.workspace, query, self.output, estimate=change.count() * ROWS_OF_SESSIONS)
        return self.keyed(found, self.terms)

    def shown(self, found: Delta) -> Delta:
        return found.projected(columns_text(tuple(self.output.names)))

    def _versions(self, change: Delta) -> str:
        """The rows of the touched sessions, as they were (0) and as they are (1)."""
        fields = [field for field in self.schema.fields if field.name != WEIGHT]
        columns = columns_text(tuple(field.name for field in fields))
        parts = [f"SELECT {columns}, 1 AS {VERSION}, {WEIGHT} FROM {change.view}"]
        if self.traces[0].view is not None:
            both = f"LATERAL VIEW explode(array(0, 1)) __both AS {VERSION}"
            parts.append(f"SELECT {columns}, {VERSION}, {WEIGHT} FROM {self._touched(change)} {both}")
        tagged = StructType([*fields, StructField(VERSION, IntegerType()), self.schema[WEIGHT]])
        return consolidation(tagged, f"({' UNION ALL '.join(parts)})", WEIGHT)

    def _touched(self, change: Delta) -> str:
        """The entries whose session a row of the change lies in, or within a gap of."""
        trace, time = self.traces[0], self.node.time.text
        start, end = quoted(self.node.start), quoted(self.node.end)
        times = f"SELECT DISTINCT {KEY} AS __touched, {time} AS __time FROM {change.view}"
        less = "<=" if self.node.touching else "<"
        near = f"__s.{start} {less} __c.__time + {self.node.gap.text} AND __c.__time {less} __s.{end}"
        hint = self.hint("__c", change.count(), trace)
        join = f"LEFT SEMI JOIN ({times}) __c ON __s.{KEY} = __c.__touched AND {near}"
        return f"(SELECT {hint} __s.* FROM {trace.view} __s {join})"
