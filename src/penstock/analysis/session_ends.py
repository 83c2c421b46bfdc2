"""The waterline of the ends of sessions with limits, which plans that choose and group the rows of sessions hand on.

Sessions with a longest length, or with rows that begin and end them, are computed along a chain of rows in the order
of time. A row at t changes no session that has ended by then, although the chain that it is in may change its start,
and with it each row of the plan below. So this is a fact about what is above the join with the sessions, where nothing
reads the chain any more; a session that ends exactly at the waterline is over as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import assert_never, cast

from penstock.analysis.derived import Derived, converted
from penstock.analysis.waterline import Reader
from penstock.catalog.reserved import SESSION_END
from penstock.plan.expressions import plan_reads_clock
from penstock.plan.forms import Call, Form, Span
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

Lines = Mapping[str, Derived]
_NONE: Lines = {}


def session_ends(plan: Plan, reader: Reader) -> Lines:
    """The columns of a plan that are ends of sessions with limits, each with the waterline below which they stay."""
    node = cast("Node", plan)
    if plan_reads_clock(plan):
        return _NONE
    match node:
        case Project(items=items, input=Join() as join):
            return _of_join(join, items, reader)
        case Project(items=items) | Aggregate(groups=items):
            return _handed_on(items, session_ends(node.input, reader))
        case Filter() | Distinct():
            return session_ends(node.input, reader)
        case Scan() | Values() | UnionAll() | Generate() | Join() | AsofJoin() | TopK() | Window() | Session():
            return _NONE
        case SetOperation() | MatchRecognize() | Recompute() | Fixpoint() | Arriving() | Arrived():
            return _NONE
        case _:
            assert_never(node)


def _of_join(join: Join, items: Iterable[tuple[str, Scalar]], reader: Reader) -> Lines:
    """The ends that a projection of chains and their sessions gives, if it gives nothing of the chains."""
    chains = join.left
    if not isinstance(chains, Session) or SESSION_END not in join.right.names:
        return _NONE
    if any(scalar.columns & {chains.start, chains.end} for _, scalar in items):
        return _NONE
    line = reader.of(chains).get(chains.end)
    return _NONE if line is None else _handed_on(items, {SESSION_END: converted(line, _just_after)})


def _just_after(line: Form) -> Form:
    """The first time after a waterline."""
    return Call("+", (line, Span("0.000001", "SECOND")))


def _handed_on(items: Iterable[tuple[str, Scalar]], known: Lines) -> Lines:
    found = {name: known.get(scalar.column or "") for name, scalar in items}
    return {name: line for name, line in found.items() if line is not None}
