"""`emit_final`: rows are shown once no accepted input can change them, and never taken back (B10)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from penstock.analysis.derived import Derived
from penstock.analysis.final import Final, final_of
from penstock.backends.spark.change import Delta
from penstock.backends.spark.parameters import as_parameter
from penstock.backends.waterlines import below, value_literal
from penstock.catalog.model import Catalog, View
from penstock.catalog.reserved import WEIGHT
from penstock.emit.api import Emitted, Moment
from penstock.emit.waiting import together
from penstock.errors import Diagnostic, InternalError
from penstock.plan.scalar import quoted


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
        shown, left = _parted(waiting, self.final.place, line)
        self._check(shown)
        return Emitted(None if shown.is_empty() else shown, replace(self, waiting=left))

    def _check(self, shown: Delta) -> None:
        """A final row that changes would mean that the waterline promised too much."""
        if shown.on_driver:
            negative = bool(pc.any(pc.less(shown.arrow()[WEIGHT], 0)).as_py())
        else:
            negative = bool(shown.frame().where(f"{WEIGHT} < 0").limit(1).count())
        if negative:
            message = f"view {self.view}: a row below the waterline of {self.final.column} has changed"
            raise InternalError(Diagnostic("FINAL_ROW_CHANGED", message))


def final_rows(view: View, catalog: Catalog) -> FinalRows | None:
    """The policy of a view with `emit_final`; SqlError if no waterline can be inferred for its column."""
    final = final_of(view, catalog)
    return None if final is None else FinalRows(view.name, final)


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
