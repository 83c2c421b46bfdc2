"""LATERAL in FROM: functions and subqueries that read the relations before them, with ON or without.

A subquery is bound once for all distinct values that it reads (`subqueries.py`), and joined on them.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.bind.domain import NeedDomain
from penstock.bind.from_.derived import bind_apart
from penstock.bind.from_.generators import generated
from penstock.bind.from_.join_condition import on_condition
from penstock.bind.from_.join_kind import kind_of
from penstock.bind.level import Level
from penstock.bind.marks import OUTER, has_mark
from penstock.bind.relation import ONE_ROW, aliased
from penstock.bind.scalars import fields_of, scalar_of
from penstock.bind.scope import Scope
from penstock.bind.subqueries.attach import filtered, with_domain
from penstock.bind.subqueries.over_domain import bind_over_domain
from penstock.plan.nodes import JoinKey, JoinKind, Plan, Project
from penstock.plan.scalar import column
from penstock.sql.complaints import wrong
from penstock.sql.trees import conjuncts


def bind_lateral(left: Plan, scope: Scope, join: exp.Join, level: Level) -> tuple[Plan, Scope]:
    """A lateral item of FROM beside the relations before it."""
    tree, kind = join.this, kind_of(join)
    if kind not in (JoinKind.INNER, JoinKind.LEFT) or join.args.get("using") or join.args.get("method"):
        message = "LATERAL is joined by a comma, CROSS JOIN, JOIN … ON or LEFT JOIN … ON"
        raise wrong(code="LATERAL_JOIN", message=message, place=join)
    join = _without_truth(join)
    if isinstance(tree, exp.Lateral) and isinstance(tree.this, exp.Subquery):
        return _lateral_query(left, scope, join, level, tree.this.this)
    if (
        kind == JoinKind.LEFT and join.args.get("on") is not None
    ):  # a row without a match stays, which a generator cannot tell
        rows = exp.Select(expressions=[exp.Star()], from_=exp.From(this=tree.copy()))
        return _lateral_query(left, scope, join, level, rows)
    plan, relation = generated(left, tree, level, outer=kind == JoinKind.LEFT)
    scope = scope.beside(Scope((relation,)))
    return _where(plan, scope, join, level), scope


def _without_truth(join: exp.Join) -> exp.Join:
    condition = join.args.get("on")
    if isinstance(condition, exp.Boolean) and condition.this:
        join = join.copy()
        join.set("on", None)
    return join


def bind_around(left: Plan, scope: Scope, join: exp.Join, level: Level) -> tuple[Plan, Scope]:
    """A derived table in a subquery that reads the query around that: lateral, but blind to what stands before it."""
    if level.context.domain is None:
        raise NeedDomain
    return _lateral_query(left, scope, join, level, join.this.this, sees=Scope())


def _where(plan: Plan, scope: Scope, join: exp.Join, level: Level) -> Plan:
    """The rows for which ON holds."""
    condition = join.args.get("on")
    if condition is None:
        return plan
    level.scope = scope
    parts = list(conjuncts(level.bind(condition)))
    if any(has_mark(part, OUTER) for part in parts):
        raise NeedDomain
    return filtered(plan, parts, level)


def _lateral_query(
    left: Plan, scope: Scope, join: exp.Join, level: Level, query: exp.Expression, *, sees: Scope | None = None
) -> tuple[Plan, Scope]:
    """LATERAL (SELECT …): bound for all distinct values that it reads of the relations before it."""
    inner = Level(level.context, scope if sees is None else sees)
    inner.remember_fields(left)
    bound, domain, outers = bind_over_domain(query, inner)
    if not outers:  # it reads nothing of them: a derived table
        right, other = aliased(bind_apart(query, level.context), join.this, level, "__lateral")
        return _beside(left, right, (scope, other), join, level)
    if any(has_mark(tree, OUTER) for tree in outers):
        raise NeedDomain
    plan = with_domain(bound.plan, domain.leaf, left, outers)
    right, other = aliased(bound, join.this, level, "__lateral")
    items = right.items if isinstance(right, Project) else ()
    carried = tuple((name, column(name, plan.field(name).type)) for name in domain.leaf.names)
    right = Project(plan, items + carried)
    one = fields_of(left)
    keys = tuple(
        JoinKey(scalar_of(tree, one), column(name), null_safe=True)
        for tree, name in zip(outers, domain.leaf.names, strict=True)
    )
    return _beside(left, right, (scope, other), join, level, keys=keys)


def _beside(
    left: Plan,
    right: Plan,
    scopes: tuple[Scope, Scope],
    join: exp.Join,
    level: Level,
    *,
    keys: tuple[JoinKey, ...] = (),
) -> tuple[Plan, Scope]:
    kind = kind_of(join)
    level.scope = scopes[0].beside(scopes[1])
    if left == ONE_ROW and join.args.get("on") is None:
        return right, level.scope
    plan = on_condition(left, right, kind, join, level, keys=keys)
    return plan, scopes[0] if kind in (JoinKind.SEMI, JoinKind.ANTI) else level.scope
