"""Outputs with `emit_final`: rows are shown once no accepted input can change them, and never taken back (B10)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.analysis.final import Final
from penstock.catalog.reserved import WEIGHT
from penstock.errors import Diagnostic, InternalError
from penstock.plan.scalar import quoted
from penstock.spark.change import Delta, consolidated
from penstock.spark.parameters import as_parameter
from penstock.steps.intake.judging import value_literal
from penstock.steps.intake.lateness import below


@dataclass(frozen=True)
class FinalOutput:
    """The rows of one view that are not final yet, as a consolidated change; a value, as a step may be refused."""

    view: str
    final: Final
    pending: Delta | None = None

    def after(self, change: Delta | None, waterline: Any) -> tuple[Delta | None, FinalOutput]:
        """What a step makes final, and what waits after it; `waterline` is that of the step's end, None for none."""
        pending = self._together(change)
        if pending is None or waterline is None or pending.is_empty():
            return None, replace(self, pending=pending)
        shown, waiting = _parted(pending, self.final.place, waterline)
        self._check(shown)
        return (None if shown.is_empty() else shown), replace(self, pending=waiting)

    def _together(self, change: Delta | None) -> Delta | None:
        if change is None or change.is_empty():
            return self.pending
        if self.pending is None or self.pending.is_empty():
            return change.consolidated()
        estimate = self.pending.count() + change.count()
        both = consolidated(self.pending.frame().union(change.frame()))
        return Delta.of_frame(change.workspace, both, estimate=estimate).settled()

    def _check(self, shown: Delta) -> None:
        """A final row that changes would mean that the waterline promised too much."""
        if shown.on_driver:
            negative = bool(pc.any(pc.less(shown.arrow()[WEIGHT], 0)).as_py())
        else:
            negative = bool(shown.frame().where(f"{WEIGHT} < 0").limit(1).count())
        if negative:
            message = f"view {self.view}: a row below the waterline of {self.final.column} has changed"
            raise InternalError(Diagnostic("FINAL_ROW_CHANGED", message))


def _parted(rows: Delta, place: int, waterline: Any) -> tuple[Delta, Delta]:
    """The rows below the waterline, and the others."""
    if rows.on_driver:
        table = rows.arrow()
        mask: pa.ChunkedArray = below(table.column(place), waterline)
        parts = (table.filter(mask), table.filter(pc.invert(mask)))
        shown, waiting = (Delta.of_arrow(rows.workspace, part, rows.schema) for part in parts)
        return shown, waiting
    name, kind = quoted(rows.names[place]), rows.schema.fields[place].dataType.simpleString()
    line = f"CAST({name} AS TIMESTAMP_NTZ)" if kind == "date" else name
    condition = f"coalesce({line} < {as_parameter(value_literal(kind, waterline), name)}, false)"
    frames = (rows.frame().where(condition), rows.frame().where(f"NOT {condition}"))
    kept = [rows.workspace.checkpoints.evaluated(frame) for frame in frames]
    shown, waiting = (Delta.of_frame(rows.workspace, frame, rows=count) for frame, count in kept)
    return shown, waiting
