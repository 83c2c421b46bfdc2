"""Keys that go down as a stream goes up: they end at the waterline of their mirror image.

    GROUP BY -n             →  GROUP BY -n, -(-n)
    ORDER BY 100 - n DESC   →  ORDER BY -(100 - n)

A waterline is the least that can still come, so it says nothing of a value that falls. Its negative rises: it stands
beside the key, as a column that nobody sees, made where the columns are that have the waterline.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from penstock.bind.scalars import fields_of, scalar_of, unique_names
from penstock.bind.taking_in import HasWaterline
from penstock.catalog.model import Catalog
from penstock.plan.nodes import Aggregate, Distinct, Field, Filter, Plan, Project
from penstock.plan.scalar import Scalar, column, column_tree
from penstock.plan.showing import Ordering
from penstock.sql.trees import call, cast_to

_MIRROR = "__falling"
_WIDER = {"tinyint": "bigint", "smallint": "bigint", "int": "bigint", "bigint": "decimal(20,0)"}
_AS_NUMBER = {"timestamp": "unix_micros", "timestamp_ntz": "unix_micros", "date": "unix_date"}


def with_falling_groups(plan: Plan, catalog: Catalog, has_waterline: HasWaterline) -> Plan:
    """The plan, each grouping by a falling key with the key's mirror image among its groups."""
    inputs = [with_falling_groups(item, catalog, has_waterline) for item in plan.inputs]
    plan = plan.with_inputs(*inputs) if any(a is not b for a, b in zip(inputs, plan.inputs, strict=True)) else plan
    if not isinstance(plan, Aggregate | Distinct) or any(
        has_waterline(catalog, plan, item.name) for item in plan.fields
    ):
        return plan
    for key in plan.fields[: len(plan.groups)] if isinstance(plan, Aggregate) else plan.fields:
        found = _with_mirror(plan, key, catalog, has_waterline)
        if found is not None:
            return Project(found, _all(plan.fields))
    return plan


def with_falling_order(
    plan: Plan, order: tuple[Ordering, ...], catalog: Catalog, has_waterline: HasWaterline
) -> tuple[Plan, tuple[Ordering, ...]]:
    """The plan, and its order, in which a first key that falls is its mirror image, which rises."""
    if not order or not order[0].descending or not isinstance(plan, Project):
        return plan, order
    first = plan.fields[order[0].place]
    found = None if has_waterline(catalog, plan, first.name) else _with_mirror(plan, first, catalog, has_waterline)
    if found is None:
        return plan, order
    rises = replace(order[0], place=len(plan.names), descending=False)
    return found, (rises, *order[1:])


def _with_mirror(plan: Plan, key: Field, catalog: Catalog, has_waterline: HasWaterline) -> Plan | None:
    """The plan with the negative of a column behind its others, if a waterline is known for it; else None."""
    tree = _negative(column_tree(key.name), key.type)
    if tree is None:
        return None
    name = unique_names([*plan.names, _MIRROR])[-1]
    found = _carrying(plan, scalar_of(tree, fields_of(plan)), name)
    return found if has_waterline(catalog, found, name) else None


def _negative(tree: exp.Expression, kind: str | None) -> exp.Expression | None:
    """The value below zero, in a type that holds it."""
    tree = exp.Paren(this=tree)
    if kind in _WIDER:
        return exp.Neg(this=cast_to(tree, _WIDER[kind]))
    if kind in _AS_NUMBER:
        return exp.Neg(this=call(_AS_NUMBER[kind], tree))
    if kind is None:  # as of a function whose type only Spark knows; equal numbers have equal images
        return exp.Neg(this=cast_to(tree, "double"))
    return exp.Neg(this=tree) if kind in ("float", "double") or kind.startswith("decimal") else None


def _carrying(plan: Plan, scalar: Scalar, name: str) -> Plan:
    """The plan with one column more, which is computed as far down as it can be."""
    match plan:
        case Project():
            below, inner = _below(plan.input, scalar, dict(plan.items))
            return Project(below, (*plan.items, (name, _column(scalar, inner))))
        case Filter():
            below = _carrying(plan.input, scalar, name)
            return plan.with_inputs(below)
        case Distinct():
            return Distinct(_carrying(plan.input, scalar, name))
        case Aggregate() if scalar.columns <= {group for group, _ in plan.groups}:
            below, inner = _below(plan.input, scalar, dict(plan.groups))
            grouped = replace(plan, input=below, groups=(*plan.groups, (name, _column(scalar, inner))))
            return Project(grouped, _all((*plan.fields, grouped.field(name))))
        case _:
            return Project(plan, (*_all(plan.fields), (name, scalar)))


def _below(plan: Plan, scalar: Scalar, given: Mapping[str, Scalar]) -> tuple[Plan, str]:
    """The input of a node with what an expression over the node's items is there, and the name of that."""
    inner = unique_names([*plan.names, _MIRROR])[-1]
    return _carrying(plan, scalar.replaced(lambda item: exp.Paren(this=given[item].tree.copy())), inner), inner


def _column(scalar: Scalar, name: str) -> Scalar:
    return column(name, scalar.type, scalar.nullable)


def _all(fields: tuple[Field, ...]) -> tuple[tuple[str, Scalar], ...]:
    return tuple((item.name, column(item.name, item.type, item.nullable)) for item in fields)
