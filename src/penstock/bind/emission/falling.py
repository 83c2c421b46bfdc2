"""Keys that go down as a stream goes up: they end at the waterline of their mirror image.

    GROUP BY -n             →  GROUP BY -n, -(-n)
    ORDER BY 100 - n DESC   →  ORDER BY -(100 - n)

A waterline is the least that can still come, so it says nothing of a value that falls. Its negative rises: it stands
beside the key, as a column that nobody sees, made where the columns are that have the waterline.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never, cast

from sqlglot import exp

from penstock.bind.scalars import fields_of, scalar_of, unique_names
from penstock.bind.select.grouping_sets import GROUPING_ID
from penstock.bind.taking_in import HasWaterline
from penstock.catalog.model import Catalog
from penstock.plan.forms import Call, Form, Reference
from penstock.plan.nodes import (
    Aggregate,
    Arrived,
    Arriving,
    AsofJoin,
    Distinct,
    Field,
    Filter,
    Fixpoint,
    Generate,
    Join,
    MatchRecognize,
    Node,
    Plan,
    Project,
    Recompute,
    Scan,
    Session,
    SetOperation,
    TopK,
    UnionAll,
    Values,
    Window,
)
from penstock.plan.scalar import Scalar, column, column_tree
from penstock.plan.showing import Ordering
from penstock.sql.trees import call, call_name, cast_to

FALLING = "__falling"  # begins the names of the columns that nobody sees
_WIDER = {"tinyint": "bigint", "smallint": "bigint", "int": "bigint", "bigint": "decimal(20,0)"}
_ROUNDING = frozenset({"floor", "ceil", "ceiling", "round", "bround"})
_ARITHMETIC = frozenset("+-*/")
_AS_NUMBER = {"timestamp": "unix_micros", "timestamp_ntz": "unix_micros", "date": "unix_date"}


def with_falling_groups(plan: Plan, catalog: Catalog, has_waterline: HasWaterline) -> Plan:
    """The plan, each grouping by a falling key with the key's mirror image among its groups, and behind its columns."""
    return _exposed(_grouped(plan, catalog, has_waterline))


def _grouped(plan: Plan, catalog: Catalog, has_waterline: HasWaterline) -> Plan:
    inputs = [_grouped(item, catalog, has_waterline) for item in plan.inputs]
    plan = plan.with_inputs(*inputs) if any(a is not b for a, b in zip(inputs, plan.inputs, strict=True)) else plan
    if not isinstance(plan, Aggregate | Distinct):
        return plan
    keys = plan.fields[: len(plan.groups)] if isinstance(plan, Aggregate) else plan.fields
    others = [key for key in keys if not has_waterline(catalog, plan, key.name)]
    if len(others) < len(keys) and not _is_of_sets(plan.inputs[0]):
        return plan
    found: Plan = plan
    for key in others:
        found = _with_mirror(found, key, catalog, has_waterline) or found
    return plan if found is plan else Project(found, _all(plan.fields))


def _exposed(plan: Plan) -> Plan:
    """The plan whose projections hand the mirror images on."""
    match plan:
        case Filter():
            below = _exposed(plan.input)
            return plan if below is plan.input else plan.with_inputs(below)
        case Project():
            below = _exposed(plan.input)
            mirrors = [item for item in below.fields if item.name.startswith(FALLING)]
            names = unique_names([*plan.names, *(item.name for item in mirrors)])[len(plan.names) :]
            items = zip(names, (scalar for _, scalar in _all(tuple(mirrors))), strict=True)
            return Project(below, (*plan.items, *items)) if mirrors else plan
        case _:
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
    kind = "decimal" if key.type is None and _is_rounded(plan, key.name) else key.type
    tree = None if kind is None else _negative(column_tree(key.name), kind)
    if tree is None:
        return None
    name = unique_names([*plan.names, FALLING])[-1]
    found = _carrying(plan, scalar_of(tree, fields_of(plan)), name)
    return found if has_waterline(catalog, found, name) else None


