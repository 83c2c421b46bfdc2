"""The content of a step's manifest beside its files: all that a replay needs to do the same again.

session       the dialect, ANSI mode and time zone
declarations  the statements declared since the step before, in order; the first step has the program's
waterlines    each LATENESS column's waterline after the step
advances      the promises of ADVANCE: (column, value)
sources       per table, what was read from where to where (`connectors`): the step has all of it but for the rejected
ended         true for the step that the end of the input makes
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from penstock.catalog.model import Table
from penstock.steps.intake.fold import Intake

Advances = Sequence[tuple[Table, str, Any]]


@dataclass
class Declared:
    """The session in which statements are understood, and those that no manifest has yet."""

    session: Mapping[str, Any] = field(default_factory=dict)
    statements: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """As a manifest has it."""
        return {"session": dict(self.session), "declarations": list(self.statements)}


def promised(advances: Advances) -> Advances:
    """The promises of ADVANCE, and what they say of the versions of their tables."""
    found = list(advances)
    for table, column, value in advances:
        time = table.version_time
        if table.versions is not None and time is not None and time.name.lower() == column.lower():
            found.append((table.versions, column, value))
    return found


def step_facts(
    declared: Declared, intakes: Sequence[Intake], advances: Advances, sources: Mapping[str, Any], *, ended: bool
) -> dict[str, Any]:
    """The facts of one step, ready for JSON."""
    changed = {intake.table.name: intake.lateness for intake in intakes}
    found: dict[str, Any] = declared.to_json()
    found["waterlines"] = {
        f"{table}.{column}": _text(waterline.at)
        for table, lateness in changed.items()
        for column, waterline in lateness.waterlines.items()
    }
    if advances:
        found["advances"] = [[f"{table.name}.{column}", _text(value)] for table, column, value in advances]
    if sources:
        found["sources"] = dict(sources)
    if ended:
        found["ended"] = True
    return found


def _text(value: Any) -> Any:
    return value.isoformat(" ") if isinstance(value, datetime) else None if value is None else str(value)
