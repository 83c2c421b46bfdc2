"""The circuits of an engine as they were, for a change of program that does not happen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.backends.api import Runner
from penstock.backends.native.operators.operator import NativeOperator
from penstock.backends.spark.change import Delta
from penstock.circuit.operators import Circuit
from penstock.engine.installed import Installed

if TYPE_CHECKING:
    from penstock.engine.engine import Engine


@dataclass(frozen=True)
class HeldCircuit:
    """One circuit with all that works in it."""

    installed: Installed
    circuit: Circuit
    native: dict[int, NativeOperator]
    runners: dict[int, Runner[Delta]]

    @classmethod
    def of(cls, installed: Installed) -> HeldCircuit:
        """The circuit as it is now."""
        return cls(installed, installed.circuit, dict(installed.native), dict(installed.runners))

    def restore(self) -> None:
        """Have it be so again."""
        self.installed.circuit = self.circuit
        self.installed.native, self.installed.runners = dict(self.native), dict(self.runners)


@dataclass
class HeldEngine:
    """All circuits of an engine; what is removed from now on is kept until `restore` or `let_go`."""

    engine: Engine
    installed: list[Installed]
    circuits: list[HeldCircuit]
    parting: list[NativeOperator] = field(default_factory=list)

    def __post_init__(self) -> None:
        """From now on what goes may have to come back."""
        self.engine.parting = self.parting

    def restore(self) -> None:
        """Have the engine be as it was; what came meanwhile goes."""
        for item in self.engine.installed:
            if not any(item is one for one in self.installed):
                item.drop()
        for circuit in self.circuits:
            circuit.restore()
        self.engine.installed = list(self.installed)
        self.engine.parting = None

    def let_go(self) -> None:
        """Give back what has gone for good."""
        self.engine.parting = None
        for native in self.parting:
            native.drop()
