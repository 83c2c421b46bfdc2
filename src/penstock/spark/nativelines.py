"""Waterlines as constants of DuckDB's SQL."""

from __future__ import annotations

from penstock.analysis.derived import Derived
from penstock.backends.native.collecting import LineText as NativeText
from penstock.backends.native.proof import NotProvenError
from penstock.backends.native.scalars import proven
from penstock.plan.scalar import parsed
from penstock.spark.collecting import LineText
from penstock.spark.waterlines import typed_literal
from penstock.spark.workspace import Workspace


def native_lines(workspace: Workspace, lines: LineText | None) -> NativeText | None:
    """The waterlines that `lines` gives as Spark SQL; Spark evaluates what is not proven."""
    if lines is None:
        return None

    def text(derived: Derived) -> str:
        constant = lines(derived)
        try:
            return proven(parsed(constant), {}).text
        except NotProvenError:
            return proven(parsed(_evaluated(workspace, constant)), {}).text

    return text


def _evaluated(workspace: Workspace, constant: str) -> str:
    frame = workspace.sql(f"SELECT {constant} AS line")
    (row,) = frame.collect()
    return typed_literal(row["line"], frame.schema["line"].dataType.simpleString())
