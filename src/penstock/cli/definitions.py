"""SHOW CREATE: the statements that declare a table or a view, as they can be typed again."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.catalog.model import Column, Lateness, Table, View
from penstock.plan.scalar import quoted


def definition(relation: Table | View) -> str:
    """The statements, each with its semicolon: a view's LATENESS stands behind it, its DECLARE before it."""
    found = (relation.text,) if isinstance(relation, Table) else _view(relation)
    return "\n".join(f"{statement};" for statement in found)


def _view(view: View) -> Iterator[str]:
    if view.recursive:
        yield f"DECLARE RECURSIVE VIEW {quoted(view.name)} ({', '.join(map(_typed, view.columns))})"
    if view.declaration:
        yield view.declaration
    for name, lateness in view.lateness.items():
        yield f"LATENESS {quoted(view.name)}.{quoted(name)} {_bound(lateness)}"


def _typed(column: Column) -> str:
    return f"{quoted(column.name)} {column.type}{'' if column.nullable else ' NOT NULL'}"


def _bound(lateness: Lateness) -> str:
    bound = lateness.bound if lateness.rows is None else f"{lateness.rows} ROWS"
    return bound if lateness.ahead is None else f"{bound} AHEAD {lateness.ahead}"
