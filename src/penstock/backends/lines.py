"""Waterlines as Spark SQL: what a `Derived` says once the waterlines of its sources are known."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import Any

from penstock.analysis.derived import Derived, OfKeys, SourceColumn
from penstock.backends.api import KeyedLines
from penstock.backends.clock import clocked
from penstock.backends.waterlines import typed_literal
from penstock.catalog.types import Type
from penstock.plan.scalar import Scalar, parsed, quoted, scalar_of

_MOST_KNOWN = 100
# The waterline of a source as a literal of the column's type, NULL of that type before anything has been seen.
Literals = Callable[[SourceColumn], str]


def line_text(derived: Derived, literals: Literals, clock: datetime | None) -> str:
    """The present value as a constant Spark SQL expression, NULL where it is not known yet."""
    return _text(derived, tuple((source.name, literals(source)) for source in derived.sources), clock)


@lru_cache(_MOST_KNOWN)  # operators of a step ask for the same ones
def _text(derived: Derived, given: tuple[tuple[str, str], ...], clock: datetime | None) -> str:
    known = {name: scalar_of(parsed(literal)) for name, literal in given}
    rendered = clocked(clock)
    texts = [rendered(part.over(known)) for part in derived.parts]
    if len(texts) == 1:
        return texts[0]
    missing = " OR ".join(f"({text}) IS NULL" for text in texts)
    return f"CASE WHEN {missing} THEN NULL ELSE least({', '.join(texts)}) END"


def keyed_line_text(line: OfKeys, lines: KeyedLines, clock: datetime | None) -> str:
    """A query for the present value that the keys of the row around it have, NULL where they have none."""
    if not lines.rows:
        return f"CAST(NULL AS {lines.kinds[-1]})"
    names = [*(f"`__key{place}`" for place in range(len(line.keys))), quoted(line.source.name)]
    rows = ", ".join(
        f"({', '.join([*map(_key_literal, keys, lines.kinds[:-1]), typed_literal(at, lines.kinds[-1])])})"
        for keys, at in lines.rows
    )
    same = " AND ".join(f"`__key{place}` <=> {quoted(key)}" for place, key in enumerate(line.keys))
    value = line_text(Derived(line.parts, line.sources), lambda source: quoted(source.name), clock)
    return f"(SELECT max({value}) FROM VALUES {rows} AS __lines({', '.join(names)}) WHERE {same})"


def _key_literal(value: Any, kind: Type) -> str:
    text = "NULL" if value is None else "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"
    return f"CAST({text} AS {kind})"


def alone(derived: Derived) -> SourceColumn | None:
    """The source whose waterline this is, unchanged; None if it is computed."""
    part: Scalar = derived.parts[0]
    if len(derived.parts) > 1 or part.column is None:
        return None
    return next(source for source in derived.sources if source.name == part.column)
