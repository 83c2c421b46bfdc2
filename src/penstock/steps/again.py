"""A step that the log has, as it is made again: its effects on the tables, and what of the log is its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.steps.intake.fold import Intake
from penstock.steps.log import Staged


@dataclass(frozen=True, slots=True)
class Again:
    """The intakes of a step by lower-case table, in their order, and its part of the log."""

    intakes: Mapping[str, Intake]
    staged: Staged

    def of(self, names: Iterable[str]) -> list[Intake]:
        """The intakes of those tables that the step has changed."""
        return [self.intakes[name] for name in names if name in self.intakes]
