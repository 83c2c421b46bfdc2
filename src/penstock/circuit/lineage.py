"""The origin of an operator's rows: the chain below it, the key that it goes by, the tables that an expression reads.

Whoever looks for the rows for which an expression raises asks this; None, or all tables, where it cannot be told.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import assert_never, cast

from penstock.circuit.operators import Additive, Circuit, Keyed, Linear, Operator, Source
from penstock.plan.expressions import scalars_of
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

Says = Callable[[Scalar], bool]
Reads = Callable[[Scalar], Collection[str] | None]  # the columns that a part of an expression reads, if it has the part
_BY_ROW = (Scan, Project, Filter, UnionAll, Generate)


def operator_of(circuit: Circuit, number: int) -> Operator:
    """The operator of that number."""
    return next(item for item in circuit.operators if item.number == number)


def is_numbered(scan: Scan) -> bool:
    """True if the scan is of another operator, not of a view within its own recursion."""
    return scan.relation.startswith("#")


def leaf_number(scan: Scan) -> int:
    """The number of the operator that is read."""
    return int(scan.relation[1:])


def chain_of(circuit: Circuit, number: int) -> Plan | None:
    """The output of an operator as a plan over sources (`#<number>`), if nothing below it keeps any state."""
    operator = operator_of(circuit, number)
    match operator:
        case Source():
            return Scan(f"#{number}", operator.fields)
        case Linear():
            return over_sources(circuit, operator.node)
        case _:
            return None


def over_sources(circuit: Circuit, plan: Plan) -> Plan | None:
    """The plan with the chains of its inputs in it."""
    if isinstance(plan, Scan):
        return chain_of(circuit, leaf_number(plan)) if is_numbered(plan) else None
    inputs = [over_sources(circuit, item) for item in plan.inputs]
    known = [item for item in inputs if item is not None]
    return plan.with_inputs(*known) if len(known) == len(inputs) else None


def goes_row_by_row(circuit: Circuit, number: int) -> bool:
    """True if each row of the sources meets the operator alone."""
    return chain_of(circuit, number) is not None


def evaluated_by_row(plan: Plan, says: Says) -> Iterator[tuple[Plan, tuple[Scalar, ...]]]:
    """The chosen expressions that are evaluated for each row of an input, with that input, the lowest first."""
    for node in reversed(list(plan.walk())):
        match node:
            case Filter():
                found: Iterable[Scalar] = (node.condition,)
            case Project():
                found = (scalar for _, scalar in node.items)
            case Aggregate():
                plain = (scalar for _, call in node.aggregates if call.filter is None for scalar in call.arguments)
                found = (*(scalar for _, scalar in node.groups), *plain)
            case _:
                continue
        chosen = tuple(scalar for scalar in found if says(scalar))
        if chosen and all(isinstance(below, _BY_ROW) for below in node.inputs[0].walk()):
            yield node.inputs[0], chosen


def keys_taken(circuit: Circuit, number: int) -> tuple[tuple[int, tuple[Scalar, ...]], ...] | None:
    """The key by which the operator, or the one behind which it goes row by row, takes its rows: one for each input."""
    operator = operator_of(circuit, number)
    match operator:
        case Linear(inputs=(below,)):
            return keys_taken(circuit, below)
        case Additive(node=Aggregate() as node):
            return ((operator.inputs[0], tuple(scalar for _, scalar in node.groups)),)
        case Keyed():
            return tuple(zip(operator.inputs, operator.keys, strict=True))
        case _:
            return None


def tables_behind(circuit: Circuit, number: int, reads: Reads) -> frozenset[str] | None:
    """The tables whose columns a part of an expression reads; None where no expression has it."""
    operator = operator_of(circuit, number)
    found: set[str] | None = None
    for node in operator.node.walk() if not isinstance(operator, Source) else ():
        for names in map(reads, scalars_of(node)):
            if names is not None:
                found = (found or set()) | _origins(circuit, node.inputs, names)
    if found is None and isinstance(operator, Linear):
        below = [tables_behind(circuit, item, reads) for item in operator.inputs]
        named = [item for item in below if item is not None]
        return frozenset().union(*named) if named else None
    return None if found is None else frozenset(found)


def _origins(circuit: Circuit, plans: Iterable[Plan], names: Collection[str]) -> set[str]:
    """The tables from which columns of some plans' rows come."""
    found: set[str] = set()
    for plan in plans:
        here = frozenset(names) & set(plan.names)
        if here:
            found |= _behind(circuit, plan, here)
    return found


def _behind(circuit: Circuit, plan: Plan, names: frozenset[str]) -> set[str]:
    node = cast("Node", plan)
    match node:
        case Scan():
            if not is_numbered(node):  # a view within its own recursion: what else that reads is seen there
                return set()
            operator = operator_of(circuit, leaf_number(node))
            if isinstance(operator, Source):
                return {operator.relation}
            return _behind(circuit, operator.node, names)
        case Project():
            read = frozenset().union(*(scalar.columns for name, scalar in node.items if name in names))
            return _origins(circuit, node.inputs, read)
        case Aggregate():
            groups = [scalar for name, scalar in node.groups if name in names]
            calls = [call.call for name, call in node.aggregates if name in names]
            return _origins(circuit, node.inputs, frozenset().union(*(item.columns for item in (*groups, *calls))))
        case Filter() | Join():
            return _origins(circuit, node.inputs, names)
        case Values() | UnionAll() | Generate() | AsofJoin() | Distinct() | SetOperation() | TopK() | Window():
            return _origins(circuit, node.inputs, [name for item in node.inputs for name in item.names])
        case Session() | MatchRecognize() | Recompute() | Fixpoint() | Arriving() | Arrived():
            return _origins(circuit, node.inputs, [name for item in node.inputs for name in item.names])
        case _:
            assert_never(node)
