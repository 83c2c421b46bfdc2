"""A window of time in GROUP BY, as the rest of its query sees it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from penstock.sql.trees import same


@dataclass(frozen=True)
class GroupWindow:
    """One call in GROUP BY: its name, its bound arguments as text, and both ends of a row's window."""

    name: str
    arguments: tuple[str, ...]
    start: exp.Expression
    end: exp.Expression

    @property
    def follows(self) -> bool:
        """True if the end of a window is computed from its start; by clocks that change it is from the row's time."""
        start = same(self.start)
        return any(isinstance(node, exp.Expression) and same(node) == start for node in self.end.walk())
