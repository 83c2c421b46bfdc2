"""Types that the binder has left open, filled in where the proof of an expression gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import assert_never, cast

from penstock.backends.native.aggregates import Calls as Made
from penstock.backends.native.aggregates import Types, aggregated
from penstock.backends.native.dialect import types_of
from penstock.backends.native.proof import NotProvenError, Proven, standing_at
from penstock.backends.native.scalars import proven
from penstock.backends.native.trace import Columns
from penstock.backends.native.windows import windowed
from penstock.catalog.types import Type
from penstock.plan.nodes import (
    Aggregate,
    AggregateCall,
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
from penstock.plan.parts import Calls, Part
from penstock.plan.scalar import Scalar


def completed(plan: Plan, known: Mapping[str, Columns]) -> Plan:
    """The plan with every type that can be told; `known` has the columns of leaves by their names."""
    below = tuple(completed(item, known) for item in plan.inputs)
    plan = plan.with_inputs(*below) if below else plan
    node = cast("Node", plan)
    match node:
        case Scan():
            return _leaf(node, known)
        case Project():
            items = tuple((name, _typed(scalar, node.input)) for name, scalar in node.items)
            return replace(node, items=items)
        case Aggregate():
            groups = tuple((name, _typed(scalar, node.input)) for name, scalar in node.groups)
            calls = tuple((name, _called(call, node.input)) for name, call in node.aggregates)
            return replace(node, groups=groups, aggregates=calls)
        case Window():
            return replace(node, calls=tuple((name, _windowed(call, node.input)) for name, call in node.calls))
        case UnionAll():
            return replace(node, outputs=_outputs(node.outputs, node.branches[0]))
        case SetOperation():
            return replace(node, outputs=_outputs(node.outputs, node.left))
        case Values() | Filter() | Generate() | Join() | AsofJoin() | Distinct() | TopK() | Session():
            return node
        case MatchRecognize() | Recompute() | Fixpoint() | Arriving() | Arrived():
            return node
        case _:
            assert_never(node)


def require_types(plan: Plan) -> None:
    """NotProvenError for the lowest expression of a completed plan that keeps a type of its fields from being told."""
    if all(item.type is not None for item in plan.fields):
        return
    for node in reversed(list(plan.walk())):
        if isinstance(node, Recompute):
            raise NotProvenError(what="a query that is recomputed", span=node.span)
        for part in node.parts:
            if part.scalar.type is None:
                with standing_at(part.scalar.span):
                    _proof(part, types_of(*node.inputs))


def _proof(part: Part, types: Types) -> Proven:
    match part.calls:
        case Calls.AGGREGATES:
            return aggregated(part.scalar.form, types, proven, Made())
        case Calls.WINDOWS:
            return windowed(part.scalar.form, types, proven, (), Made())
        case _:
            return proven(part.scalar.form, types)


def _leaf(scan: Scan, known: Mapping[str, Columns]) -> Scan:
    types = {name.lower(): kind for name, kind in known.get(scan.relation, ())}
    return replace(
        scan, outputs=tuple(replace(item, type=types.get(item.name.lower(), item.type)) for item in scan.outputs)
    )


def _outputs(outputs: tuple[Field, ...], first: Plan) -> tuple[Field, ...]:
    return tuple(
        item if item.type is not None else replace(item, type=below.type)
        for item, below in zip(outputs, first.fields, strict=True)
    )


def _typed(scalar: Scalar, below: Plan) -> Scalar:
    return (
        scalar if scalar.type is not None else replace(scalar, type=_type(lambda: proven(scalar.form, types_of(below))))
    )


def _called(call: AggregateCall, below: Plan) -> AggregateCall:
    if call.call.type is not None:
        return call
    found = _type(lambda: aggregated(call.call.form, types_of(below), proven, Made()))
    return replace(call, call=replace(call.call, type=found))


def _windowed(call: Scalar, below: Plan) -> Scalar:
    if call.type is not None:
        return call
    return replace(call, type=_type(lambda: windowed(call.form, types_of(below), proven, (), Made())))


def _type(work: Callable[[], Proven]) -> Type | None:
    """The type that a proof gives; None where there is no proof."""
    try:
        return work().type
    except NotProvenError:
        return None