def _is_rounded(plan: Plan, name: str) -> bool:
    """True for a column that is a rounded number, of a type that only Spark knows."""
    match plan:
        case Project() | Aggregate():
            form = dict(plan.items if isinstance(plan, Project) else plan.groups)[name].form
            if isinstance(form, Reference):
                return _is_rounded(plan.input, form.name)
            return _rounds(form)
        case Filter() | Distinct():
            return _is_rounded(plan.input, name)
        case _:
            return False


def _rounds(form: Form) -> bool:
    """True for a rounded number, also one that is added to or multiplied."""
    if not isinstance(form, Call):
        return False
    return form.function in _ROUNDING or (form.function in _ARITHMETIC and any(map(_rounds, form.arguments)))


def _negative(tree: exp.Expression, kind: str) -> exp.Expression | None:
    """The value below zero, in a type that holds it."""
    tree = exp.Paren(this=tree)
    if kind in _WIDER:
        return exp.Neg(this=cast_to(tree, _WIDER[kind]))
    if kind in _AS_NUMBER:
        return exp.Neg(this=call(_AS_NUMBER[kind], tree))
    return exp.Neg(this=tree) if kind in ("float", "double") or kind.startswith("decimal") else None


def _carrying(plan: Plan, scalar: Scalar, name: str) -> Plan:
    """The plan with one column more, which is computed as far down as it can be."""
    node = cast("Node", plan)
    match node:
        case Project():
            below, inner = _below(node.input, scalar, dict(node.items))
            return Project(below, (*node.items, (name, _column(scalar, inner))))
        case Filter():
            below = _carrying(node.input, scalar, name)
            return node.with_inputs(below)
        case Distinct():
            return Distinct(_carrying(node.input, scalar, name))
        case Aggregate() if scalar.columns <= {group for group, _ in node.groups}:
            below, inner = _below(node.input, scalar, dict(node.groups))
            grouped = replace(node, input=below, groups=(*node.groups, (name, _column(scalar, inner))))
            return Project(grouped, _all((*node.fields, grouped.field(name))))
        case Generate() if _is_of_sets(node) and scalar.columns <= {item.name for item in node.outputs}:
            return _beside_sets(node, scalar, name)
        case Scan() | Values() | UnionAll() | Generate() | Join() | AsofJoin() | Aggregate() | SetOperation():
            return Project(node, (*_all(node.fields), (name, scalar)))
        case TopK() | Window() | Session() | MatchRecognize() | Recompute() | Fixpoint() | Arriving() | Arrived():
            return Project(node, (*_all(node.fields), (name, scalar)))
        case _:
            assert_never(node)


def _is_of_sets(plan: Plan) -> bool:
    """True for the rows of GROUPING SETS, once for each set, of which is said what each key is in it."""
    return isinstance(plan, Generate) and plan.outputs[0].name == GROUPING_ID


def _beside_sets(plan: Generate, scalar: Scalar, name: str) -> Plan:
    """The expression as one more value of each set, NULL where the set leaves its key out."""
    tree, fields = plan.generator.tree.copy(), fields_of(plan.input)
    for values in tree.expressions[0].expressions:
        given = dict(zip((item.name for item in plan.outputs), values.expressions[1::2], strict=True))
        left_out = any(call_name(given[item]) == "nullif" for item in scalar.columns)
        there = {item: given[item].expressions[0] if left_out else given[item] for item in scalar.columns}
        value = scalar.over({item: scalar_of(value, fields) for item, value in there.items()}).tree
        value = call("nullif", value, value.copy()) if left_out else value
        values.expressions.extend([exp.Literal.string(name), value])
    return replace(plan, generator=scalar_of(tree, fields), outputs=(*plan.outputs, Field(name, scalar.type)))


def _below(plan: Plan, scalar: Scalar, given: Mapping[str, Scalar]) -> tuple[Plan, str]:
    """The input of a node with what an expression over the node's items is there, and the name of that."""
    inner = unique_names([*plan.names, FALLING])[-1]
    return _carrying(plan, scalar.over(given), inner), inner


def _column(scalar: Scalar, name: str) -> Scalar:
    return column(name, scalar.type, scalar.nullable)


def _all(fields: tuple[Field, ...]) -> tuple[tuple[str, Scalar], ...]:
    return tuple((item.name, column(item.name, item.type, item.nullable)) for item in fields)
