"""The growth of a relation's number of rows: bounded, as large as the tables' content, or growing for ever.

A table from which rows can be deleted is as large as its users keep it. An append-only table, and one with LATENESS
(behind the waterline nothing is deleted any more), only grows.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import assert_never, cast

from penstock.analysis.inequality import lower_bounds
from penstock.analysis.views import column_read, of_view
from penstock.catalog.model import Catalog, Table
from penstock.catalog.reserved import VERSIONS
from penstock.plan.expressions import conjuncts
from penstock.plan.forms import reads_clock
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
from penstock.plan.scalar import Scalar


class Growth(IntEnum):
    """From the best to the worst."""

    BOUNDED = 0
    CONTENT = 1
    UNBOUNDED = 2


def growth(plan: Plan, catalog: Catalog) -> Growth:
    """The growth of the relation's number of rows."""
    node = cast("Node", plan)
    match node:
        case Scan():
            return _of_scan(node, catalog)
        case Values() | Arriving():
            return Growth.BOUNDED
        # Rows that the clock leaves behind are gone.
        case Filter() if _window_of_time(node.condition):
            return Growth.BOUNDED
        case Aggregate() if all(scalar.columns <= few_values(node.input, catalog) for _, scalar in node.groups):
            return Growth.BOUNDED
        case Distinct() if frozenset(node.names) <= few_values(node.input, catalog):
            return Growth.BOUNDED
        case TopK() if node.limit is not None and _read(node.partition) <= few_values(node.input, catalog):
            return Growth.BOUNDED
        case TopK() if node.limit is not None and _reads_versions(node.input):
            return Growth.CONTENT  # one version of each key
        case Arrived():
            return max(growth(item.input, catalog) for item in node.walk() if isinstance(item, Arriving))
        case AsofJoin():
            return growth(node.left, catalog)
        case Project() | Filter() | UnionAll() | Generate() | Join() | Aggregate() | Distinct() | SetOperation():
            return _most(node.inputs, catalog)
        case TopK() | Window() | Session() | MatchRecognize() | Recompute() | Fixpoint():
            return _most(node.inputs, catalog)
        case _:
            assert_never(node)


def _reads_versions(plan: Plan) -> bool:
    while isinstance(plan, Project | Filter):
        plan = plan.input
    return isinstance(plan, Scan) and plan.relation.lower().startswith(VERSIONS)


def _most(plans: tuple[Plan, ...], catalog: Catalog) -> Growth:
    return max((growth(item, catalog) for item in plans), default=Growth.BOUNDED)


def _of_scan(scan: Scan, catalog: Catalog) -> Growth:
    relation = catalog.relation(scan.relation)
    if relation is None:
        return Growth.CONTENT
    if isinstance(relation, Table):
        late = any(column.lateness is not None for column in relation.columns)
        return Growth.UNBOUNDED if relation.append_only or late else Growth.CONTENT
    return of_view(catalog, relation, "growth", lambda plan: growth(plan, catalog), Growth.CONTENT)


def _window_of_time(condition: Scalar) -> bool:
    return any(reads_clock(item.bound) for part in conjuncts(condition) for item in lower_bounds(part, {}))


def few_values(plan: Plan, catalog: Catalog) -> frozenset[str]:
    """The columns whose set of values does not grow: booleans, DOMAIN CONSTANT, and what is computed from them."""
    node = cast("Node", plan)
    match node:
        case Scan():
            return _few_of_scan(node, catalog)
        case Values():
            return frozenset(node.names)
        case Project():
            inner = few_values(node.input, catalog)
            return frozenset(name for name, scalar in node.items if scalar.columns <= inner or scalar.type == "boolean")
        case Filter() | Distinct() | TopK() | Window() | Session() | Generate():
            return few_values(node.inputs[0], catalog)
        case Join() | AsofJoin():
            sides = few_values(node.left, catalog) | few_values(node.right, catalog)
            return sides & frozenset(node.names)
        case Aggregate():
            inner = few_values(node.input, catalog)
            return frozenset(name for name, scalar in node.groups if scalar.columns <= inner)
        case UnionAll():
            inner_names = [(few_values(item, catalog), item.names) for item in node.branches]
            places = enumerate(node.names)
            return frozenset(name for place, name in places if all(own[place] in few for few, own in inner_names))
        case SetOperation() | MatchRecognize() | Recompute() | Fixpoint() | Arriving() | Arrived():
            return frozenset()
        case _:
            assert_never(node)


def _few_of_scan(scan: Scan, catalog: Catalog) -> frozenset[str]:
    relation = catalog.relation(scan.relation)
    if relation is None:
        return frozenset()
    if isinstance(relation, Table):
        few = frozenset(item.name for item in relation.columns if item.domain_constant or item.type == "boolean")
        columns = tuple(item.name for item in relation.columns)
    else:
        few = of_view(catalog, relation, "few values", lambda plan: few_values(plan, catalog), frozenset())
        columns = tuple(item.name for item in relation.columns) or tuple(few)
    lower = {name.lower() for name in few}
    return frozenset(name for name in scan.names if (column_read(scan, name, columns) or "").lower() in lower)


def _read(scalars: Iterable[Scalar]) -> frozenset[str]:
    return frozenset(name for scalar in scalars for name in scalar.columns)
