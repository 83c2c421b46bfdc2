"""Rows as text for people: aligned columns, or one line for each value where a terminal is too narrow for that.

    id | name                         -[ row 1 ]-
    ---+-----                         id   | 1
     1 | ann                          name | ann
    (1 row)                           (1 row)

Nothing is ever cut: a pipe gets the columns at any width.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from typing import Any, TextIO

LAYOUTS = ("auto", "table", "expanded")


def laid_out(
    title: str | None, columns: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool], width: int | None
) -> str:
    """The rows as text; expanded where the columns are wider than `width`, which None leaves open."""
    lines = _aligned(columns, rows, numeric)
    if width is not None and rows and max(map(len, lines)) > width:
        lines = _expanded(columns, rows)
    count = f"({len(rows)} row{'' if len(rows) == 1 else 's'})"
    return "\n".join([*([title] if title else []), *lines, count, ""])


def text_of(
    title: str | None,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    text: Callable[[Any], str],
    width: int | None = None,
) -> str:
    """The rows as `laid_out` gives them, each value as `text` writes it: on one line, numbers to the right."""
    cells = [[flat(text(value)) for value in row] for row in rows]
    numeric = [is_number([row[at] for row in rows]) for at in range(len(columns))]
    return laid_out(title, [flat(name) for name in columns], cells, numeric, width)


def width_for(stream: TextIO, layout: str | int) -> int | None:
    """The width that columns may have: the terminal's for `auto`, any (None) in a pipe or for `table`, else none."""
    if isinstance(layout, int):
        return layout
    if layout == "expanded":
        return 0
    return shutil.get_terminal_size().columns if layout == "auto" and stream.isatty() else None


def flat(text: str) -> str:
    """A text on one line."""
    return text.replace("\n", "\\n")


def is_number(values: Sequence[Any]) -> bool:
    """True if all values that are not NULL are numbers, and there are any."""
    known = [value for value in values if value is not None]
    return bool(known) and all(hasattr(value, "__float__") and not isinstance(value, bool) for value in known)


def _aligned(columns: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> list[str]:
    widths = [max([len(name), *(len(row[at]) for row in rows)]) for at, name in enumerate(columns)]
    rule = "-+-".join("-" * width for width in widths)
    return [_line(columns, widths, numeric), rule, *(_line(row, widths, numeric) for row in rows)]


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    aligned = (
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, numeric, strict=True)
    )
    return " | ".join(aligned).rstrip()


def _expanded(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    width = max(map(len, columns), default=0)
    lines = []
    for number, row in enumerate(rows, 1):
        lines.append(f"-[ row {number} ]-")
        lines += [f"{name:<{width}} | {cell}".rstrip() for name, cell in zip(columns, row, strict=True)]
    return lines
