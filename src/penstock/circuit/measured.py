"""The measurements of the operators of a circuit, as values: by `SET profile = 'on'` (penstock.engine.profiler)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from penstock.catalog.model import Catalog
from penstock.catalog.settings import PROFILE
from penstock.circuit.operators import Circuit, Operator
from penstock.circuit.places import ON_SPARK, Place

SETTING = PROFILE
ON, OFF = "on", "off"


@dataclass(frozen=True)
class Work:
    """The work of an operator: entries of changes in and out, entries and layers of state that it read, Spark jobs.

    A layer lies on the executors; state that was read without any was on the driver.
    """

    seconds: float = 0.0
    rows_in: int = 0
    rows_out: int = 0
    scanned_rows: int = 0
    scanned_layers: int = 0
    jobs: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(*(getattr(self, item.name) + getattr(other, item.name) for item in fields(Work)))


NO_WORK = Work()


@dataclass(frozen=True)
class Measured:
    """One operator: the steps in which it worked, their work in total and that of the last measured step.

    `merging` is the time and the jobs that went, between steps, into merging its state; `merged` that part of it
    which went before the last measured step. `views` are those that it works for; the state is that of now, and
    `place` is where it works.
    """

    operator: Operator
    views: tuple[str, ...]
    steps: int = 0
    total: Work = NO_WORK
    last: Work | None = None
    merging: Work = NO_WORK
    merged: Work = NO_WORK
    state_rows: int = 0
    state_bytes: int = 0
    place: Place = ON_SPARK


@dataclass(frozen=True)
class MeasuredCircuit:
    """A circuit with the measurements of its operators by number."""

    circuit: Circuit
    operators: Mapping[int, Measured]


@dataclass(frozen=True)
class Profile:
    """Measured steps: how many, the numbers of the first and the last, and their time, operators and all the rest.

    Views that were declared at different times are in different circuits.
    """

    steps: int = 0
    first: int | None = None
    last: int | None = None
    seconds: float = 0.0
    last_seconds: float = 0.0
    circuits: tuple[MeasuredCircuit, ...] = ()

    def followed(self, number: int, seconds: float) -> Profile:
        """The profile with one more step."""
        first = number if self.first is None else self.first
        return replace(
            self,
            steps=self.steps + 1,
            first=first,
            last=number,
            seconds=self.seconds + seconds,
            last_seconds=seconds,
        )

    @property
    def operators(self) -> tuple[Measured, ...]:
        """The operators of all circuits."""
        return tuple(item for circuit in self.circuits for item in circuit.operators.values())

    @property
    def operator_seconds(self) -> float:
        """The part of the time that went into operators."""
        return sum(item.total.seconds for item in self.operators)

    @property
    def merging_seconds(self) -> float:
        """The time that went into merging state; between steps, or at the beginning of the next one."""
        return sum(item.merging.seconds for item in self.operators)


def is_measured(catalog: Catalog) -> bool:
    """True if the setting asks for measurements."""
    return catalog.settings.get(SETTING, OFF).strip().lower() == ON
