"""An operator on Spark whose answers have other last digits than those that were given before it worked there.

A sum in floating point depends on the order of adding. What it makes of the rows that it was given, less what was
answered for them, is owed: its next step adds it to its change, and all that has been given is then what it answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.backends.api import Lines, Runner
from penstock.backends.spark.change import Delta
from penstock.backends.spark.operators.runner import SparkRunner


class OwingRunner(Runner[Delta]):
    """Asks for a step of its own, in which it gives what is owed."""

    def __init__(self, runner: SparkRunner, owed: Delta) -> None:
        self.runner = runner
        self.owed: Delta | None = owed
        self._gives = False

    def step(self, inputs: Sequence[Delta | None], *, first: bool) -> Delta | None:
        found = self.runner.step(inputs, first=first)
        self._gives = True
        if self.owed is None or found is None:
            return found or self.owed
        return found.settled().added_up_with(self.owed, estimate=found.estimate + self.owed.count())

    def wants_step(self) -> bool:
        return self.owed is not None or self.runner.wants_step()

    def commit(self) -> None:
        self.runner.commit()
        if self._gives:
            self.owed = None
        self._gives = False

    def discard(self) -> None:
        self._gives = False
        self.runner.discard()

    def merge(self, lines: Lines | None = None) -> None:
        self.runner.merge(lines)

    def compact(self, lines: Lines | None = None) -> None:
        self.runner.compact(lines)

    def state(self) -> Iterator[tuple[int, int]]:
        yield from self.runner.state()
