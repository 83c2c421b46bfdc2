"""Waterlines as constants of DuckDB's SQL."""

from __future__ import annotations

import re

from penstock.analysis.derived import Derived
from penstock.backends.api import LineText
from penstock.backends.native.proof import NotProvenError
from penstock.backends.native.scalars import proven
from penstock.backends.spark.waterlines import typed_literal
from penstock.backends.spark.workspace import Workspace
from penstock.plan.scalar import parsed

_IN_UTC = re.compile(r"(?:\+00:00| UTC)'")


def native_lines(workspace: Workspace, lines: LineText | None) -> LineText | None:
    """The waterlines that `lines` gives as Spark SQL; Spark evaluates what is not proven."""
    if lines is None:
        return None

    def text(derived: Derived) -> str:
        constant = lines(derived)
        try:
            return _proven(constant)
        except NotProvenError:
            return _proven(_evaluated(workspace, constant))

    return text


def _proven(constant: str) -> str:
    """A constant as DuckDB's SQL; times that say that they are in UTC are, whether they say it or not."""
    return proven(parsed(_IN_UTC.sub("'", constant)), {}).text


def _evaluated(workspace: Workspace, constant: str) -> str:
    frame = workspace.sql(f"SELECT {constant} AS line")
    (row,) = frame.collect()
    return typed_literal(row["line"], frame.schema["line"].dataType.simpleString())
