"""The content of a step's manifest beside its files: all that a replay needs to do the same again.

session       the dialect, ANSI mode and time zone
declarations  the statements declared since the step before, in order; the first step has the program's
declared      for each of these who declared it ('program', 'session', or the name of the query that stands), and when;
              and whether a change of program did
program       how many of the program's statements have been run once the step is there
intakes       per table the number of rows received, and exactly how far its waterlines have got, and of a partitioned
              source each partition's own, with the clock up to which it counts
rejected      how many rows of `error_view` have come before views were evaluated
waterlines    each LATENESS column's waterline after the step
advances      the promises of ADVANCE: (column, value)
sources       per table, what was read from where to where (`connectors`): the step has all of it but for the rejected
ended         true for the step that the end of the input makes

`recorded` reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from penstock.catalog.model import Table
from penstock.steps.exact import exact, from_exact
from penstock.steps.intake.fold import Intake
from penstock.steps.intake.lateness import NONE_YET, PartitionLines, TableLateness, Waterline

Advances = Sequence[tuple[Table, str, Any]]


PROGRAM, SESSION = "program", "session"


@dataclass(frozen=True, slots=True)
class Declaration:
    """A statement that declares something: its text, who has said it (`by`), and at what clock.

    A query or INSERT that stands by itself is said `by` its own name, as `query q1`. One is `deployed` that had another
    program take the place of the one before.
    """

    text: str
    by: str = SESSION
    at: datetime | None = None
    deployed: bool = False

    def facts(self) -> dict[str, Any]:
        """All but the text, ready for JSON."""
        found: dict[str, Any] = {"by": self.by, "at": None if self.at is None else self.at.isoformat()}
        return {**found, "deployed": True} if self.deployed else found

    @classmethod
    def of_facts(cls, text: str, facts: Mapping[str, Any]) -> Declaration:
        """The declaration of which these are the facts."""
        at = None if facts["at"] is None else datetime.fromisoformat(facts["at"])
        return cls(text, facts["by"], at, bool(facts.get("deployed")))


@dataclass
class Declared:
    """The session in which statements are understood, and those that no manifest has yet.

    `program` is the number of the program's statements that have been run, those that declare among them.
    """

    session: Mapping[str, Any] = field(default_factory=dict)
    statements: list[Declaration] = field(default_factory=list)
    program: int = 0

    def to_json(self) -> dict[str, Any]:
        """As a manifest has it."""
        return {
            "session": dict(self.session),
            "declarations": [item.text for item in self.statements],
            "declared": [item.facts() for item in self.statements],
            "program": self.program,
        }


def promised(advances: Advances) -> Advances:
    """The promises of ADVANCE, and what they say of the versions of their tables."""
    found = list(advances)
    for table, column, value in advances:
        time = table.version_time
        if table.versions is not None and time is not None and time.name.lower() == column.lower():
            found.append((table.versions, column, value))
    return found


def step_facts(
    declared: Declared,
    intakes: Sequence[Intake],
    advances: Advances,
    sources: Mapping[str, Any],
    *,
    ended: bool,
    rejected: int = 0,
) -> dict[str, Any]:
    """The facts of one step, ready for JSON."""
    changed = {intake.table.name: intake.lateness for intake in intakes}
    found: dict[str, Any] = declared.to_json()
    found["rejected"] = rejected
    found["intakes"] = [_intake_facts(intake, ended=ended) for intake in intakes]
    found["waterlines"] = {
        f"{table}.{column}": _text(waterline.at)
        for table, lateness in changed.items()
        for column, waterline in lateness.waterlines.items()
    }
    if advances:
        found["advances"] = [[f"{table.name}.{column}", _text(value)] for table, column, value in advances]
        found["promises"] = [[table.name, column, exact(value)] for table, column, value in advances]
    if sources:
        found["sources"] = dict(sources)
    if ended:
        found["ended"] = True
    return found


def _intake_facts(intake: Intake, *, ended: bool) -> dict[str, Any]:
    """The way in which a table's memory goes on, so that it can be followed without the rows that were not accepted."""
    found: dict[str, Any] = {"table": intake.table.name, "received": intake.received}
    lines = {name: _line(item) for name, item in intake.lateness.waterlines.items() if item != NONE_YET}
    if lines:
        found["lines"] = lines
    if intake.lateness.partitions:
        found["partitions"] = {name: _partition(item) for name, item in intake.lateness.partitions.items()}
    if intake.holding.columns:
        found["seen"] = {name: exact(value) for name, value in intake.holding.seen.items()}
        found["emptied"] = ended and intake.holding.waiting is None
    return found


def _partition(item: PartitionLines) -> dict[str, Any]:
    lines = {name: _line(line) for name, line in item.waterlines.items() if line != NONE_YET}
    return {"until": item.until.isoformat(), "lines": lines}


def _line(waterline: Waterline) -> dict[str, Any]:
    found = {"at": exact(waterline.at), "seen": exact(waterline.seen)}
    return {**found, "largest": list(map(exact, waterline.largest))} if waterline.largest else found


def lateness_of(before: TableLateness, facts: Mapping[str, Any]) -> TableLateness:
    """The waterlines of a table after a step, as its manifest tells them."""
    waterlines = MappingProxyType({**before.waterlines, **_lines(facts)})
    partitions = {
        name: PartitionLines(datetime.fromisoformat(item["until"]), MappingProxyType(_lines(item)))
        for name, item in facts.get("partitions", {}).items()
    }
    return replace(before, waterlines=waterlines, partitions=MappingProxyType(partitions))


def _lines(facts: Mapping[str, Any]) -> dict[str, Waterline]:
    return {
        name: Waterline(
            from_exact(item["at"]), tuple(map(from_exact, item.get("largest", ()))), from_exact(item["seen"])
        )
        for name, item in facts.get("lines", {}).items()
    }


def _text(value: Any) -> Any:
    return value.isoformat(" ") if isinstance(value, datetime) else None if value is None else str(value)
