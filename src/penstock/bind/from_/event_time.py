"""Event time: whether a column is one of a table's that has LATENESS, through projections, filters, joins and views."""

from __future__ import annotations

from sqlglot import exp

from penstock.catalog.model import Catalog, Table
from penstock.plan.clock_calls import is_clock
from penstock.plan.nodes import Arrived, Arriving, AsofJoin, Filter, Join, Plan, Project, Scan
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
    match plan:
        case Project():
            found = dict(plan.items)[name]
            counted = counted_from(found.tree)
            of = found.column if counted is None else counted[0]
            return of is not None and _is_late(plan.input, of, catalog)
        case Filter():
            return _is_late(plan.input, name, catalog)
        case Join() | AsofJoin():
            return _is_late(plan.left if name in plan.left.names else plan.right, name, catalog)
        case Scan():
            return _is_declared(plan, name, catalog)
        case _:
            return True


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


def is_arrival_time(plan: Plan, tree: exp.Expression, catalog: Catalog, *, alone: bool = False) -> bool:
    """True for a column of a table that is the clock of the step in which a row comes: its DEFAULT, or PROCTIME().

    With `alone` it has no other value: the row does not give it.
    """
    return isinstance(tree, exp.Column) and _arrives(plan, tree.name, catalog, alone=alone)


def _arrives(plan: Plan, name: str, catalog: Catalog, *, alone: bool) -> bool:
    match plan:
        case Project():
            scalar = dict(plan.items)[name]
            return scalar.column is not None and _arrives(plan.input, scalar.column, catalog, alone=alone)
        case Filter() | Arrived() | Arriving():
            return _arrives(plan.inputs[0], name, catalog, alone=alone)
        case Join() | AsofJoin():
            side = plan.left if name in plan.left.names else plan.right
            return _arrives(side, name, catalog, alone=alone)
        case Scan():
            return _is_clock_of(plan, name, catalog, alone=alone)
        case _:
            return False


def _is_clock_of(plan: Scan, name: str, catalog: Catalog, *, alone: bool) -> bool:
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
    return name.lower() in places and _arrives(
        relation.plan, relation.plan.names[places.index(name.lower())], catalog, alone=alone
    )
