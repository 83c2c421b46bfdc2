"""A window of time in GROUP BY, as the rest of its query sees it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp


@dataclass(frozen=True)
class GroupWindow:
    """One call in GROUP BY: its name, its bound arguments as text, and both ends of a row's window."""

    name: str
    arguments: tuple[str, ...]
    start: exp.Expression
    end: exp.Expression
