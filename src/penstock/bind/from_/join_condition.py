"""ON: both sides of a join on what its condition says."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.bind.domain import NeedDomain
from penstock.bind.from_.join_subqueries import joined_asking
from penstock.bind.join_keys import join_on
from penstock.bind.level import Level
from penstock.bind.marks import OUTER, SUBQUERY, has_mark
from penstock.plan.nodes import Join, JoinKey, JoinKind, Plan
from penstock.sql.trees import conjuncts


def on_condition(
    left: Plan, right: Plan, kind: JoinKind, join: exp.Join, level: Level, *, keys: tuple[JoinKey, ...] = ()
) -> Plan:
    """Both sides joined on what ON says, and on the keys; the level sees both. Without ON all rows match."""
    condition = join.args.get("on")
    if condition is None:
        return Join(left, right, kind, keys)
    level.remember_fields(right)
    parts = list(conjuncts(level.bind_condition(condition, "ON")))
    if any(has_mark(part, OUTER) for part in parts):
        raise NeedDomain
    if any(has_mark(part, SUBQUERY) for part in parts):
        return joined_asking((left, right), kind, keys, parts, level)
    plan = join_on(left, right, kind, parts)
    return replace(plan, keys=keys + plan.keys)
