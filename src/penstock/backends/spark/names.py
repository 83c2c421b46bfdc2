"""Names of relations and columns in the text of queries."""

from __future__ import annotations

import itertools

from penstock.plan.scalar import quoted

_UNIQUE = itertools.count()


def new_name() -> str:
    """A name that no other temporary view of this process has."""
    return f"penstock_{next(_UNIQUE)}"


def columns_text(names: tuple[str, ...]) -> str:
    """Names as a list of Spark SQL."""
    return ", ".join(quoted(name) for name in names)
