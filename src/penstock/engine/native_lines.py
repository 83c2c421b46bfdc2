"""Waterlines as constants of DuckDB's SQL."""

from __future__ import annotations

import pyarrow as pa

from penstock.analysis.derived import Derived, OfKeys
from penstock.backends.api import KeyedLines, Lines, LineText
from penstock.backends.native.kinds import from_arrow, stored
from penstock.backends.native.proof import NotProvenError, quoted
from penstock.backends.native.raised import text_literal
from penstock.backends.native.scalars import proven
from penstock.backends.spark.workspace import Workspace
from penstock.engine.constants import proven_constant


def native_lines(workspace: Workspace, lines: Lines | None) -> LineText | None:
    """The waterlines that `lines` gives as Spark SQL; Spark evaluates what is not proven."""
    if lines is None:
        return None

    def text(derived: Derived) -> str:
        if isinstance(derived, OfKeys):
            return _of_keys(derived, lines.of_keys(derived.source))
        constant = lines(derived)
        try:
            return proven_constant(constant).text
        except NotProvenError:
            return _evaluated(workspace, constant)

    return text


def _of_keys(line: OfKeys, lines: KeyedLines) -> str:
    """A query for the value that the keys of the row around it have; "NULL" where it is not proven to be that."""
    kinds, name = [stored(kind) for kind in lines.kinds], line.source.name
    names = [*(f"__key{place}" for place in range(len(line.keys))), name]
    rows = ", ".join(f"({', '.join(map(_value, [*keys, at], kinds))})" for keys, at in lines.rows if at is not None)
    if not rows:
        return "NULL"
    try:
        parts = [proven(part.form, {name: lines.kinds[-1]}).text for part in line.parts]
    except NotProvenError:
        return "NULL"
    value = parts[0] if len(parts) == 1 else f"least({', '.join(parts)})"
    same = " AND ".join(f"__key{place} IS NOT DISTINCT FROM {quoted(key)}" for place, key in enumerate(line.keys))
    return f"(SELECT max({value}) FROM (VALUES {rows}) AS __lines({', '.join(map(quoted, names))}) WHERE {same})"


def _value(value: object, kind: str) -> str:
    return f"CAST({'NULL' if value is None else text_literal(str(value))} AS {kind})"


def _evaluated(workspace: Workspace, constant: str) -> str:
    """The value that Spark gives, by its text in Arrow, which says all of a number and of a time in UTC."""
    frame = workspace.sql(f"SELECT {constant} AS line")
    kind = stored(frame.schema["line"].dataType.simpleString())
    (value,) = from_arrow(frame.toArrow()).column(0).cast(pa.string()).to_pylist()
    return f"CAST({'NULL' if value is None else text_literal(value)} AS {kind})"
