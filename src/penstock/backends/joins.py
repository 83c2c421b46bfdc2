"""Joins as SQL, over the queries of both sides, which are `__left` and `__right` there."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.backends.dialect import Carry, Dialect
from penstock.plan.nodes import Join, JoinKind


def join_query(dialect: Dialect, plan: Join, left: str, right: str, carry: Carry) -> str:
    """The query of a join: its fields, then what is carried, in which rows must agree."""
    if plan.null_aware:
        return dialect.not_in(plan, left, right, carry)
    return joined(dialect, plan, (left, right), [dialect.equal(plan, pair) for pair in plan.keys], carry)


def joined(dialect: Dialect, plan: Join, sides: tuple[str, str], equal: Sequence[str], carry: Carry) -> str:
    """The query of a join whose keys have been compared."""
    on = " AND ".join([*equal, *others(dialect, plan, carry)]) or "true"
    items = [*(dialect.quoted(item.name) for item in plan.fields), *_carried(dialect, plan, carry)]
    listed = ", ".join(items) or f"1 AS {dialect.quoted('__none')}"
    left, right = sides
    return f"SELECT {listed} FROM ({left}) __left {_words(dialect, plan.kind)} JOIN ({right}) __right ON {on}"


def join_condition(dialect: Dialect, plan: Join) -> str:
    """The condition of a join over the columns of both sides, whose names do not clash."""
    return " AND ".join([*(dialect.equal(plan, pair) for pair in plan.keys), *others(dialect, plan, ())]) or "true"


def others(dialect: Dialect, plan: Join, carry: Carry) -> list[str]:
    """The conditions besides the equality of keys."""
    found = [] if plan.residual is None else [dialect.residual(plan, plan.residual)]
    return found + [f"__left.{name} = __right.{name}" for name in map(dialect.quoted, carry)]


def _words(dialect: Dialect, kind: JoinKind) -> str:
    if kind in (JoinKind.SEMI, JoinKind.ANTI):
        return f"{dialect.one_sided}{kind.value.upper()}"
    return "INNER" if kind == JoinKind.INNER else f"{kind.value.upper()} OUTER"


def _carried(dialect: Dialect, plan: Join, carry: Carry) -> list[str]:
    names = map(dialect.quoted, carry)
    if plan.kind in (JoinKind.FULL, JoinKind.RIGHT):
        return [f"coalesce(__left.{name}, __right.{name}) AS {name}" for name in names]
    return [f"__left.{name}" for name in names]
