"""Linear operators as queries over changes that nobody evaluates before somebody reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from pyspark.sql.types import StructType

from penstock.backends.portable import Portable
from penstock.backends.rules.linear import ClockedRule, ConstantRule, LinearRule
from penstock.backends.spark.change import Delta, consolidated
from penstock.backends.spark.names import columns_text
from penstock.backends.spark.operators.absent import without
from penstock.backends.spark.operators.runner import SparkRunner
from penstock.backends.spark.trace import Trace
from penstock.backends.spark.workspace import Workspace
from penstock.backends.thresholds import GENERATED
from penstock.catalog.reserved import KEY, WEIGHT
from penstock.circuit.operators import Clocked, Constant, Linear
from penstock.plan.nodes import Generate, Plan, Project, Scan
from penstock.plan.scalar import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class ConstantRunner(ConstantRule[Delta], SparkRunner):
    """Rows of a VALUES."""

    def __init__(self, workspace: Workspace, operator: Constant) -> None:
        super().__init__(workspace)
        self.operator = operator

    def rows(self) -> Delta | None:
        rows = self.workspace.renderer({}).sql(self.operator.node)
        names = columns_text(self.operator.node.names)
        weighted = f"SELECT {names + ', ' if names else ''}1L AS {WEIGHT} FROM ({rows})"
        return Delta.of_frame(
            self.workspace, self.workspace.sql(weighted), estimate=len(getattr(self.operator.node, "rows", ()))
        )


class LinearChain(SparkRunner):
    """A chain over changes, lazily."""

    def __init__(
        self, workspace: Workspace, operator: Linear | Clocked, schema: StructType, inputs: Sequence[StructType]
    ) -> None:
        super().__init__(workspace)
        self.operator = operator
        self.schema = schema
        self.inputs = {f"#{number}": kinds for number, kinds in zip(operator.inputs, inputs, strict=True)}
        self.fanout = GENERATED ** sum(isinstance(node, Generate) for node in operator.node.walk())
        self.read = Counter(node.relation for node in operator.node.walk() if isinstance(node, Scan))

    def over(self, names: dict[str, str]) -> Plan:
        """The chain over the inputs that have names; one that stays in it without rows gets a name."""
        node = without(self.operator.node, frozenset(names))
        for item in node.walk():
            if isinstance(item, Scan) and item.relation not in names:
                names[item.relation] = self.workspace.name(self.workspace.empty(self.inputs[item.relation]))
        return node

    def over_changes(self, changes: Sequence[Delta | None]) -> Delta:
        """The chain over changes; an input without a change takes no part in the plan."""
        there = {
            f"#{number}": delta
            for number, delta in zip(self.operator.inputs, changes, strict=True)
            if delta is not None and not delta.is_empty()
        }
        names = {number: delta.view for number, delta in there.items()}
        node = self.over(names)
        return Delta.of_query(
            self.workspace,
            self.workspace.renderer(names, (WEIGHT,)).sql(node),
            self.schema,
            estimate=self.fanout * sum(self.read[number] * delta.estimate for number, delta in there.items()),
            retracts=any(delta.retracts for delta in there.values()),
            cancels=any(delta.cancels for delta in there.values()),
        )


class LinearRunner(LinearRule[Delta], LinearChain):
    """A chain over the change; what only chooses columns of rows that are evaluated is evaluated, too."""

    def applied(self, changes: Sequence[Delta | None]) -> Delta:
        there = [delta for delta in changes if delta is not None and self.has_rows(delta)]
        if self.picked is not None and there[0].rows is not None:
            return self._picked(there[0])
        return self.over_changes(changes)

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


class ClockedRunner(ClockedRule[Delta], LinearChain):
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
        self.remember_all(
            self.all_met(
                [
                    None if rows is None else Delta.of_arrow(self.workspace, rows.select(kind.names), kind)
                    for rows, kind in pairs
                ]
            )
        )
        self.commit()

    def clock_has_moved(self) -> bool:
        return self.workspace.clock != self.at

    def remembers_any(self) -> bool:
        return any(trace.rows for trace in self.remembered)

    def has_rows(self, change: Delta | None) -> bool:
        """True if it has; whether a change has rows is not known before it is evaluated."""
        return change is not None and not change.settled().is_empty()

    def step(self, inputs: Sequence[Delta | None], *, first: bool) -> Delta | None:
        self.moved_to = self.workspace.clock
        return super().step(inputs, first=first)

    def unmoved(self, changes: Sequence[Delta | None]) -> Delta | None:
        if not any(changes):
            return None
        return self._together([self.over_changes(changes).frame()], changes)

    def moved(self, changes: Sequence[Delta | None]) -> Delta | None:
        names = {
            f"#{number}": self.workspace.name(trace.frame.drop(KEY))
            for number, trace in zip(self.operator.inputs, self.traces, strict=True)
            if trace.frame is not None
        }
        node = self.over(names)
        now = self.workspace.sql(self.workspace.renderer(names, (WEIGHT,)).sql(node))
        before = self.workspace.sql(self.workspace.renderer(names, (WEIGHT,), clock=self.at).sql(node))
        taken = before.withColumn(WEIGHT, -before[WEIGHT])
        parts = [self.over_changes(changes).frame()] if any(changes) else []
        return self._together([*parts, now, taken], changes)

    def _together(self, parts: Sequence[DataFrame], changes: Sequence[Delta | None]) -> Delta:
        frame = parts[0]
        for part in parts[1:]:
            frame = frame.unionByName(part)
        estimate = sum(trace.rows for trace in self.traces) + sum(d.estimate for d in changes if d is not None)
        return Delta.of_frame(self.workspace, consolidated(frame), estimate=estimate).settled()

    def remember(self, place: int, change: Delta) -> None:
        traces = list(self.remembered) or [Trace(self.workspace, StructType([]))] * len(self.inputs)
        known = traces[place] if traces[place].schema.fields else Trace(self.workspace, change.schema.toNullable())
        traces[place] = known.appended(change)
        self.proposed = traces

    def commit(self) -> None:
        super().commit()
        self.at = self.moved_to
