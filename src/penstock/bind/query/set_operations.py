"""UNION, INTERSECT and EXCEPT, with or without ALL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from penstock.bind.bound_query import BoundQuery
from penstock.bind.domain import NeedDomain
from penstock.bind.level import Context
from penstock.catalog.reserved import HIDDEN
from penstock.plan.nodes import Distinct, Field, Plan, Project, SetKind, SetOperation, UnionAll
from penstock.plan.scalar import Scalar, column
from penstock.sql.complaints import wrong
from penstock.sql.text import span_of
from penstock.types.check import check_union
from penstock.types.common import common_type


def bind_set_operation(tree: exp.SetOperation, context: Context) -> BoundQuery:
    """The plan of a set operation; columns go by position under the names of the left side."""
    parts = list(_operands(tree))
    bounds = _bound(parts, tree, context)
    if tree.args.get("by_name"):
        bounds = [_by_name(bound, bounds[0], part) for bound, part in zip(bounds, parts, strict=True)]
    _check_width(bounds, parts)
    for position, name in enumerate(bounds[0].names):
        places = [_place(part, position, len(bounds[0].names)) for part in parts]
        check_union(places, [bound.fields[position].type for bound in bounds], name)
    if context.outers and context.domain is None:
        raise NeedDomain
    names = bounds[0].names
    plans, outputs = _aligned([bound.plan for bound in bounds])
    everything = not tree.args.get("distinct")
    if isinstance(tree, exp.Union):
        plan: Plan = UnionAll(plans, outputs)
        return BoundQuery(plan if everything else Distinct(plan), names)
    kind = SetKind.INTERSECT if isinstance(tree, exp.Intersect) else SetKind.EXCEPT
    return BoundQuery(SetOperation(plans[0], plans[1], kind, everything, outputs, span_of(parts[1])), names)


def _bound(parts: list[exp.Expression], tree: exp.SetOperation, context: Context) -> list[BoundQuery]:
    """The operands; those of UNION ALL hand on in which order their rows arrive, if all of them do."""
    together = isinstance(tree, exp.Union) and not tree.args.get("distinct") and not tree.args.get("by_name")
    if context.hands_on and together:
        found = [context.bind_query(part) for part in parts]
        if len({tuple(name for name in bound.names if name in HIDDEN) for bound in found}) == 1:
            return found
    return [replace(context, hands_on=False).bind_query(part) for part in parts]


def _operands(tree: exp.SetOperation) -> Iterator[exp.Expression]:
    """Both sides; a chain of the same UNION is one node with many branches."""
    left = tree.this
    flat = isinstance(tree, exp.Union) and type(left) is type(tree) and not left.args.get("with_")
    flat = flat and bool(left.args.get("by_name")) == bool(tree.args.get("by_name"))
    if flat and _is_all(left) == _is_all(tree) and not left.args.get("limit") and not left.args.get("order"):
        yield from _operands(left)
    else:
        yield left
    yield tree.expression


def _is_all(tree: exp.SetOperation) -> bool:
    return not tree.args.get("distinct")


def _by_name(bound: BoundQuery, first: BoundQuery, part: exp.Expression) -> BoundQuery:
    """The rows with their columns in the order of the first part's, found by their names."""
    if len(bound.names) != len(first.names):
        return bound  # the number of columns is complained about for all set operations alike
    places = {name.lower(): place for place, name in enumerate(bound.names)}
    missing = [name for name in first.names if name.lower() not in places]
    if missing or len(places) < len(bound.names):
        message = f"BY NAME needs the columns {', '.join(first.names)} here, each once"
        raise wrong(code="DIFFERENT_COLUMN_NAMES", message=message, place=part)
    fields = [bound.fields[places[name.lower()]] for name in first.names]
    items = tuple((item.name, column(item.name, item.type, item.nullable)) for item in fields)
    return BoundQuery(Project(bound.plan, items), first.names)


def _place(part: exp.Expression, position: int, width: int) -> exp.Expression:
    """Where a part computes a column: in its SELECT list, unless a `*` stands there."""
    items = part.expressions if isinstance(part, exp.Select) and not part.is_star else []
    return items[position] if len(items) == width else part


def _check_width(bounds: list[BoundQuery], parts: list[exp.Expression]) -> None:
    wanted = len(bounds[0].names)
    for bound, part in zip(bounds, parts, strict=True):
        if len(bound.names) != wanted:
            message = f"the first part has {wanted} columns, this one {len(bound.names)}"
            raise wrong(code="DIFFERENT_NUMBER_OF_COLUMNS", message=message, place=part, sqlstate="42826")


def _aligned(plans: list[Plan]) -> tuple[tuple[Plan, ...], tuple[Field, ...]]:
    """The plans with casts where both types are known and differ, and the common fields."""
    outputs = []
    for position, first in enumerate(plans[0].fields):
        cells = [plan.fields[position] for plan in plans]
        kind = common_type([cell.type for cell in cells])
        outputs.append(Field(first.name, kind, any(cell.nullable for cell in cells)))
    return tuple(_cast(plan, tuple(outputs)) for plan in plans), tuple(outputs)


def _cast(plan: Plan, outputs: tuple[Field, ...]) -> Plan:
    have = [column(item.name, item.type, item.nullable) for item in plan.fields]
    given = [_converted(item, wanted.type) for item, wanted in zip(have, outputs, strict=True)]
    return plan if given == have else Project(plan, tuple(zip(plan.names, given, strict=True)))


def _converted(item: Scalar, kind: str | None) -> Scalar:
    return item if kind is None or item.type is None else item.cast_to(kind)
