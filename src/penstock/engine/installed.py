"""A circuit as it is installed in an engine: its runners, and what has been measured of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from penstock.backends import api
from penstock.backends.api import Runner
from penstock.backends.native.operators.operator import NativeOperator
from penstock.backends.spark.change import Delta
from penstock.circuit.lineage import operator_of
from penstock.circuit.measured import NO_WORK, Work
from penstock.circuit.operators import Circuit, Cleaned, OfStep, Operator, Source
from penstock.circuit.places import IN_PROCESS, ON_SPARK, Place
from penstock.plan.nodes import Plan

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


@dataclass
class Tally:
    """The measurements of one operator so far.

    `at` and `merged_at` count measured steps: up to the last of its own, and to that behind which its state was merged.
    """

    steps: int = 0
    total: Work = NO_WORK
    last: Work = NO_WORK
    at: int = 0
    merging: Work = NO_WORK
    merged: Work = NO_WORK
    merged_at: int = 0


@dataclass
class Installed:
    """One circuit, its runners made as they are first needed, and whether it has had a step.

    One that is `aside` begins without the rows that there are, which are given to it piece by piece. In the step in
    which it takes its place `answers` make of its views' changes, by name, their whole answers.
    """

    circuit: Circuit
    tables: dict[str, StructType]
    behind: bool = False  # evaluated after the others: it reads error_view
    fresh: bool = True
    native: dict[int, NativeOperator] = field(default_factory=dict)  # those that are at work in the process
    others: dict[int, Place] = field(default_factory=dict)  # of each other one that might be, what is not proven
    runners: dict[int, Runner[Delta]] = field(default_factory=dict)
    schemas: dict[int, StructType] = field(default_factory=dict)
    tallies: defaultdict[int, Tally] = field(default_factory=lambda: defaultdict(Tally))
    aside: bool = False
    answers: dict[str, Callable[[api.Delta | None], api.Delta | None]] = field(default_factory=dict)

    def place_of(self, number: int) -> Place:
        """The place in which an operator works."""
        return IN_PROCESS if number in self.native else self.others.get(number, ON_SPARK)

    @property
    def needs_spark(self) -> bool:
        """True if some operator works on Spark."""
        return any(
            operator.number not in self.native
            for operator in self.circuit.operators
            if not isinstance(operator, OfStep)
        )

    @cached_property
    def reads(self) -> frozenset[str]:
        """The relations that it reads, in lower case."""
        return frozenset(item.relation for item in self.circuit.operators if isinstance(item, Source))

    @property
    def reports_late(self) -> bool:
        """True if it has a view with LATENESS, or one that judges rows."""
        return bool(self.circuit.reports) or any(isinstance(operator, Cleaned) for operator in self.circuit.operators)

    def drop(self) -> None:
        """Give back what its operators in the process take; it is not used again."""
        for native in self.native.values():
            native.drop()


@dataclass(frozen=True)
class InstalledOperator:
    """An operator in an installed circuit."""

    installed: Installed
    number: int

    @property
    def node(self) -> Plan:
        """The plan that it keeps up to date."""
        return operator_of(self.installed.circuit, self.number).node


def levels(circuit: Circuit) -> list[list[Operator]]:
    """The operators in groups, each of which needs only groups before it."""
    level: dict[int, int] = {}
    groups: list[list[Operator]] = []
    for operator in circuit.operators:
        mine = 1 + max((level[number] for number in operator.inputs), default=-1)
        level[operator.number] = mine
        while len(groups) <= mine:
            groups.append([])
        groups[mine].append(operator)
    return groups
