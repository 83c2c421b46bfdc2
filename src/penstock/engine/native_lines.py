"""Waterlines as constants of DuckDB's SQL."""

from __future__ import annotations

import pyarrow as pa

from penstock.analysis.derived import Derived
from penstock.backends.api import LineText
from penstock.backends.native.kinds import from_arrow, stored
from penstock.backends.native.proof import NotProvenError
from penstock.backends.native.raised import text_literal
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
            return _evaluated(workspace, constant)

    return text


def _evaluated(workspace: Workspace, constant: str) -> str:
    """The value that Spark gives, by its text in Arrow, which says all of a number and of a time in UTC."""
    frame = workspace.sql(f"SELECT {constant} AS line")
    kind = stored(frame.schema["line"].dataType.simpleString())
    (value,) = from_arrow(frame.toArrow()).column(0).cast(pa.string()).to_pylist()
    return f"CAST({'NULL' if value is None else text_literal(value)} AS {kind})"
