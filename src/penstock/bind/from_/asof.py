"""ASOF JOIN: each left row with the one right row that matches and lies closest.

    L ASOF JOIN R MATCH_CONDITION (L.t >= R.t) ON L.k = R.k
    L ASOF JOIN R ON L.k = R.k AND L.t >= R.t                  in the dialect of Timeplus

Among right rows equally close, the least row wins.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from sqlglot import exp

from penstock.bind.from_.join_kind import kind_of
from penstock.bind.from_.using import equalities_of, merged_scope, shared_columns
from penstock.bind.join_keys import columns_read, equalities_on
from penstock.bind.level import Level
from penstock.bind.marks import OUTER, SUBQUERY, has_mark
from penstock.bind.scalars import fields_of, scalar_of, unique_names
from penstock.bind.scope import Scope
from penstock.plan.expressions import COMPARISONS
from penstock.plan.nodes import (
    AsofJoin,
    Distinct,
    Field,
    Filter,
    Join,
    JoinKey,
    JoinKind,
    Match,
    Plan,
    Project,
    UnionAll,
)
from penstock.plan.scalar import Scalar, column
from penstock.plan.sides import Sides, sides_of
from penstock.sql.complaints import unsupported, wrong
from penstock.sql.trees import bare, call, call_name, cast_to, conjunction, conjuncts

_WORDS = {kind: word for word, kind in COMPARISONS.items()}
_FLIPPED = {">=": "<=", ">": "<", "<=": ">=", "<": ">"}


def bind_asof(left: Plan, right: Plan, scopes: tuple[Scope, Scope], join: exp.Join, level: Level) -> tuple[Plan, Scope]:
    """The plan of an ASOF join of any kind; a right row is found where some left row takes one that is equal to it."""
    kind = kind_of(join)
    level.scope = scopes[0].beside(scopes[1])
    level.remember_fields(right)
    join = _with_match(join, level)
    match = _match(join, left, right, level)
    if join.args.get("using"):
        pairs = shared_columns(join, *scopes)
        plan = _of_kind(AsofJoin(left, right, JoinKind.LEFT, equalities_of(pairs, left, right), match), kind)
        return plan, merged_scope(pairs, scopes, kind)
    plan = _of_kind(AsofJoin(left, right, JoinKind.LEFT, _keys(join, left, right, level), match), kind)
    return plan, scopes[0] if kind in (JoinKind.SEMI, JoinKind.ANTI) else level.scope


def _of_kind(joined: AsofJoin, kind: JoinKind) -> Plan:
    """A LEFT ASOF join as one of another kind."""
    match kind:
        case JoinKind.INNER | JoinKind.LEFT:
            return replace(joined, kind=kind)
        case JoinKind.SEMI | JoinKind.ANTI:
            return chosen_by(joined, None, kind)
        case JoinKind.RIGHT:
            return _with_unfound(replace(joined, kind=JoinKind.INNER))
        case JoinKind.FULL:
            return _with_unfound(joined)
        case _:
            assert_never(kind)


def chosen_by(joined: AsofJoin, condition: exp.Expression | None, kind: JoinKind) -> Plan:
    """The rows on the left of a LEFT join that find a row for which a condition holds; with ANTI the others."""
    holds: exp.Expression = exp.Not(this=exp.Is(this=joined.match.right.tree.copy(), expression=exp.Null()))
    if condition is not None:
        holds = exp.And(this=holds, expression=exp.Paren(this=condition.copy()))
    if kind is JoinKind.ANTI:
        holds = exp.Not(this=call("coalesce", holds, exp.false()))
    return Project(Filter(joined, scalar_of(holds, fields_of(joined))), _items(joined.left.fields))


def _with_unfound(joined: AsofJoin) -> Plan:
    """The join, and the right rows that no left row takes."""
    left, right = joined.left.fields, joined.right.fields
    names = unique_names([*(item.name for item in right), *(f"{item.name} found" for item in right)])[len(right) :]
    items = zip(names, right, strict=True)
    taken = replace(joined, kind=JoinKind.INNER)
    found = Distinct(Project(taken, tuple((new, column(item.name, item.type, item.nullable)) for new, item in items)))
    keys = tuple(
        JoinKey(column(item.name, item.type, item.nullable), column(new, item.type, item.nullable), null_safe=True)
        for new, item in zip(names, right, strict=True)
    )
    others = Join(joined.right, found, JoinKind.ANTI, keys)
    nothing = tuple((item.name, scalar_of(_null_of(item), {})) for item in left)
    outputs = (*(replace(item, nullable=True) for item in left), *joined.fields[len(left) :])
    return UnionAll((joined, Project(others, (*nothing, *_items(right)))), outputs)


def _items(fields: tuple[Field, ...]) -> tuple[tuple[str, Scalar], ...]:
    return tuple((item.name, column(item.name, item.type, item.nullable)) for item in fields)


def _null_of(item: Field) -> exp.Expression:
    return exp.Null() if item.type is None else cast_to(exp.Null(), item.type)


def _with_match(join: exp.Join, level: Level) -> exp.Join:
    """The join with its MATCH_CONDITION apart, which in the dialect of Timeplus stands in ON; SqlError for several."""
    condition = join.args.get("on")
    timeplus = level.context.catalog.settings.get("dialect") == "timeplus"
    if not timeplus or join.args.get("match_condition") is not None or condition is None:
        return join
    parts = list(conjuncts(condition))
    found = [part for part in parts if type(bare(part)) in _WORDS]
    if len(found) > 1:
        message = "ON of an ASOF JOIN compares one pair of times; all else in it are equalities"
        raise wrong(code="ASOF_MATCH", message=message, place=found[1], hint="other conditions go into WHERE")
    if not found:
        return join
    copy = join.copy()
    copy.set("match_condition", found[0].copy())
    copy.set("on", conjunction(part.copy() for part in parts if part is not found[0]))
    return copy


def _match(join: exp.Join, left: Plan, right: Plan, level: Level) -> Match:
    """The comparison with the left time first, whichever way round it is written."""
    condition = join.args.get("match_condition")
    if condition is None:
        timeplus = level.context.catalog.settings.get("dialect") == "timeplus"
        wanted = "a comparison of times in ON" if timeplus else "MATCH_CONDITION (left time >= right time)"
        raise wrong(code="ASOF_WITHOUT_MATCH", message=f"ASOF JOIN needs {wanted}", place=join)
    tree = level.bind(bare(condition))
    comparison = _WORDS.get(type(tree))
    if comparison is None or has_mark(tree, SUBQUERY) or has_mark(tree, OUTER):
        raise wrong(
            code="ASOF_MATCH",
            message="MATCH_CONDITION compares a left with a right value by >=, >, <= or <",
            place=condition,
        )
    one, two = tree.this, tree.expression
    sides = sides_of(columns_read(one), columns_read(two), left.names, right.names)
    if sides is Sides.CROSSED:
        one, two, comparison = two, one, _FLIPPED[comparison]
    if sides is None:
        raise wrong(code="ASOF_MATCH", message="MATCH_CONDITION needs one side from each relation", place=condition)
    first, second = _collated(scalar_of(one, fields_of(left)), scalar_of(two, fields_of(right)), left, right)
    return Match(first, comparison, second)


def _collated(one: Scalar, two: Scalar, left: Plan, right: Plan) -> tuple[Scalar, Scalar]:
    """Both sides of a comparison, of which one may say by which collation: the rows of both are sorted by it."""
    first, second = _collation(one.tree), _collation(two.tree)
    if first is not None and second is None:
        return one, scalar_of(call("collate", two.tree.copy(), exp.Literal.string(first)), fields_of(right))
    if second is not None and first is None:
        return scalar_of(call("collate", one.tree.copy(), exp.Literal.string(second)), fields_of(left)), two
    return one, two


def _collation(tree: exp.Expression) -> str | None:
    """The collation that an expression names."""
    node = bare(tree)
    if isinstance(node, exp.Collate):
        return str(node.expression.name)
    return str(node.expressions[1].name) if call_name(node) == "collate" else None


def _keys(join: exp.Join, left: Plan, right: Plan, level: Level) -> tuple[JoinKey, ...]:
    condition = join.args.get("on")
    if condition is None:
        return ()
    keys = equalities_on(left, right, conjuncts(level.bind(condition)))
    if keys is None:
        hint = (
            "what a right row has to be like goes into a query, ASOF JOIN (SELECT … WHERE …), anything else into WHERE"
        )
        raise unsupported(
            code="ASOF_CONDITION", message="ON of an ASOF JOIN with more than equalities", place=condition, hint=hint
        )
    return tuple(JoinKey(*_collated(key.left, key.right, left, right), key.null_safe) for key in keys)
