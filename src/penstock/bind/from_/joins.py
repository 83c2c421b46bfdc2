"""JOIN: what FROM has so far, joined with one more relation."""

from __future__ import annotations

from sqlglot import exp

from penstock.bind.diagnose import NotIncremental, ReadsAround
from penstock.bind.from_.asof import bind_asof
from penstock.bind.from_.generators import is_lateral
from penstock.bind.from_.join_condition import on_condition
from penstock.bind.from_.join_kind import kind_of
from penstock.bind.from_.laterals import bind_around, bind_lateral
from penstock.bind.from_.latest import latest_rows
from penstock.bind.from_.lookups import as_of_arrival, is_as_of_now, is_lookup
from penstock.bind.from_.pivots import bind_pivots
from penstock.bind.from_.using import equalities_of, merged_scope, shared_columns
from penstock.bind.from_.versions import as_of_each_row, moves_with
from penstock.bind.level import Level
from penstock.bind.scope import Relation, Scope
from penstock.plan.nodes import Join, JoinKind, Plan
from penstock.sql.complaints import unsupported, wrong


def joined(left: Plan, scope: Scope, join: exp.Join, level: Level) -> Relation:
    """FROM so far, joined with one more relation; PIVOT and UNPIVOT behind a join are over all of that."""
    plan, scope = _joined(left, scope, join, level)
    if not join.args.get("pivots"):
        return plan, scope
    level.remember_fields(plan)
    return bind_pivots(plan, scope, join, level)


def _joined(left: Plan, scope: Scope, join: exp.Join, level: Level) -> Relation:
    level.remember_fields(left)
    level.scope = scope
    asof = join.args.get("method") == "ASOF"
    if join.args.get("match_condition") is not None and not asof:
        raise wrong(code="ASOF_MATCH", message="MATCH_CONDITION belongs to an ASOF JOIN", place=join)
    if is_lateral(join.this):
        if asof:
            message, hint = "an ASOF JOIN with what reads the rows before it", "put that into a query of its own"
            raise unsupported(code="JOIN_KIND", message=message, place=join, hint=hint)
        return bind_lateral(left, scope, join, level)
    if is_as_of_now(join.this, level):
        return as_of_arrival(left, scope, join, level)
    if moves_with(join.this, scope, level):
        if is_lookup(left, scope, join.this, level):
            return as_of_arrival(left, scope, join, level)
        return as_of_each_row(left, scope, join, level)
    kind = kind_of(join)
    if level.context.domain is not None and kind in (JoinKind.RIGHT, JoinKind.FULL):
        reason = f"a {kind.value.upper()} JOIN in a correlated subquery"
        raise NotIncremental(reason, join)
    try:
        right, other = level.bind_relation(join.this)
    except ReadsAround as error:
        if error.tree is not join.this or asof or join.args.get("using") or join.args.get("method"):
            raise
        return bind_around(left, scope, join, level)
    for item in join.this.args.get("joins") or []:
        right, other = joined(right, other, item, level)
    if asof:
        return bind_asof(left, right, (scope, other), join, level)
    if join.args.get("method") == "LATEST":
        right = latest_rows(left, right, (scope, other), join, level)
    if join.args.get("using") or join.args.get("method") == "NATURAL":
        return _using(left, right, (scope, other), join, kind)
    both = scope.beside(other)
    level.scope = both
    plan = on_condition(left, right, kind, join, level)
    return plan, (scope if kind in (JoinKind.SEMI, JoinKind.ANTI) else both)


def _using(left: Plan, right: Plan, scopes: tuple[Scope, Scope], join: exp.Join, kind: JoinKind) -> Relation:
    """USING and NATURAL: equal columns appear once, in front."""
    pairs = shared_columns(join, *scopes)
    if not pairs:
        return Join(left, right, kind), scopes[0].beside(scopes[1])
    return Join(left, right, kind, equalities_of(pairs, left, right)), merged_scope(pairs, scopes, kind)
