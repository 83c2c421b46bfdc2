"""Event time: whether a column is one of a table's that has LATENESS, through projections, filters, joins and views."""

from __future__ import annotations

from typing import assert_never, cast

from sqlglot import exp

from penstock.catalog.model import Catalog, Table
from penstock.plan.clock_calls import is_clock
from penstock.plan.nodes import (
    Aggregate,
    Arrived,
    Arriving,
    AsofJoin,
    Distinct,
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
from penstock.sql.parse import parse_expression
from penstock.sql.trees import bare, call_name


def counted_from(tree: exp.Expression) -> tuple[str, int] | None:
    """The column of which a time is computed, and the microseconds of its unit, as TO_TIMESTAMP_LTZ does; else None."""
    inner = bare(tree)
    while isinstance(inner, exp.Cast) and inner.to.text("kind").startswith("timestamp"):
        inner = bare(inner.this)
    product = bare(inner.expressions[0]) if call_name(inner) == "timestamp_micros" else None
    if not isinstance(product, exp.Mul) or not isinstance(product.expression, exp.Literal):
        return None
    counted = bare(product.this)
    counted = bare(counted.this) if isinstance(counted, exp.Cast) else counted
    return (counted.name, int(product.expression.name)) if isinstance(counted, exp.Column) else None


def is_event_time(plan: Plan, tree: exp.Expression, catalog: Catalog) -> bool:
    """True for a column with LATENESS, or one that is made by something whose time is not known here."""
    return isinstance(tree, exp.Column) and _is_late(plan, tree.name, catalog)


def _is_late(plan: Plan, name: str, catalog: Catalog) -> bool:
    node = cast("Node", plan)
    match node:
        case Project():
            found = dict(node.items)[name]
            counted = counted_from(found.tree)
            of = found.column if counted is None else counted[0]
            return of is not None and _is_late(node.input, of, catalog)
        case Filter():
            return _is_late(node.input, name, catalog)
        case Join() | AsofJoin():
            return _is_late(node.left if name in node.left.names else node.right, name, catalog)
        case Scan():
            return _is_declared(node, name, catalog)
        case Values() | UnionAll() | Generate() | Aggregate() | Distinct() | SetOperation() | TopK() | Window():
            return True
        case Session() | MatchRecognize() | Recompute() | Fixpoint() | Arriving() | Arrived():
            return True
        case _:
            assert_never(node)


def _is_declared(plan: Scan, name: str, catalog: Catalog) -> bool:
    relation = catalog.relation(plan.relation)
    if isinstance(relation, Table):
        found = relation.column(name)
        return found is not None and found.lateness is not None
    if relation is None or relation.plan is None or name.lower() in {item.lower() for item in relation.lateness}:
        return True
    places = [item.name.lower() for item in relation.columns]
    inner: Plan = relation.plan
    return name.lower() not in places or _is_late(inner, inner.names[places.index(name.lower())], catalog)


def is_arrival_time(
    plan: Plan, tree: exp.Expression, catalog: Catalog, *, alone: bool = False, computed: bool = False
) -> bool:
    """True for a column of a table that is the clock of the step in which a row comes: its DEFAULT, or PROCTIME().

    With `alone` it has no other value: the row does not give it. With `computed` a query below may have it as the
    clock, which is PROCTIME() there.
    """
    return isinstance(tree, exp.Column) and _arrives(plan, tree.name, catalog, alone=alone, computed=computed)


def _arrives(plan: Plan, name: str, catalog: Catalog, *, alone: bool, computed: bool) -> bool:
    node = cast("Node", plan)
    match node:
        case Project():
            scalar = dict(node.items)[name]
            if scalar.column is None:
                return computed and is_clock(bare(scalar.tree))
            return _arrives(node.input, scalar.column, catalog, alone=alone, computed=computed)
        case Filter() | Arrived() | Arriving():
            return _arrives(node.inputs[0], name, catalog, alone=alone, computed=computed)
        case Join() | AsofJoin():
            side = node.left if name in node.left.names else node.right
            return _arrives(side, name, catalog, alone=alone, computed=computed)
        case Window() | TopK() | Generate() if name in node.inputs[0].names and computed:
            return _arrives(node.inputs[0], name, catalog, alone=alone, computed=computed)
        case UnionAll() if computed:
            place = node.names.index(name)
            return all(
                _arrives(item, item.names[place], catalog, alone=alone, computed=computed) for item in node.inputs
            )
        case Scan():
            return _is_clock_of(node, name, catalog, alone=alone, computed=computed)
        case Values() | UnionAll() | Generate() | Aggregate() | Distinct() | SetOperation() | TopK() | Window():
            return False
        case Session() | MatchRecognize() | Recompute() | Fixpoint():
            return False
        case _:
            assert_never(node)


def _is_clock_of(plan: Scan, name: str, catalog: Catalog, *, alone: bool, computed: bool) -> bool:
    relation = catalog.relation(plan.relation)
    if isinstance(relation, Table):
        column = relation.column(name)
        if column is None or column.default is None or column.lateness is not None or column.watermark is not None:
            return False
        default = parse_expression(column.default)
        return (column.optional or not alone) and is_clock(default)
    if relation is None or relation.plan is None:
        return False
    places = [item.name.lower() for item in relation.columns]
    if name.lower() not in places:
        return False
    inner = relation.plan.names[places.index(name.lower())]
    return _arrives(relation.plan, inner, catalog, alone=alone, computed=computed)
