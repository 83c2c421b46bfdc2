"""A key that determines a column with a waterline: once the waterline has passed the column, the key is closed (B9).

    GROUP BY a.id                   where auctions have the key id, and no later bid can meet one whose a.expires
      auction a JOIN bid b ON …     is below the waterline of a.expires: the group goes by a.expires as well

Rows that agree in the key agree in the column, so a group stays one group when the column is one more thing to group
by, and a DISTINCT row stays one row. Top-K and windows keep whole rows and need the column only among these. Where
projections have left the column out they give it again, and the column is left out above. docs/adr/0010 has the proof.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import assert_never, cast

from penstock.analysis.determined import determined
from penstock.analysis.waterline import Reader
from penstock.catalog.model import Catalog
from penstock.circuit.reading import of_view
from penstock.plan.expressions import plan_reads_clock
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
from penstock.plan.scalar import Scalar, column

Passed = Project | Filter | Aggregate | Distinct  # nodes through which a key can be followed
Widened = Passed | TopK | Window  # nodes that can be given one more column of their input


@dataclass(frozen=True)
class Closing:
    """Finds the column that closes the keys of a plan, in views that it reads as well."""

    catalog: Catalog
    reader: Reader

    def closed(self, plan: Plan) -> Plan:
        """The same relation with keys that a waterline closes, or the plan itself where there is no such column."""
        keys = frozenset(item.column for item in keys_of(plan) if item.column is not None)
        if not keys or not isinstance(plan, Widened) or plan_reads_clock(plan):
            return plan
        found = self._carrying(plan.inputs[0], keys, plan.names)
        if found is None or self._goes_by_key(plan):
            return plan
        wider, _ = _widened(plan, *found, ())
        if wider == plan:
            return plan
        return Project(wider, tuple((item.name, _reference(item)) for item in plan.fields))

    def _goes_by_key(self, plan: Plan) -> bool:
        """True if the keys expire by what they are themselves."""
        known = self.reader.of(plan.inputs[0])
        types = {item.name: item.type for item in plan.inputs[0].fields}
        return any(self.reader.bound(item.form, known, types) is not None for item in keys_of(plan))

    def _carrying(self, plan: Plan, keys: frozenset[str], taken: tuple[str, ...]) -> tuple[Plan, Field] | None:
        """The relation with a column that closes the keys, and that column, which is called like none of `taken`."""
        name = next(iter(closing_columns(plan, keys, self.reader, self.catalog)), None)
        if name is not None:
            return plan, plan.field(name)
        if not keys or plan_reads_clock(plan):
            return None
        if isinstance(plan, Scan):
            inner = of_view(plan, self.catalog)
            return None if inner == plan else self._carrying(inner, keys, taken)
        if not isinstance(plan, Passed):
            return None
        found = self._carrying(plan.input, below(plan, keys), (*taken, *plan.names))
        return None if found is None else _widened(plan, *found, taken)


def below(plan: Passed, keys: Iterable[str]) -> frozenset[str]:
    """The columns of a node's input that some of its own are."""
    match plan:
        case Project(items=items) | Aggregate(groups=items):
            made = dict(items)
            found = (made[key].column for key in keys if key in made)
            return frozenset(name for name in found if name is not None)
        case Filter() | Distinct():
            return frozenset(keys)
        case _:
            assert_never(plan)


def _widened(plan: Widened, inner: Plan, added: Field, taken: tuple[str, ...]) -> tuple[Plan, Field]:
    """A node over an input with one more column, which it gives as well."""
    name = _unused(added.name, (*plan.names, *taken))
    wider: Plan
    match plan:
        case Project():
            wider = replace(plan, input=inner, items=(*plan.items, (name, _reference(added))))
        case Aggregate():
            wider = replace(plan, input=inner, groups=(*plan.groups, (name, _reference(added))))
        case Filter() | Distinct() | TopK() | Window():
            wider, name = replace(plan, input=inner), added.name
        case _:
            assert_never(plan)
    return wider, wider.field(name)


def keys_of(plan: Plan) -> tuple[Scalar, ...]:
    """The key by which an operator keeps its state, where it has one input."""
    node = cast("Node", plan)
    match node:
        case Aggregate():
            return tuple(scalar for _, scalar in node.groups)
        case Distinct():
            return node.columns()
        case TopK() | Window():
            return node.partition
        case Scan() | Values() | Project() | Filter() | UnionAll() | Generate() | Join() | AsofJoin():
            return ()
        case MatchRecognize():
            return node.partition
        case SetOperation() | Session() | Recompute() | Fixpoint() | Arriving() | Arrived():
            return ()
        case _:
            assert_never(node)


def closing_columns(plan: Plan, keys: Iterable[str | None], reader: Reader, catalog: Catalog) -> tuple[str, ...]:
    """The columns of a relation that have a waterline and that the keys determine, in its own order."""
    found = determined(plan, keys, catalog)
    known = reader.of(plan) if found else {}
    return tuple(name for name in plan.names if name in found and name in known)


def determining(plan: Plan, name: str, catalog: Catalog) -> tuple[str, ...]:
    """The fewest keys of an operator that determine a column of its input, if it is the column that closes them."""
    keys = [item.column for item in keys_of(plan) if item.column is not None and item.column != name]
    if name not in determined(plan.inputs[0], keys, catalog):
        return ()
    for key in tuple(keys):
        fewer = [item for item in keys if item != key]
        keys = fewer if name in determined(plan.inputs[0], fewer, catalog) else keys
    return tuple(keys)


def base_of(plan: Plan, catalog: Catalog) -> tuple[Plan, tuple[str, ...]]:
    """The plan that an operator with keys reads, below projections and filters, and its keys among those columns."""
    keys = frozenset(item.column for item in keys_of(plan) if item.column is not None)
    base = plan.inputs[0]
    while isinstance(base := of_view(base, catalog), Project | Filter):
        keys, base = below(base, keys), base.input
    return base, tuple(name for name in base.names if name in keys)


def _reference(item: Field) -> Scalar:
    return column(item.name, item.type, item.nullable)


def _unused(name: str, taken: Iterable[str]) -> str:
    """A name that no other column has, without regard to case."""
    lower = {item.lower() for item in taken}
    while name.lower() in lower:
        name = f"__closing.{name}"
    return name
