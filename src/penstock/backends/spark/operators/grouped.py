"""State by group whose changes can be added up: what additive.py and counted.py have in common."""

from __future__ import annotations

from penstock.backends.spark.change import Delta
from penstock.backends.spark.operators.rewriting import Rewriting
from penstock.backends.spark.operators.touching import Touching
from penstock.backends.thresholds import REWRITE_SHARE


class GroupedRunner(Touching, Rewriting):
    """Takes the way that is cheaper for the change: touching its groups, or rewriting the state."""

    def advance(self, entries: str, estimate: int) -> Delta | None:
        """Propose the state after the change; the change of the output."""
        known = self.trace.rows if self.trace is not None else 0
        if estimate > self.workspace.driver_rows and estimate * REWRITE_SHARE > known:
            return self.rewrite(entries, estimate)
        return self.touch(entries, estimate)
