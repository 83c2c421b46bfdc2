"""DISTINCT over rows that are distinct already keeps state for nothing.

Distinct                       Aggregate(groups=(a))
  Aggregate(groups=(a))    →     Scan(t)
    Scan(t)
"""

from __future__ import annotations

from typing import assert_never, cast

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


def remove_distinct(plan: Plan) -> Plan | None:
    """The input, if each of its rows is there once by the way it is made."""
    match plan:
        case Distinct(input=below) if _rows_once(below):
            return below
        case _:
            return None


def _rows_once(plan: Plan) -> bool:
    node = cast("Node", plan)
    match node:
        case Filter(input=below):
            return _rows_once(below)
        case Aggregate() | Distinct():
            return True
        case SetOperation():
            return not node.all
        case Fixpoint():
            return node.distinct
        case Scan() | Values() | Project() | UnionAll() | Generate() | Join() | AsofJoin() | TopK() | Window():
            return False
        case Session() | MatchRecognize() | Recompute() | Arriving() | Arrived():
            return False
        case _:
            assert_never(node)
