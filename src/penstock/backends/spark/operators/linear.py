"""Linear operators: the change of the output is the operator applied to the change of the input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from pyspark.sql.types import StructType

from penstock.backends.portable import Portable
from penstock.backends.spark.change import Delta, consolidated
from penstock.backends.spark.names import columns_text
from penstock.backends.spark.operators.absent import without
from penstock.backends.spark.operators.runner import SparkRunner, column_terms
from penstock.backends.spark.trace import Trace
from penstock.backends.spark.workspace import Workspace
from penstock.backends.thresholds import GENERATED
from penstock.catalog.reserved import KEY, WEIGHT
from penstock.circuit.operators import Clocked, Constant, Linear
from penstock.plan.nodes import Generate, Plan, Project, Scan
from penstock.plan.scalar import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class ConstantRunner(SparkRunner):
    """Rows of a VALUES: all of them in the first step, nothing afterwards."""

    def __init__(self, workspace: Workspace, operator: Constant) -> None:
        super().__init__(workspace)
        self.operator = operator

    def wants_step(self) -> bool:
        return False

    def step(self, inputs: Sequence[Delta | None], *, first: bool) -> Delta | None:
        del inputs
        if not first:
            return None
        rows = self.workspace.renderer({}).sql(self.operator.node)
        names = columns_text(self.operator.node.names)
        weighted = f"SELECT {names + ', ' if names else ''}1L AS {WEIGHT} FROM ({rows})"
        return Delta.of_frame(
            self.workspace, self.workspace.sql(weighted), estimate=len(getattr(self.operator.node, "rows", ()))
        )


class LinearRunner(SparkRunner):
    """A chain of filters, projections, unions and generators over the change, lazily."""

    def __init__(
        self, workspace: Workspace, operator: Linear | Clocked, schema: StructType, inputs: Sequence[StructType]
    ) -> None:
        super().__init__(workspace)
        self.operator = operator
        self.schema = schema
        self.inputs = {f"#{number}": kinds for number, kinds in zip(operator.inputs, inputs, strict=True)}
        self.fanout = GENERATED ** sum(isinstance(node, Generate) for node in operator.node.walk())
        self.read = Counter(node.relation for node in operator.node.walk() if isinstance(node, Scan))

    def step(self, inputs: Sequence[Delta | None], *, first: bool) -> Delta | None:
        del first
        changed = [delta for delta in inputs if delta is not None and not delta.is_empty()]
        if not changed:
            return None
        if self.picked is not None and changed[0].rows is not None:
            return self._picked(changed[0])
        return self.applied(inputs)

    @cached_property
    def picked(self) -> tuple[str, ...] | None:
        """The input's columns that stand in the output, if the chain does no more than choose and name them."""
        found: Plan = self.operator.node
        names = found.names
        while isinstance(found, Project):
            columns = {name: scalar.column or "" for name, scalar in found.items}
            if any(scalar.text != quoted(columns[name]) for name, scalar in found.items if name in names):
                return None
            names = tuple(columns[name] for name in names)
            found = found.input
        return names if names and isinstance(found, Scan) and set(names) <= set(found.names) else None

    def _picked(self, delta: Delta) -> Delta:
        """The same rows, evaluated already, under other names."""
        picked = [*(self.picked or ()), WEIGHT]
        if delta.on_driver:
            columns = delta.arrow().select(picked)
            renamed = columns.rename_columns(self.schema.names)
            return Delta.of_arrow(self.workspace, renamed, self.schema, cancels=delta.cancels)
        items = ", ".join(
            f"{quoted(found)} AS {quoted(name)}" for found, name in zip(picked, self.schema.names, strict=True)
        )
        return delta.projected(items)

    def _over(self, names: dict[str, str]) -> Plan:
        """The chain over the inputs that have names; one that stays in it without rows gets a name."""
        node = without(self.operator.node, frozenset(names))
        for item in node.walk():
            if isinstance(item, Scan) and item.relation not in names:
                names[item.relation] = self.workspace.name(self.workspace.empty(self.inputs[item.relation]))
        return node

    def applied(self, inputs: Sequence[Delta | None]) -> Delta:
        """The chain over changes; an input without a change takes no part in the plan."""
        changes = {
            f"#{number}": delta
            for number, delta in zip(self.operator.inputs, inputs, strict=True)
            if delta is not None and not delta.is_empty()
        }
        names = {number: delta.view for number, delta in changes.items()}
        node = self._over(names)
        return Delta.of_query(
            self.workspace,
            self.workspace.renderer(names, (WEIGHT,)).sql(node),
            self.schema,
            estimate=self.fanout * sum(self.read[number] * delta.estimate for number, delta in changes.items()),
            retracts=any(delta.retracts for delta in changes.values()),
            cancels=any(delta.cancels for delta in changes.values()),
        )


