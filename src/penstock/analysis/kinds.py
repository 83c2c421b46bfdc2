"""The kind of change at each operator of a plan, and why it is of that kind.

kind           | a row that has been given                          | which sinks can take it
append-only    | stays                                              | every sink
update by key  | gives way to another row of its key, or goes        | those that write by that key
retract        | is taken back as a whole row                       | those that can find a row by all of its columns
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never, cast

from penstock.analysis.changelog import Retraction, retracting
from penstock.analysis.keys import unique_keys
from penstock.catalog.model import Catalog, Table
from penstock.errors import Span
from penstock.plan.expressions import place_of
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


class Kind(StrEnum):
    """The kind of a relation's changes."""

    APPEND = "append-only"
    UPDATE = "update by key"
    RETRACT = "retract"


@dataclass(frozen=True)
class KindOfChange:
    """One operator: the kind of what it gives, the key by which rows replace each other, and why.

    `retraction` is the operator that takes rows back, here or below; None where none does. `depth` counts from the
    result, which is 0.
    """

    node: Plan
    depth: int
    kind: Kind
    key: tuple[str, ...]
    because: str
    retraction: Retraction | None
    is_own: bool

    @property
    def span(self) -> Span | None:
        """The operator's place in the SQL, as far as it has one."""
        return place_of(self.node)


def kinds_of_change(plan: Plan, catalog: Catalog, depth: int = 0) -> Iterator[KindOfChange]:
    """The kind at each operator, from the result down, each before its inputs."""
    yield kind_of_change(plan, catalog, depth)
    for item in plan.inputs:
        yield from kinds_of_change(item, catalog, depth + 1)


def kind_of_change(plan: Plan, catalog: Catalog, depth: int = 0) -> KindOfChange:
    """The kind at the result of a plan."""
    found = retracting(plan, catalog)
    if found is None:
        because = _stays(cast("Node", plan), catalog)
        return KindOfChange(plan, depth, Kind.APPEND, (), because, None, is_own=False)
    keys = sorted(unique_keys(plan, catalog), key=lambda key: (len(key), sorted(map(plan.names.index, key))))
    key = tuple(sorted(keys[0], key=plan.names.index)) if keys else ()
    own = not _passes_on(plan, found, catalog)
    because = found.reason if own else f"passes on what {found.operator} takes back"
    return KindOfChange(plan, depth, Kind.UPDATE if keys else Kind.RETRACT, key, because, found, own)


def _passes_on(plan: Plan, found: Retraction, catalog: Catalog) -> bool:
    """True if what is taken back is taken back by an input."""
    inputs = [item for item in (retracting(item, catalog) for item in plan.inputs) if item is not None]
    return any(item == found and item.span == found.span for item in inputs) and isinstance(
        plan, Project | Filter | Generate | UnionAll | Distinct | Join | Aggregate | SetOperation | Fixpoint
    )


def _stays(node: Node, catalog: Catalog) -> str:
    """The reason for which nothing is taken back, where nothing is."""
    match node:
        case Scan():
            return _of_scan(node, catalog)
        case Values():
            return "rows that are written in the query"
        case Project() | Filter() | Generate() | UnionAll():
            return "each row that comes gives rows, and takes none back"
        case Distinct():
            return "the first row of its kind stays"
        case Aggregate():
            return "a group without aggregates stays as its first row has made it"
        case Join() if node.kind == JoinKind.SEMI:
            return "a row that has found its match keeps it"
        case Join():
            return "a pair that has been found stays"
        case SetOperation():
            return "a row that is on both sides stays there"
        case Fixpoint():
            return "what has been reached stays reached"
        case Arrived():
            return "what comes stays as it came"
        # These take rows back whatever they read.
        case TopK() | Window() | Session() | MatchRecognize() | Recompute() | AsofJoin() | Arriving():
            return "it reads nothing that changes"
        case _:
            assert_never(node)


def _of_scan(node: Scan, catalog: Catalog) -> str:
    relation = catalog.relation(node.relation)
    if isinstance(relation, Table):
        kind = "stream" if relation.stream else "append-only table"
        return f"rows only come into {kind} {relation.name}"
    return f"view {node.relation} takes nothing back"
