"""Recursive views by change: the lifted bodies are fed with their own output, round by round.

A step starts in the first round that the change of the inputs touches. The rows of a round are complete when the
rounds before it are, so each round is done once, in ascending order, and the step ends when nothing waits any more.
With set semantics what the bodies give is only a derivation of a row; the row itself belongs to its first round, and
moves when the first derivation comes or goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql.types import StructType

from penstock.backends.api import LineText
from penstock.backends.spark.change import Delta
from penstock.backends.spark.fixpoint import endless, recursive_schemas
from penstock.backends.spark.names import columns_text
from penstock.backends.spark.operators.nested import Make, Nested
from penstock.backends.spark.operators.runner import SparkRunner
from penstock.backends.spark.operators.waiting import Waiting
from penstock.backends.spark.workspace import Workspace
from penstock.catalog.reserved import WEIGHT
from penstock.circuit.operators import Iterated, Rounds
from penstock.circuit.rounds import ROUND
from penstock.plan.nodes import Fixpoint


class IteratedRunner(SparkRunner):
    """Keeps what the operators of the bodies keep, and with set semantics the derivations of each row."""

    def __init__(
        self, workspace: Workspace, operator: Iterated, rounds: Rounds, schemas: Sequence[StructType], make: Make
    ) -> None:
        super().__init__(workspace)
        self.operator = operator
        self.node: Fixpoint = operator.node  # type: ignore[assignment]
        self.views = [name.lower() for name in self.node.views]
        given = {f"#{number}": schema for number, schema in zip(operator.inputs, schemas, strict=True)}
        self.schemas = dict(zip(self.views, recursive_schemas(workspace, self.node, given), strict=True))
        self.bodies = Nested(workspace, rounds.circuit, {**given, **self.schemas}, make)
        self.firsts = [
            Nested.of_operator(workspace, first, self.schemas[view], make)
            for view, first in zip(self.views, rounds.firsts, strict=False)
        ]

    def step(self, inputs: Sequence[Delta | None], *, first: bool) -> Delta | None:
        changed = {f"#{number}": delta for number, delta in zip(self.operator.inputs, inputs, strict=True)}
        derived = {view: Waiting(self.workspace, self.schemas[view]) for view in self.views}
        rows = {view: Waiting(self.workspace, self.schemas[view]) for view in self.views}
        found: list[Delta] = []
        self._derive(changed, derived, first=first)
        while (number := _next_round([*derived.values(), *rows.values()])) is not None:
            complete = dict(self._complete(number, derived, rows))
            if not complete:
                continue
            if number >= self.node.bound:
                raise endless(self.node)
            found += [delta for view, delta in complete.items() if view == self.views[self.node.output]]
            self._derive(complete, derived, first=False)
        return self._answer(found)

    def _derive(self, changed: Mapping[str, Delta | None], derived: Mapping[str, Waiting], *, first: bool) -> None:
        for view, delta in self.bodies.step(changed, first=first).items():
            derived[view].add(delta)

    def _complete(
        self, number: int, derived: Mapping[str, Waiting], rows: Mapping[str, Waiting]
    ) -> Iterator[tuple[str, Delta]]:
        """The change of each view's rows of one round, which no later round can touch."""
        for place, view in enumerate(self.views):
            change = derived[view].take(number)
            if self.firsts:
                moved = {} if change is None else self.firsts[place].step({"#0": change}, first=False)
                for delta in moved.values():
                    rows[view].add(delta)
                change = rows[view].take(number)
            if change is not None:
                yield view, change

    def _answer(self, found: Sequence[Delta]) -> Delta | None:
        """The rows without their rounds: a row that only came to another round has not changed."""
        if not found:
            return None
        parts = [f"SELECT {columns_text(_shown(delta))} FROM {delta.view}" for delta in found]
        schema = _without_round(found[0].schema)
        estimate = sum(delta.count() for delta in found)
        return Delta.of_query(self.workspace, " UNION ALL ".join(parts), schema, estimate=estimate).consolidated()

    @property
    def _parts(self) -> list[Nested]:
        return [self.bodies, *self.firsts]

    def commit(self) -> None:
        for part in self._parts:
            part.commit()

    def discard(self) -> None:
        for part in self._parts:
            part.discard()

    def merge(self, lines: LineText | None = None) -> None:
        for part in self._parts:
            part.merge(lines)

    def compact(self, lines: LineText | None = None) -> None:
        for part in self._parts:
            part.compact(lines)

    def state(self) -> Iterator[tuple[int, int]]:
        for part in self._parts:
            yield from part.state()


def _next_round(waiting: Sequence[Waiting]) -> int | None:
    rounds = [number for item in waiting for number in item.rounds()]
    return min(rounds, default=None)


def _shown(delta: Delta) -> tuple[str, ...]:
    return tuple(name for name in delta.schema.names if name != ROUND)


def _without_round(schema: StructType) -> StructType:
    assert WEIGHT in schema.names  # noqa: S101 - every change has it
    return StructType([item for item in schema.fields if item.name != ROUND])
