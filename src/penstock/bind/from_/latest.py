"""LATEST JOIN of Timeplus: the last row of the right side for each key, by arrival, joined with the left rows.

L LATEST JOIN R ON L.k = R.k        L JOIN changelog(R, k) ON L.k = R.k
"""

from __future__ import annotations

from sqlglot import exp

from penstock.bind.from_.using import equalities_of, shared_columns
from penstock.bind.join_keys import equalities_on
from penstock.bind.level import Level
from penstock.bind.scalars import fields_of, scalar_of
from penstock.bind.scope import Scope
from penstock.bind.windows.arrival import position_of
from penstock.plan.nodes import JoinKey, Plan, SortKey, TopK
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.trees import conjuncts


def latest_rows(left: Plan, right: Plan, scopes: tuple[Scope, Scope], join: exp.Join, level: Level) -> Plan:
    """The rows of the right side that a LATEST JOIN of any kind can meet; its ON has equalities alone."""
    keys = _keys(left, right, scopes, join, level)
    if not keys or len(scopes[1].relations) != 1:
        message = "a LATEST JOIN of two relations needs the key of which the last row counts"
        raise wrong(code="LATEST_JOIN", message=message, place=join, hint="ON a.k = b.k")
    level.scope = scopes[1]
    position = scalar_of(position_of(scopes[1].relations[0], join, level), fields_of(right))
    return TopK(right, tuple(key.right for key in keys), (SortKey(position, descending=True, nulls_first=False),), 1)


def _keys(left: Plan, right: Plan, scopes: tuple[Scope, Scope], join: exp.Join, level: Level) -> tuple[JoinKey, ...]:
    if join.args.get("using"):
        return equalities_of(shared_columns(join, *scopes), left, right)
    condition = join.args.get("on")
    if condition is None:
        return ()
    level.scope = scopes[0].beside(scopes[1])
    level.remember_fields(right)
    keys = equalities_on(left, right, conjuncts(level.bind(condition)))
    if keys is None:
        hint = "conditions on the last row go into WHERE, others into a query: LATEST JOIN (SELECT … WHERE …)"
        message = "ON of a LATEST JOIN with more than equalities"
        raise unsupported(code="LATEST_JOIN", message=message, place=condition, hint=hint)
    return keys
