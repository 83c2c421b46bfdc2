"""A bound query: its plan, the names of its columns, and what an enclosing query has to know of it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from penstock.bind.level import Level
from penstock.plan.nodes import Field, Plan


@dataclass(frozen=True)
class Bound:
    """A bound query: `names` are its columns, the plan's first fields; fields behind them are `carried`.

    `empty` is the value of a global aggregate's only column over no rows, None where that is NULL.
    """

    plan: Plan
    names: tuple[str, ...]
    level: Level | None = None
    empty: exp.Expression | None = None
    single_row: bool = False

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields of the query's columns."""
        return self.plan.fields[: len(self.names)]