class ClockedRunner(LinearRunner):
    """A chain that reads the clock: when the clock has moved, what the chain says of the remembered rows has too."""

    def __init__(
        self, workspace: Workspace, operator: Clocked, schema: StructType, inputs: Sequence[StructType]
    ) -> None:
        super().__init__(workspace, operator, schema, inputs)
        self.at = workspace.clock
        self.moved_to = workspace.clock

    def portable(self) -> Portable:
        return Portable(super().portable().rows or (None,) * len(self.inputs))

    def hold(self, found: Portable) -> None:
        pairs = zip(found.rows, self.inputs.values(), strict=True)
        self._propose(
            [
                None if rows is None else Delta.of_arrow(self.workspace, rows.select(kind.names), kind)
                for rows, kind in pairs
            ]
        )
        self.commit()

    def wants_step(self) -> bool:
        return self.workspace.clock != self.at and any(trace.rows for trace in self.traces)

    def step(self, inputs: Sequence[Delta | None], *, first: bool) -> Delta | None:
        del first
        self.moved_to = self.workspace.clock
        # Whether a change has rows is not known before it is evaluated.
        settled = [None if delta is None or delta.settled().is_empty() else delta for delta in inputs]
        parts = [self.applied(settled).frame()] if any(settled) else []
        parts += self._moved()
        self._propose(settled)
        if not parts:
            return None
        frame = parts[0]
        for part in parts[1:]:
            frame = frame.unionByName(part)
        estimate = sum(trace.rows for trace in self.traces) + sum(d.estimate for d in settled if d is not None)
        return Delta.of_frame(self.workspace, consolidated(frame), estimate=estimate).settled()

    def _moved(self) -> list[DataFrame]:
        """The rows that the remembered ones give now, and taken back, those that they gave before."""
        if not self.wants_step():
            return []
        names = {
            f"#{number}": self.workspace.name(trace.frame.drop(KEY))
            for number, trace in zip(self.operator.inputs, self.traces, strict=True)
            if trace.frame is not None
        }
        node = self._over(names)
        now = self.workspace.sql(self.workspace.renderer(names, (WEIGHT,)).sql(node))
        before = self.workspace.sql(self.workspace.renderer(names, (WEIGHT,), clock=self.at).sql(node))
        taken = before.withColumn(WEIGHT, -before[WEIGHT])
        return [now, taken]

    def _propose(self, settled: Sequence[Delta | None]) -> None:
        if not self.traces and not any(settled):
            return
        traces = list(self.traces) or [self._nothing()] * len(settled)
        grown = []
        for trace, delta in zip(traces, settled, strict=True):
            keyed = None if delta is None else self.keyed(delta, column_terms(delta.schema, delta.names))
            if keyed is not None:
                known = trace if trace.schema.fields else Trace(self.workspace, keyed.schema.toNullable())
                trace = known.appended(keyed)  # noqa: PLW2901
            grown.append(trace)
        self.proposed = grown

    def _nothing(self) -> Trace:
        return Trace(self.workspace, StructType([]))

    def commit(self) -> None:
        super().commit()
        self.at = self.moved_to
