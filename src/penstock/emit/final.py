"""`emit_final`: rows are shown once no accepted input can change them, and never taken back (B10)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from penstock.analysis.derived import Derived
from penstock.analysis.final import Final, final_of
from penstock.backends.api import Delta
from penstock.catalog.model import Catalog, View
from penstock.emit.api import Emitted, Moment
from penstock.emit.waiting import together
from penstock.errors import Diagnostic, InternalError


@dataclass(frozen=True)
class FinalRows:
    """The rows of one view that are not final yet, as a consolidated change."""

    view: str
    final: Final
    waiting: Delta | None = None

    @property
    def goes_by(self) -> tuple[Derived, ...]:
        """The waterline of the column that makes rows final."""
        return (self.final.waterline,)

    waits: ClassVar[bool] = False

    def after(self, change: Delta | None, moment: Moment) -> Emitted:
        """The rows that the step makes final."""
        waiting, (line,) = together(self.waiting, change), moment.waterlines
        if waiting is None or waiting.is_empty() or line is None:
            return Emitted(None, replace(self, waiting=waiting))
        shown, left = waiting.parted(self.final.place, line)
        self._check(shown)
        return Emitted(None if shown.is_empty() else shown, replace(self, waiting=left))

    def _check(self, shown: Delta) -> None:
        """A final row that changes would mean that the waterline promised too much."""
        if shown.takes_back():
            message = f"view {self.view}: a row below the waterline of {self.final.column} has changed"
            raise InternalError(Diagnostic("FINAL_ROW_CHANGED", message))


def final_rows(view: View, catalog: Catalog) -> FinalRows | None:
    """The policy of a view with `emit_final`; SqlError if no waterline can be inferred for its column."""
    final = final_of(view, catalog)
    return None if final is None else FinalRows(view.name, final)
