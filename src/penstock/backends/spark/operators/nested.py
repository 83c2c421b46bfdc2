"""A circuit inside an operator, which may run several times in one step.

Each run builds on the one before; what the step began with comes back when it is discarded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from pyspark.sql.types import LongType, StructField, StructType

from penstock.backends.api import LineText
from penstock.backends.spark.batch import batch_frame
from penstock.backends.spark.change import Delta
from penstock.backends.spark.names import columns_text
from penstock.backends.spark.operators.runner import SparkRunner
from penstock.backends.spark.trace import Trace
from penstock.backends.spark.workspace import Workspace
from penstock.backends.thresholds import ROUND_LAYERS
from penstock.catalog.reserved import WEIGHT
from penstock.circuit.operators import Circuit, Operator, Source, leaf

# What makes the runner of an operator: from its description, the schemas of its inputs' changes, and that of its own.
Make = Callable[[Workspace, Operator, "Sequence[StructType]", "Callable[[], StructType]"], SparkRunner]


class Nested:
    """Runners for a circuit whose sources are given by name; the operators keep nothing but traces."""

    def __init__(self, workspace: Workspace, circuit: Circuit, sources: Mapping[str, StructType], make: Make) -> None:
        self.workspace = workspace
        self.make = make
        self.circuit = circuit
        self.sources = sources
        self.schemas: dict[int, StructType] = {}
        self.runners = {item.number: self._runner(item) for item in circuit.operators if not isinstance(item, Source)}
        self._before: dict[int, list[Trace]] | None = None

    @classmethod
    def of_operator(cls, workspace: Workspace, operator: Operator, schema: StructType, make: Make) -> Nested:
        """One operator over the source `#0`."""
        fields = operator.node.inputs[0].fields
        source = Source(0, leaf(0, fields), (), relation="#0")
        return cls(workspace, Circuit((source, operator), {"": operator.number}), {"#0": schema}, make)

    def _runner(self, operator: Operator) -> SparkRunner:
        schemas = [self._schema(number) for number in operator.inputs]
        return self.make(self.workspace, operator, schemas, partial(self._schema, operator.number))

    def _schema(self, number: int) -> StructType:
        """The schema of an operator's change, from empty inputs; asked once."""
        if number not in self.schemas:
            operator = self.circuit.operators[number]
            found = self._chosen(operator) if isinstance(operator, Source) else self._asked(operator)
            self.schemas[number] = found
        return self.schemas[number]

    def _chosen(self, source: Source) -> StructType:
        known = self.sources[source.relation]
        return StructType([known[name] for name in (*source.node.names, WEIGHT)])

    def _asked(self, operator: Operator) -> StructType:
        leaves = {f"#{number}": self.workspace.empty(self._rows(number)) for number in operator.inputs}
        found = batch_frame(self.workspace, operator.node, leaves).schema
        return StructType([*found.fields, StructField(WEIGHT, LongType(), nullable=False)])

    def _rows(self, number: int) -> StructType:
        return StructType([item for item in self._schema(number).fields if item.name != WEIGHT])

    def step(self, inputs: Mapping[str, Delta | None], *, first: bool) -> dict[str, Delta]:
        """The changes of the outputs for changes of the sources, by their names."""
        if self._before is None:
            self._before = {number: runner.traces for number, runner in self.runners.items()}
        deltas: dict[int, Delta] = {}
        consumers = self.circuit.consumers()
        for operator in self.circuit.operators:
            if isinstance(operator, Source):
                found = self._source(operator, inputs.get(operator.relation))
            else:
                found = self._run(operator, deltas, first=first)
            if found is not None and consumers[operator.number] > 1:
                found = found.settled()
            if found is not None and not found.is_empty():
                deltas[operator.number] = found
        return {name: deltas[number] for name, number in self.circuit.outputs.items() if number in deltas}

    def _source(self, source: Source, delta: Delta | None) -> Delta | None:
        if delta is None or delta.names == source.node.names:
            return delta
        query = f"SELECT {columns_text((*source.node.names, WEIGHT))} FROM {delta.view}"
        return Delta.of_query(self.workspace, query, self._schema(source.number), estimate=delta.estimate)

    def _run(self, operator: Operator, deltas: Mapping[int, Delta], *, first: bool) -> Delta | None:
        changed = [deltas.get(number) for number in operator.inputs]
        if not any(delta is not None for delta in changed):
            return None
        runner = self.runners[operator.number]
        found = runner.step(changed, first=first)
        runner.commit()  # the next run builds on it; `discard` has what was before
        if self.workspace.scans is not None:
            self.workspace.scans.add_up()  # the next run reads its state again
        if any(len(trace.layers) > ROUND_LAYERS for trace in runner.traces):
            runner.merge()
        return found

    def commit(self) -> None:
        """Make what the runs of the step have left the state."""
        self._before = None

    def discard(self) -> None:
        """Forget the runs of the step."""
        for number, traces in (self._before or {}).items():
            self.runners[number].traces = traces
            self.runners[number].discard()
        self._before = None

    def merge(self, lines: LineText | None = None) -> None:
        """Merge layers where that is due."""
        for runner in self.runners.values():
            runner.merge(lines)

    def compact(self, lines: LineText | None = None) -> None:
        """Merge every trace into one layer."""
        for runner in self.runners.values():
            runner.compact(lines)

    def state(self) -> Iterator[tuple[int, int]]:
        """Rows and bytes of each trace."""
        for runner in self.runners.values():
            yield from runner.state()
