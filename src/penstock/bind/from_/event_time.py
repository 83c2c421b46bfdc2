"""Event time: whether a column is one of a table's that has LATENESS, through projections, filters, joins and views."""

from __future__ import annotations

from sqlglot import exp

from penstock.catalog.model import Catalog, Table
from penstock.plan.nodes import AsofJoin, Filter, Join, Plan, Project, Scan


def is_event_time(plan: Plan, tree: exp.Expression, catalog: Catalog) -> bool:
    """True for a column with LATENESS, or one that is made by something whose time is not known here."""
    return isinstance(tree, exp.Column) and _is_late(plan, tree.name, catalog)


def _is_late(plan: Plan, name: str, catalog: Catalog) -> bool:
    match plan:
        case Project():
            scalar = dict(plan.items)[name]
            return scalar.column is not None and _is_late(plan.input, scalar.column, catalog)
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
