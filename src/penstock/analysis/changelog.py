"""Relations that never take a row back, and what takes rows back in the others.

`append_only` is what the engine asks (no weights to carry, MIN and MAX keep one row for each group);
`retracting` is what a person asks: which operator it is that takes rows back, and why.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never, cast

from penstock.analysis.views import of_view
from penstock.catalog.model import Catalog, Table
from penstock.catalog.types import is_collated
from penstock.errors import Span
from penstock.plan.expressions import kept_sides, place_of, plan_reads_clock, reads_tables
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
    SetKind,
    SetOperation,
    TopK,
    UnionAll,
    Values,
    Window,
)


@dataclass(frozen=True)
class Retraction:
    """The first operator, from the result down, that can take back a row it has given.

    `source` is the text that its place is a place of, where that is another view's.
    """

    operator: str
    reason: str
    span: Span | None = field(default=None, compare=False)
    source: str | None = field(default=None, compare=False, repr=False)


def append_only(plan: Plan, catalog: Catalog) -> bool:
    """True if no row of the relation is ever taken back, whatever the accepted input."""
    return retracting(plan, catalog) is None


def retracting(plan: Plan, catalog: Catalog, assumed: frozenset[str] = frozenset()) -> Retraction | None:
    """The operator that takes rows back, or None; views named in `assumed` (lower case) are taken to append only."""
    if plan_reads_clock(plan):
        return Retraction(type(plan).__name__, "rows come and go as the clock moves", place_of(plan))
    node = cast("Node", plan)
    match node:
        case Scan():
            return _of_scan(node, catalog, assumed)
        case Values():
            return None
        # Linear: a row that comes in gives rows, nothing else does.
        case Project() | Filter() | Generate() | UnionAll():
            return _of_inputs(node, catalog, assumed)
        # The first row of a kind appears, the others change nothing.
        case Distinct():
            return _of_kinds(node, catalog, assumed)
        case Join():
            return _of_join(node, catalog, assumed)
        case AsofJoin():
            return Retraction("ASOF join", "a closer row takes the place of the one found before", place_of(node))
        case Aggregate():
            if node.groups and not node.aggregates:
                return _of_kinds(node, catalog, assumed)
            return Retraction("Aggregate", "a new row of a group replaces the group's result", place_of(node))
        case SetOperation():
            if node.kind == SetKind.INTERSECT:
                return _of_kinds(node, catalog, assumed)
            return Retraction("EXCEPT", "a new row on the right takes a row away", place_of(node))
        case TopK():
            return Retraction("TopK", "a better row pushes another one out", place_of(node))
        case Window():
            return Retraction("Window", "a new row changes what is computed beside the others", place_of(node))
        case Session():
            return Retraction("SESSION", "a new row moves the ends of its session", place_of(node))
        case MatchRecognize():
            return Retraction("MATCH_RECOGNIZE", "a new row can change a match, or make it longer", place_of(node))
        case Arriving():
            return Retraction("Arriving", "the rows of a step go with the next", place_of(node))
        case Arrived():
            return None
        case Recompute():
            return Retraction("Recompute", f"{node.reason}: its answer is recomputed and compared", node.span)
        case Fixpoint():
            inner = assumed | {name.lower() for name in node.views}
            return _first(tuple(node.bodies), catalog, inner)
        case _:
            assert_never(node)


def _of_kinds(node: Node, catalog: Catalog, assumed: frozenset[str]) -> Retraction | None:
    """One row stands for all that are equal; of texts that a collation holds equal it is the least."""
    if any(is_collated(item.type) for item in node.fields):
        return Retraction(type(node).__name__, "a lesser text replaces an equal one", place_of(node))
    return _of_inputs(node, catalog, assumed)


def _of_scan(scan: Scan, catalog: Catalog, assumed: frozenset[str]) -> Retraction | None:
    if scan.relation.lower() in assumed:
        return None
    relation = catalog.relation(scan.relation)
    if relation is None:
        return Retraction("Scan", f"nothing is known about {scan.relation}", scan.span)
    if isinstance(relation, Table):
        return _of_table(relation, scan)
    unknown = Retraction("Scan", f"view {relation.name} is recursive or not bound yet", scan.span)
    found = of_view(catalog, relation, "retracting", lambda plan: retracting(plan, catalog), unknown)
    if found is None:
        return None
    if found is unknown:
        return unknown
    source = found.source or relation.source if found.span is not None else None
    return Retraction(found.operator, f"in view {relation.name}: {found.reason}", found.span, source)


def _of_table(table: Table, scan: Scan) -> Retraction | None:
    # An insert that would replace the row of its key is refused by an append_only table as a deletion is.
    if table.append_only:
        return None
    return Retraction("Scan", f"table {table.name} takes deletions; append_only would forbid them", scan.span)


def _of_join(join: Join, catalog: Catalog, assumed: frozenset[str]) -> Retraction | None:
    kept = kept_sides(join)
    others = [side for side in join.inputs if side not in kept]
    # Beside rows that never change a row finds its match when it comes, or never.
    if join.kind in (JoinKind.INNER, JoinKind.SEMI) or (len(kept) == 1 and not any(map(reads_tables, others))):
        return _of_inputs(join, catalog, assumed)
    if join.kind == JoinKind.ANTI:
        return Retraction("Anti join", "a row that finds its match is taken back", place_of(join))
    reason = "a row given with NULLs is taken back when its match comes"
    return Retraction(f"{join.kind.value.capitalize()} join", reason, place_of(join))


def _of_inputs(plan: Plan, catalog: Catalog, assumed: frozenset[str]) -> Retraction | None:
    return _first(plan.inputs, catalog, assumed)


def _first(plans: tuple[Plan, ...], catalog: Catalog, assumed: frozenset[str]) -> Retraction | None:
    found = (retracting(item, catalog, assumed) for item in plans)
    return next((item for item in found if item is not None), None)
