"""LATENESS of a view: the filter right behind it (B3).

A `Gate`, given by whoever knows the declaration, parts each change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.backends.gates import Gate
from penstock.backends.spark.change import Delta, own
from penstock.backends.spark.operators.runner import SparkRunner
from penstock.backends.spark.workspace import Workspace
from penstock.circuit.operators import Cleaned

if TYPE_CHECKING:
    import pyarrow as pa


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
        return own(parted.passed)

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
