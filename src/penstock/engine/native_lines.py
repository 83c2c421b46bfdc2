"""Waterlines as constants of DuckDB's SQL."""

from __future__ import annotations

from penstock.analysis.derived import Derived
from penstock.backends.api import LineText
from penstock.backends.native.proof import NotProvenError
from penstock.backends.spark.waterlines import typed_literal
from penstock.backends.spark.workspace import Workspace
from penstock.engine.constants import proven_constant


def native_lines(workspace: Workspace, lines: LineText | None) -> LineText | None:
    """The waterlines that `lines` gives as Spark SQL; Spark evaluates what is not proven."""
    if lines is None:
        return None

    def text(derived: Derived) -> str:
        constant = lines(derived)
        try:
            return proven_constant(constant).text
        except NotProvenError:
            return proven_constant(_evaluated(workspace, constant)).text

    return text


def _evaluated(workspace: Workspace, constant: str) -> str:
    frame = workspace.sql(f"SELECT {constant} AS line")
    (row,) = frame.collect()
    return typed_literal(row["line"], frame.schema["line"].dataType.simpleString())
