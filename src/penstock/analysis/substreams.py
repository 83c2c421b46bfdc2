"""Waterlines of substreams: PARTITION BY k gives each value of k one of its own, kept by a view with LATENESS.

    tumble(s, 5s) PARTITION BY k GROUP BY window_end  →  the group (k, window_end) is over at the line of its own k

It holds where the columns by which substreams are told apart are among those that rows are grouped by.
"""

from __future__ import annotations

from typing import assert_never, cast

from penstock.analysis.derived import Derived, SourceColumn
from penstock.analysis.views import column_read
from penstock.catalog.model import Catalog, View
from penstock.catalog.types import INTEGRAL, Type
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
    JoinKind,
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

_COMPARED: frozenset[Type] = frozenset({*INTEGRAL, "string", "boolean", "date"})


def keys_of(derived: Derived, plan: Aggregate, catalog: Catalog) -> tuple[int, ...] | None:
    """The places among the groups of the columns that tell the substreams of a waterline apart; None if some lack."""
    if len(derived.sources) != 1:
        return None
    (source,) = derived.sources
    kept = keyed_column(source, catalog)
    if kept is None:
        return None
    read = [None if item.column is None else origin(plan.input, item.column, catalog) for _, item in plan.groups]
    wanted = [SourceColumn(source.relation.lower(), key.lower()) for key in kept]
    return tuple(read.index(key) for key in wanted) if all(key in read for key in wanted) else None


def keyed_column(source: SourceColumn, catalog: Catalog) -> tuple[str, ...] | None:
    """The columns of each value of which a source has a waterline; None for one whose values SQL does not write."""
    view = catalog.relation(source.relation)
    lateness = view.lateness.get(source.column.lower()) if isinstance(view, View) else None
    if view is None or lateness is None or not lateness.keys:
        return None
    kinds = {item.name.lower(): item.type for item in view.columns}
    return lateness.keys if all(kinds[key.lower()] in _COMPARED for key in lateness.keys) else None


def origin(plan: Plan, name: str, catalog: Catalog) -> SourceColumn | None:
    """The column of a relation, in lower case, that a column of a plan is, unchanged; None for what is computed."""
    node = cast("Node", plan)
    match node:
        case Project():
            read = dict(node.items)[name].column
            return None if read is None else origin(node.input, read, catalog)
        case Filter() | Generate():
            return origin(node.input, name, catalog) if name in node.input.names else None
        case Join() if node.kind is JoinKind.INNER:
            side = next((side for side in node.inputs if name in side.names), None)
            return None if side is None else origin(side, name, catalog)
        case Scan():
            relation = catalog.relation(node.relation)
            columns = () if relation is None else tuple(item.name for item in relation.columns)
            read = column_read(node, name, columns)
            return None if read is None else SourceColumn(node.relation.lower(), read.lower())
        case Values() | UnionAll() | Join() | AsofJoin() | Aggregate() | Distinct() | SetOperation() | TopK():
            return None
        case Window() | Session() | MatchRecognize() | Recompute() | Fixpoint() | Arriving() | Arrived():
            return None
        case _:
            assert_never(node)
