"""A bound query: its plan, the names of its columns, and what an enclosing query has to know of it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from penstock.errors import Diagnostic
from penstock.plan.nodes import Field, Plan


@dataclass(frozen=True)
class OuterKey:
    """`inner = outer` in WHERE of a subquery, which hands `inner` out as the field `name`.

    Both are bound, `outer` over the fields of the enclosing query. With `null_safe`, NULL equals NULL.
    """

    name: str
    inner: exp.Expression
    outer: exp.Expression
    null_safe: bool


@dataclass(frozen=True)
class Correlation:
    """The ties of one SELECT to the query around it: equalities, and conditions that only a join can carry whole."""

    keys: tuple[OuterKey, ...] = ()
    residual: tuple[exp.Expression, ...] = ()


@dataclass(frozen=True)
class BoundQuery:
    """A bound query: `names` are its columns, the plan's first fields; fields behind them are `carried`.

    `correlation` is None for what is more than one SELECT, which no key ties to anything. `empty` is the value of a
    global aggregate's only column over no rows, None where that is NULL. `warnings` are of words that mean something
    else in the system that its dialect is named after; `meanings` are the rules by which words got that meaning.
    """

    plan: Plan
    names: tuple[str, ...]
    correlation: Correlation | None = None
    empty: exp.Expression | None = None
    single_row: bool = False
    warnings: tuple[Diagnostic, ...] = ()
    meanings: frozenset[str] = frozenset()

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields of the query's columns."""
        return self.plan.fields[: len(self.names)]
