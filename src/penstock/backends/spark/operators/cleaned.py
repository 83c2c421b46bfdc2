"""LATENESS of a view: the filter right behind it (B3).

What is late is not for Spark to say: a `Gate`, given by whoever knows the declaration, parts each change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from penstock.backends.spark.change import Delta
from penstock.backends.spark.operators.runner import SparkRunner
from penstock.backends.spark.workspace import Workspace
from penstock.circuit.operators import Cleaned
from penstock.plan.showing import OwnWaterline

if TYPE_CHECKING:
    import pyarrow as pa


class Gate(Protocol):
    """The memory of a view's LATENESS; a value, so that a step that is discarded has changed nothing."""

    def parted(self, delta: Delta) -> Parted:
        """The change of a step without its late rows, and without rows that come and go in it."""

    def line(self, key: object) -> Any:
        """The waterline of the rows with a key, where each has its own; None if there is none."""

    def seen(self, own: OwnWaterline) -> Any:
        """The greatest time that has come; None if there is none, or each key has its own."""

    def closed(self, own: OwnWaterline) -> Gate:
        """The filter for which all windows that have rows are over."""


@runtime_checkable
class SessionsGate(Gate, Protocol):
    """One that numbers the rows by the session that they are in, and lets those pass that are in one."""

    def over(self, clock: datetime, *, ended: bool) -> Self:
        """The same when the sessions are closed that the clock closes, or all of them."""

    def open_numbers(self) -> frozenset[int]:
        """The numbers of the sessions that are open."""

    @property
    def short(self) -> frozenset[int]:
        """The numbers of those that have closed in this step before they had their greatest length."""

    def timer(self) -> datetime | None:
        """The clock at which the next one closes by itself."""


@dataclass(frozen=True)
class Parted:
    """The rows that pass, those for `error_view` (a change of it, or None), and the gate after the step."""

    passed: Delta
    late: pa.Table | None
    after: Gate


class CleanedRunner(SparkRunner):
    """Drops the late rows of a view's change."""

    def __init__(self, workspace: Workspace, operator: Cleaned, gate: Gate) -> None:
        super().__init__(workspace)
        self.view = operator.view
        self.gate = gate
        self.late: pa.Table | None = None
        self._after: Gate | None = None

    @property
    def proposed_gate(self) -> Gate:
        """The gate as it will be if the step is committed."""
        return self.gate if self._after is None else self._after

    def step(self, inputs: Sequence[Delta | None], *, first: bool) -> Delta | None:
        del first
        (delta,) = inputs
        self.late = None
        if delta is None or delta.is_empty():
            return None
        parted = self.gate.parted(delta)
        self.late, self._after = parted.late, parted.after
        return parted.passed

    def commit(self) -> None:
        """Let the waterline move."""
        super().commit()
        self.late = None
        if self._after is not None:
            self.gate, self._after = self._after, None

    def discard(self) -> None:
        """Forget the step."""
        super().discard()
        self.late = self._after = None
