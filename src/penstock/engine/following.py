"""A step's work, relation after relation: a table that views write into has its change when theirs are known.

    inputs → the operators that lead to the writers of `t` → the change of `t`, an input from here on → … → the others

Each operator is evaluated once, as soon as something asks for it; `Following` stands in an order in which none asks
for a table that comes later.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.backends import api
from penstock.backends.spark.change import Delta, all_own
from penstock.circuit.operators import Source
from penstock.engine.installed import Installed, InstalledOperator
from penstock.engine.result import StepResult

if TYPE_CHECKING:
    from penstock.engine.engine import Engine


@dataclass(frozen=True, slots=True)
class Following:
    """Relations whose `changes` in a step follow from those of `views`; by their lower-case names, if there are any.

    Of the views only those that change are given, evaluated.
    """

    views: Sequence[str]
    changes: Callable[[Mapping[str, Delta]], Mapping[str, api.Delta]]


@dataclass
class Progress:
    """The operators of a circuit that a step has come to, and their changes."""

    seen: set[int] = field(default_factory=set)
    deltas: dict[int, Delta | None] = field(default_factory=dict)


@dataclass
class StepWork:
    """The evaluation of one step; `inputs` are the changes of relations that are known so far."""

    engine: Engine
    inputs: dict[str, Delta]
    result: StepResult
    progress: dict[int, Progress] = field(default_factory=dict)

    @property
    def ordered(self) -> list[Installed]:
        """The circuits in the order in which they are evaluated."""
        return sorted(self.engine.installed, key=lambda item: item.behind)

    def all(self, following: Sequence[Following]) -> None:
        """Evaluate everything."""
        for item in following:
            self.follow(item)
        for installed in self.ordered:
            self.evaluate(installed)
            self.result.gather_late(installed, self.progress_of(installed).deltas)
            self.result.complete(installed)

    def follow(self, item: Following) -> None:
        """Evaluate what leads to the changes of relations, and these."""
        wanted = set(item.views)
        parts: list[tuple[Installed, set[int]]] = []
        for installed in reversed(self.ordered):
            needed = _leading_to(installed, wanted)
            wanted |= _sources(installed, needed)
            parts.append((installed, needed))
        for installed, needed in reversed(parts):
            if needed:
                self.evaluate(installed, needed)
        self.inputs.update(all_own(item.changes(self.result.settled(item.views))))

    def lead_to(self, place: InstalledOperator, following: Sequence[Following]) -> None:
        """Evaluate as much as one operator needs."""
        for item in following:
            if place.number in self.progress_of(place.installed).seen:
                return
            self.follow(item)
        for installed in self.ordered:
            if installed is place.installed:
                self.evaluate(installed, installed.circuit.needed([place.number]))
                return
            if installed.reports_late or place.installed.reads & installed.circuit.outputs.keys():
                self.evaluate(installed)
                self.result.gather_late(installed, self.progress_of(installed).deltas)

    def progress_of(self, installed: Installed) -> Progress:
        """The progress of one circuit."""
        return self.progress.setdefault(id(installed), Progress())

    def evaluate(self, installed: Installed, only: Collection[int] | None = None) -> None:
        """Evaluate a circuit, or some of its operators and what they read, as far as that is not done."""
        found = self.engine.inputs_of(installed, self.inputs, self.result)
        self.engine.evaluate(installed, found, self.result, self.progress_of(installed), only)


def _leading_to(installed: Installed, views: Collection[str]) -> set[int]:
    return installed.circuit.needed(number for view, number in installed.circuit.outputs.items() if view in views)


def _sources(installed: Installed, numbers: Collection[int]) -> set[str]:
    operators = installed.circuit.operators
    return {item.relation for item in operators if item.number in numbers and isinstance(item, Source)}
