"""The directions of columns as the rows of a relation come: what is declared, and what follows from it (C4).

    orders.rowtime LATENESS INTERVAL 0 SECONDS    increasing
    FLOOR(rowtime TO HOUR)                        increasing
    3000 - EXTRACT(YEAR FROM rowtime)             decreasing

A column with LATENESS goes up but for what comes late in bounds; `direction` says what an expression makes of that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never, cast

from penstock.analysis.direction import Direction, direction
from penstock.analysis.views import of_view
from penstock.catalog.model import Catalog, Table
from penstock.catalog.zones import session_shifts
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

Directions = Mapping[str, Direction]


def directions(plan: Plan, catalog: Catalog) -> Directions:
    """The direction of each column of a relation that goes row by row from its streams."""
    node = cast("Node", plan)
    match node:
        case Scan():
            return _of_scan(node, catalog)
        case Project():
            known = directions(node.input, catalog)
            types = {item.name: item.type for item in node.input.fields}
            shifts = session_shifts(catalog.settings)
            return {name: direction(item.form, known, shifts=shifts, types=types) for name, item in node.items}
        case Filter() | Distinct() | Arrived():
            return directions(node.input, catalog)
        case UnionAll():
            return _together(node, catalog)
        case Values() | Generate() | Join() | AsofJoin() | Aggregate() | SetOperation() | TopK() | Window():
            return dict.fromkeys(node.names, Direction.NONE)
        case Session() | MatchRecognize() | Recompute() | Fixpoint() | Arriving():
            return dict.fromkeys(node.names, Direction.NONE)
        case _:
            assert_never(node)


def _of_scan(scan: Scan, catalog: Catalog) -> Directions:
    relation = catalog.relation(scan.relation)
    found: dict[str, Direction] = {}
    if isinstance(relation, Table):
        rising = {item.name for item in relation.columns if item.lateness is not None}
        found = dict.fromkeys(rising, Direction.INCREASING)
    elif relation is not None:
        below = of_view(catalog, relation, "directions", lambda plan: directions(plan, catalog), {})
        columns = zip(relation.columns, below.values(), strict=False)
        found = {item.name: way for item, way in columns}
    return {name: found.get(name, Direction.NONE) for name in scan.names}


def _together(union: UnionAll, catalog: Catalog) -> Directions:
    """A column goes where it goes in all branches."""
    sides = [tuple(directions(item, catalog)[name] for name in item.names) for item in union.branches]
    pairs = zip(union.names, zip(*sides, strict=True), strict=True)
    return {name: ways[0] if len(set(ways)) == 1 else Direction.NONE for name, ways in pairs}
