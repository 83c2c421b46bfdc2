"""The values that a statement writes down, with their places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from penstock.errors import Span
from penstock.sql.statements import Insert
from penstock.sql.text import span_of


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of VALUES: its text if it is a literal, and whether that stands in quotes."""

    text: str | None
    quoted: bool
    span: Span | None


def rows_of(statement: Insert) -> Iterator[tuple[Cell, ...]]:
    """The rows of an INSERT's VALUES, none for another source."""
    values = statement.source.find(exp.Values)
    for row in () if values is None else values.expressions:
        cells = row.expressions if isinstance(row, exp.Tuple) else [row]
        yield tuple(Cell(_text(cell), bool(cell.is_string), span_of(cell)) for cell in cells)


def _text(cell: exp.Expression) -> str | None:
    if isinstance(cell, exp.Neg) and isinstance(cell.this, exp.Literal):
        return f"-{cell.this.this}"
    return str(cell.this) if isinstance(cell, exp.Literal) else None
