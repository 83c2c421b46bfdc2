"""Joins whose condition asks subqueries.

    INNER             the join, and what asks is a condition on its rows
    any other kind    the subqueries are values of the side that they read; the join compares those

What `NOT IN` says about NULL there depends on Spark's optimizer: a condition on one side alone goes to that side where
rows without a match are not kept, and is SQL's; elsewhere a NULL counts as not in the answer. Neither is taken for
granted: such a query is recomputed.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.bind.diagnose import NotIncremental
from penstock.bind.join_keys import columns_read, join_on
from penstock.bind.level import Level
from penstock.bind.marks import DENIED, SUBQUERY, has_mark, is_mark
from penstock.bind.scalars import fields_of, scalar_of
from penstock.bind.subqueries.attach import attached, filtered, is_subquery, subquery_of
from penstock.bind.subqueries.membership import denials_named
from penstock.plan.nodes import JoinKey, JoinKind, Plan, Project
from penstock.plan.scalar import column
from penstock.sql.complaints import unsupported
from penstock.sql.text import spark_sql
from penstock.sql.trees import nodes, replace_nodes

_ASKED_BEFORE = {
    JoinKind.INNER: (0, 1),
    JoinKind.SEMI: (0, 1),
    JoinKind.LEFT: (1,),
    JoinKind.ANTI: (1,),
    JoinKind.RIGHT: (0,),
    JoinKind.FULL: (),
}
"""The sides whose own conditions Spark asks before it joins."""


def joined_asking(
    sides: tuple[Plan, Plan], kind: JoinKind, keys: tuple[JoinKey, ...], parts: list[exp.Expression], level: Level
) -> Plan:
    """The join on the keys and on the bound parts of its condition, some of which ask subqueries."""
    for part in parts:
        _refuse_open_denial(part, sides, kind, level)
    if kind == JoinKind.INNER:
        plan = join_on(*sides, kind, [part for part in parts if not has_mark(part, SUBQUERY)])
        asking = [part for part in parts if has_mark(part, SUBQUERY)]
        return filtered(replace(plan, keys=keys + plan.keys), asking, level)
    left, right, parts = _attached(sides, kind, parts, level)
    plan = join_on(left, right, kind, parts)
    plan = replace(plan, keys=keys + plan.keys)
    names = sides[0].names if kind in (JoinKind.SEMI, JoinKind.ANTI) else (*sides[0].names, *sides[1].names)
    fields = fields_of(plan)
    return Project(plan, tuple((name, column(name, fields[name].type, fields[name].nullable)) for name in names))


def _refuse_open_denial(part: exp.Expression, sides: tuple[Plan, Plan], kind: JoinKind, level: Level) -> None:
    """Raise NotIncremental for a NOT IN that may meet NULL where Spark asks it in the join."""
    if any(columns_read(part) <= set(sides[side].names) for side in _ASKED_BEFORE[kind]):
        return
    fields = fields_of(sides[0]) | fields_of(sides[1])
    for mark in nodes(denials_named(part, level)):
        if not is_mark(mark, DENIED):
            continue
        found, needles, _ = subquery_of(mark, level)
        nullable = [scalar_of(item, fields).nullable for item in needles if not has_mark(item, SUBQUERY)]
        nullable += [item.nullable for item in found.bound.fields]
        if len(nullable) < 2 * len(needles) or any(nullable):
            reason = "a NOT IN that may meet NULL, beside the other side in the condition of a join"
            raise NotIncremental(reason, found.tree, rewriting="NOT EXISTS, if the compared values are never NULL")


def _attached(
    sides: tuple[Plan, Plan], kind: JoinKind, parts: list[exp.Expression], level: Level
) -> tuple[Plan, Plan, list[exp.Expression]]:
    """Both sides with the values of the subqueries that read them, and the condition over those."""
    left, right = sides
    parts = [denials_named(part, level) for part in parts]
    marks = [node for part in parts for node in nodes(part, down_to=is_subquery) if is_subquery(node)]
    of_left = [mark for mark in marks if columns_read(mark) and columns_read(mark) <= set(left.names)]
    of_right = [mark for mark in marks if mark not in of_left]
    both = next((mark for mark in of_right if not columns_read(mark) <= set(right.names)), None)
    if both is not None:  # Spark could not recompute it either
        message = f"a subquery in the condition of a {kind.value.upper()} JOIN that reads both sides of it"
        place = subquery_of(both, level)[0].tree
        hint = "join what it reads of one side there, in a query in FROM, and compare its column"
        raise unsupported(code="SUBQUERY_OF_BOTH_SIDES", message=message, place=place, hint=hint)
    left, left_values = attached(left, of_left, level)
    right, right_values = attached(right, of_right, level)
    pairs = zip([*of_left, *of_right], [*left_values, *right_values], strict=True)
    values = {spark_sql(mark): value for mark, value in pairs}

    def value_of(node: exp.Expression) -> exp.Expression | None:
        return values.get(spark_sql(node)) if is_subquery(node) else None

    return left, right, [replace_nodes(part, value_of) for part in parts]
