"""Joins: kinds, USING and NATURAL, the condition split into keys and the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlglot import exp

from penstock.bind.diagnose import NotIncremental, ReadsAround, unknown_column, unsupported, wrong
from penstock.bind.level import Level, NeedDomain, fields_of, scalar_of
from penstock.bind.scope import Scope, Visible
from penstock.bind.trees import OUTER, SUBQUERY, call, conjunction, conjuncts, has_mark
from penstock.catalog.types import INTEGRAL, Type, is_decimal
from penstock.plan.nodes import ANTI, FULL, INNER, LEFT, RIGHT, SEMI, Filter, Join, JoinKey, Plan
from penstock.plan.scalar import Scalar
from penstock.types.common import common_type

Relation = tuple[Plan, Scope]


def joined(left: Plan, scope: Scope, join: exp.Join, level: Level) -> Relation:
    """What FROM has so far, joined with one more relation; PIVOT and UNPIVOT behind a join are over all of that."""
    from penstock.bind.from_.pivots import bind_pivots

    plan, scope = _joined(left, scope, join, level)
    if not join.args.get("pivots"):
        return plan, scope
    level.see(plan)
    return bind_pivots(plan, scope, join, level)


def _joined(left: Plan, scope: Scope, join: exp.Join, level: Level) -> Relation:
    from penstock.bind.from_.generators import is_lateral
    from penstock.bind.from_.laterals import bind_around, bind_lateral
    from penstock.bind.from_.relations import bind_relation

    level.see(left)
    level.scope = scope
    asof = join.args.get("method") == "ASOF"
    if join.args.get("match_condition") is not None and not asof:
        raise wrong(code="ASOF_MATCH", message="MATCH_CONDITION belongs to an ASOF JOIN", place=join)
    if is_lateral(join.this):
        if asof:
            message, hint = "an ASOF JOIN with what reads the rows before it", "put that into a query of its own"
            raise unsupported(code="JOIN_KIND", message=message, place=join, hint=hint)
        return bind_lateral(left, scope, join, level)
    kind = kind_of(join)
    if level.context.domain is not None and kind in (RIGHT, FULL):
        reason = f"a {kind.upper()} JOIN in a correlated subquery"
        raise NotIncremental(reason, join)
    try:
        right, other = bind_relation(join.this, level)
    except ReadsAround as error:
        if error.tree is not join.this or asof or join.args.get("using") or join.args.get("method"):
            raise
        return bind_around(left, scope, join, level)
    for item in join.this.args.get("joins") or []:
        right, other = joined(right, other, item, level)
    if asof:
        from penstock.bind.from_.asof import bind_asof

        return bind_asof(left, right, (scope, other), join, level)
    if join.args.get("using") or join.args.get("method") == "NATURAL":
        return _using(left, right, (scope, other), join, kind)
    both = scope.beside(other)
    level.scope = both
    plan = on_condition(left, right, kind, join, level)
    return plan, (scope if kind in (SEMI, ANTI) else both)


def kind_of(join: exp.Join) -> str:
    """The plan's kind of a parsed join."""
    side, kind = str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper()
    if kind in ("SEMI", "ANTI"):
        return SEMI if kind == "SEMI" else ANTI
    found = {"LEFT": LEFT, "RIGHT": RIGHT, "FULL": FULL, "": INNER}.get(side)
    if found is None or kind not in ("", "INNER", "CROSS", "OUTER"):
        raise unsupported(code="JOIN_KIND", message=f"a {side} {kind} JOIN", place=join)
    return found


def on_condition(
    left: Plan, right: Plan, kind: str, join: exp.Join, level: Level, *, keys: tuple[JoinKey, ...] = ()
) -> Plan:
    """Both sides joined on what ON says, and on the keys; the level sees both. Without ON all rows match."""
    from penstock.bind.expressions import bind
    from penstock.bind.from_.askingjoins import joined_asking

    condition = join.args.get("on")
    if condition is None:
        return Join(left, right, kind, keys)
    level.see(right)
    parts = list(conjuncts(bind(condition, level)))
    if any(has_mark(part, OUTER) for part in parts):
        raise NeedDomain
    if any(has_mark(part, SUBQUERY) for part in parts):
        return joined_asking((left, right), kind, keys, parts, level)
    plan = join_on(left, right, kind, parts)
    return replace(plan, keys=keys + plan.keys)


