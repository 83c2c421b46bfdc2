"""All that one look at the sources has brought, on its way through one step, or several if an expression refuses rows.

A step that fails is cut in halves until the rows at fault are found; these go to `error_view`. Nothing of it
is taken twice or lost: a delivery that was stopped when part of it had been stepped goes on with the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.steps.failures import EvaluationError
from penstock.steps.rows.batch import Batch
from penstock.steps.rows.rejected import EVALUATION, Rejected, Rejections, row_json


@dataclass(frozen=True)
class Part:
    """The rows of one step to try, what was rejected on the way here, and the table of a row that is left out."""

    batches: Sequence[Batch]
    rejected: Sequence[Rejected] = ()
    left_out: str | None = None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(len(batch) for batch in self.batches)

    def taken(self, table: str) -> int:
        """The number of a table's rows that are dealt with once this part is."""
        rows = sum(len(batch) for batch in self.batches if batch.table.name == table)
        return rows + (self.left_out == table)


@dataclass
class Delivery:
    """The parts that are still to be stepped, first to last; `ranges` says per table what was read from where."""

    parts: list[Part]
    ranges: Mapping[str, Any] = field(default_factory=dict)
    tolerant: bool = True
    begun: bool = False
    _before: dict[str, int] = field(default_factory=dict)
    _total: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Count what there is."""
        self._total = {table: sum(part.taken(table) for part in self.parts) for table in self.ranges}

    def rejections(self) -> Rejections:
        """Those of the first part, to add to."""
        return Rejections(self.tolerant, list(self.parts[0].rejected))

    def facts(self) -> dict[str, Any]:
        """For the log: what was read, and which of its rows the first part has."""
        return {table: {**read, "rows": self._rows(table)} for table, read in self.ranges.items()}

    def _rows(self, table: str) -> dict[str, int]:
        before = self._before.get(table, 0)
        return {"from": before, "to": before + self.parts[0].taken(table), "of": self._total[table]}

    def stepped(self) -> None:
        """The first part is in a step."""
        for table in self.ranges:
            self._before[table] = self._rows(table)["to"]
        self.begun = True
        del self.parts[0]

    def divide(self, error: EvaluationError) -> None:
        """Two halves instead of the first part, or none of its only row; raises where no row is at fault."""
        part = self.parts[0]
        if not part.rows or not self._may_leave_out(part):
            raise error
        if part.rows > 1:
            first, second = _halves(part.batches, part.rows // 2)
            self.parts[:1] = [Part(first, part.rejected), Part(second)]
            return
        batch = next(batch for batch in part.batches if len(batch))
        detail = {"place": batch.place(0), "error": error.diagnostics[0].message, "row": batch.json(0)}
        rejected = Rejected(error.view or batch.table.name, EVALUATION, row_json(detail))
        self.parts[0] = Part([], [*part.rejected, rejected], batch.table.name)

    def _may_leave_out(self, part: Part) -> bool:
        return self.tolerant and not any(is_strict(batch.table.properties) for batch in part.batches if len(batch))


def is_strict(properties: Mapping[str, str]) -> bool:
    """True if a table says `'on_error' = 'fail'`."""
    return properties.get("on_error", "").lower() == "fail"


def _halves(batches: Sequence[Batch], count: int) -> tuple[list[Batch], list[Batch]]:
    """The first `count` rows, and the rest."""
    first: list[Batch] = []
    second: list[Batch] = []
    for batch in batches:
        here = min(count, len(batch))
        count -= here
        if here:
            first.append(batch.taken(0, here))
        if here < len(batch):
            second.append(batch.taken(here, len(batch) - here))
    return first, second
