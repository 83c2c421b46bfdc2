"""A circuit: operators that read one another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_

from penstock.circuit.operators.operator import Operator
from penstock.plan.nodes import Field, Plan, Scan


@dataclass(frozen=True)
class Report:
    """An operator whose changes are rows that a view has not taken, since they were late for it."""

    view: str
    number: int


@dataclass(frozen=True)
class Circuit:
    """Operators, each after its inputs; `outputs` maps a view's lower-case name to its operator."""

    operators: tuple[Operator, ...]
    outputs: Mapping[str, int]
    reports: tuple[Report, ...] = ()

    @cached_property
    def readers(self) -> Mapping[int, tuple[str, ...]]:
        """The views that each operator works for."""
        found: dict[int, dict[str, None]] = {operator.number: {} for operator in self.operators}
        for view, number in self.outputs.items():
            found[number][view] = None
        for report in self.reports:
            found[report.number][report.view.lower()] = None
        for operator in reversed(self.operators):
            for number in operator.inputs:
                found[number] |= found[operator.number]
        return {number: tuple(views) for number, views in found.items()}

    @cached_property
    def _below(self) -> tuple[int, ...]:
        """Of each operator: itself and all below it, as a number that has the bit of each operator's place."""
        found: list[int] = []
        for place, operator in enumerate(self.operators):
            bits = 1 << place
            for number in operator.inputs:
                bits |= found[number]
            found.append(bits)
        return tuple(found)

    def below(self, output: int, others: Iterable[int] = ()) -> tuple[Operator, ...]:
        """An operator and all below it, in their order, but for the others and all below them."""
        bits = self._below[output] & ~reduce(or_, (self._below[number] for number in others), 0)
        found: list[Operator] = []
        while bits:
            least = bits & -bits
            found.append(self.operators[least.bit_length() - 1])
            bits ^= least
        return tuple(found)

    def reached(self, output: int, known: AbstractSet[int] = frozenset()) -> set[int]:
        """An operator and all below it, but for the known ones and what only they read."""
        waiting, found = [output], set[int]()
        while waiting:
            number = waiting.pop()
            if number not in found and number not in known:
                found.add(number)
                waiting += self.operators[number].inputs
        return found

    def without(self, view: str) -> Circuit:
        """The circuit without a view, by its lower-case name, and without the operators that only it needs."""
        outputs = {name: number for name, number in self.outputs.items() if name != view}
        reports = tuple(report for report in self.reports if report.view.lower() != view)
        needed = self.needed([*outputs.values(), *(report.number for report in reports)])
        return Circuit(tuple(item for item in self.operators if item.number in needed), outputs, reports)

    def needed(self, roots: Iterable[int]) -> set[int]:
        """The operators of those numbers, and all that they read."""
        inputs = {operator.number: operator.inputs for operator in self.operators}
        found: set[int] = set()
        waiting = list(roots)
        while waiting:
            number = waiting.pop()
            if number not in found:
                found.add(number)
                waiting.extend(inputs[number])
        return found

    def consumers(self) -> dict[int, int]:
        """The number of readers that each operator's change has, views counted as one each."""
        counts = {operator.number: 0 for operator in self.operators}
        for operator in self.operators:
            for number in operator.inputs:
                counts[number] += 1
        for number in (*self.outputs.values(), *(report.number for report in self.reports)):
            counts[number] += 1
        return counts


def leaf(number: int, fields: tuple[Field, ...]) -> Plan:
    """The scan by which a node reads the output of another operator."""
    return Scan(f"#{number}", fields)