def join_on(left: Plan, right: Plan, kind: str, parts: Iterable[exp.Expression]) -> Join:
    """A join whose bound condition is the conjunction of the parts."""
    keys: list[JoinKey] = []
    rest: list[exp.Expression] = []
    for part in parts:
        key = _key(part, left, right)
        if key is None:
            rest.append(part)
        else:
            keys.append(key)
    whole = conjunction(rest)
    fields = fields_of(left) | fields_of(right)
    return Join(left, right, kind, tuple(keys), None if whole is None else scalar_of(whole, fields))


def _key(part: exp.Expression, left: Plan, right: Plan) -> JoinKey | None:
    if not isinstance(part, exp.EQ | exp.NullSafeEQ):
        return None
    one, two = columns_read(part.this), columns_read(part.expression)
    lefts, rights = set(left.names), set(right.names)
    safe = isinstance(part, exp.NullSafeEQ)
    if one and two and one <= lefts and two <= rights:
        return aligned(
            scalar_of(part.this, fields_of(left)), scalar_of(part.expression, fields_of(right)), null_safe=safe
        )
    if one and two and one <= rights and two <= lefts:
        return aligned(
            scalar_of(part.expression, fields_of(left)), scalar_of(part.this, fields_of(right)), null_safe=safe
        )
    return None


def columns_read(tree: exp.Expression) -> set[str]:
    """The names of the columns in a tree."""
    return {node.name for node in tree.find_all(exp.Column)}


def aligned(left: Scalar, right: Scalar, *, null_safe: bool = False) -> JoinKey:
    """A join key with both sides of one type, where both are known numbers of different types."""
    kind = common_type([left.type, right.type])
    if kind is None or left.type == right.type or not (kind in INTEGRAL or is_decimal(kind)):
        return JoinKey(left, right, null_safe)
    return JoinKey(_cast(left, kind), _cast(right, kind), null_safe)


def _cast(scalar: Scalar, kind: Type) -> Scalar:
    from penstock.bind.expressions import data_type

    if scalar.type == kind:
        return scalar
    tree = exp.Cast(this=scalar.tree.copy(), to=data_type(kind))
    return Scalar(f"CAST({scalar.text} AS {kind.upper()})", tree, kind, scalar.nullable, scalar.span)


def _using(left: Plan, right: Plan, scopes: tuple[Scope, Scope], join: exp.Join, kind: str) -> Relation:
    """USING and NATURAL: equal columns appear once, in front."""
    pairs = shared_columns(join, *scopes)
    if not pairs:
        return Join(left, right, kind), scopes[0].beside(scopes[1])
    return Join(left, right, kind, equalities_of(pairs, left, right)), merged_scope(pairs, scopes, kind)


Pair = tuple[Visible, Visible]


def shared_columns(join: exp.Join, one: Scope, two: Scope) -> list[Pair]:
    """The columns that USING or NATURAL compares, as both sides see them."""
    pairs: list[Pair] = []
    for name, place in _common_names(join, one, two):
        first, second = one.unqualified(name, place), two.unqualified(name, place)
        if first is None or second is None:
            side = one if first is None else two
            raise unknown_column(name, side.names(), place)
        pairs.append((first, second))
    return pairs


def equalities_of(pairs: Iterable[Pair], left: Plan, right: Plan) -> tuple[JoinKey, ...]:
    """Their equalities."""
    return tuple(
        aligned(scalar_of(first.tree, fields_of(left)), scalar_of(second.tree, fields_of(right)))
        for first, second in pairs
    )


def merged_scope(pairs: Sequence[Pair], scopes: tuple[Scope, Scope], kind: str) -> Scope:
    """What is visible behind the join: shared columns once."""
    one, two = scopes
    if kind in (SEMI, ANTI):
        return one.merging(tuple(first for first, _ in pairs), frozenset(first.field for first, _ in pairs))
    hidden = frozenset(item.field for pair in pairs for item in pair if item.field)
    merged = tuple(Visible(first.name, _merged(first, second, kind)) for first, second in pairs)
    return one.beside(two).merging(merged, hidden)


def _merged(left: Visible, right: Visible, kind: str) -> exp.Expression:
    if kind == FULL:
        return call("coalesce", left.tree.copy(), right.tree.copy())
    return (right if kind == RIGHT else left).tree.copy()


def _common_names(join: exp.Join, left: Scope, right: Scope) -> list[tuple[str, exp.Expression]]:
    if join.args.get("using"):
        return [(part.name, part) for part in join.args["using"]]
    names = {item.name.lower() for item in right.star() or ()}
    return [(item.name, join) for item in left.star() or () if item.name.lower() in names]


def keep(plan: Plan, condition: exp.Expression | None) -> Plan:
    """The rows for which a bound condition holds."""
    return plan if condition is None else Filter(plan, scalar_of(condition, fields_of(plan)))
