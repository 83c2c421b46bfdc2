"""Waterlines as Spark SQL: what a `Derived` says once the waterlines of its sources are known."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from penstock.analysis.derived import Derived, SourceColumn
from penstock.backends.spark.workspace import clocked
from penstock.plan.scalar import Scalar, parsed, scalar_of

# The waterline of a source as a literal of the column's type, NULL of that type before anything has been seen.
Literals = Callable[[SourceColumn], str]


def line_text(derived: Derived, literals: Literals, clock: datetime | None) -> str:
    """The present value as a constant Spark SQL expression, NULL where it is not known yet."""
    known = {source.name: scalar_of(parsed(literals(source))) for source in derived.sources}
    rendered = clocked(clock)
    texts = [rendered(part.over(known)) for part in derived.parts]
    if len(texts) == 1:
        return texts[0]
    missing = " OR ".join(f"({text}) IS NULL" for text in texts)
    return f"CASE WHEN {missing} THEN NULL ELSE least({', '.join(texts)}) END"


def alone(derived: Derived) -> SourceColumn | None:
    """The source whose waterline this is, unchanged; None if it is computed."""
    part: Scalar = derived.parts[0]
    if len(derived.parts) > 1 or part.column is None:
        return None
    return next(source for source in derived.sources if source.name == part.column)
