"""A stream that meets tables: each of its rows meets them as they are when it comes (C12).

    orders JOIN products ON …   →   Arrived(Arriving(orders) JOIN products ON …)

A later change of a table changes nothing that has been shown, and what a row has met need not be kept. What stands
between the two nodes goes row by row: joins, conditions, expressions. A query over one stream, or over streams whose
times are locked, has none of them.
"""

from __future__ import annotations

from enum import Enum
from typing import assert_never, cast

from penstock.catalog.model import Catalog, View
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


class _Of(Enum):
    """The rows of a relation: those of streams, of tables, of streams that have met tables, or none that change."""

    STREAM = "stream"
    TABLE = "table"
    MET = "met"
    NOTHING = "nothing"


def meeting_as_they_come(plan: Plan, catalog: Catalog) -> Plan:
    """The plan in which rows of streams meet tables as they come."""
    return _settled(*_read(plan, catalog))


def _read(plan: Plan, catalog: Catalog) -> tuple[Plan, _Of]:
    node = cast("Node", plan)
    match node:
        case Scan():
            return node, _Of.STREAM if _comes(node, catalog) else _Of.TABLE
        case Values():
            return node, _Of.NOTHING
        case Project() | Filter() | Generate():
            below, of = _read(node.input, catalog)
            return node.with_inputs(below), of
        case Arrived():
            return node, _Of.STREAM  # a look-up, which has said itself what its rows meet
        case Join():
            return _joined(node, _read(node.left, catalog), _read(node.right, catalog))
        case UnionAll() | AsofJoin() | Aggregate() | Distinct() | SetOperation() | TopK() | Window() | Session():
            return _of_all(node, catalog)
        case MatchRecognize() | Recompute() | Fixpoint() | Arriving():
            return _of_all(node, catalog)
        case _:
            assert_never(node)


def _of_all(plan: Plan, catalog: Catalog) -> tuple[Plan, _Of]:
    """A node whose rows are not those of one input: what has met tables is settled below it."""
    found = [_read(item, catalog) for item in plan.inputs]
    kinds = {of for _, of in found}
    of = _Of.STREAM if kinds & {_Of.STREAM, _Of.MET} else _Of.TABLE if _Of.TABLE in kinds else _Of.NOTHING
    return plan.with_inputs(*(_settled(*item) for item in found)), of


def _joined(join: Join, *sides: tuple[Plan, _Of]) -> tuple[Plan, _Of]:
    kinds = [of for _, of in sides]
    if _Of.TABLE in kinds and (_Of.STREAM in kinds or _Of.MET in kinds):
        return join.with_inputs(*(Arriving(plan) if of is _Of.STREAM else plan for plan, of in sides)), _Of.MET
    if kinds.count(_Of.MET) == 1 and _Of.NOTHING in kinds:
        return join.with_inputs(*(plan for plan, _ in sides)), _Of.MET
    of = next((kind for kind in (_Of.STREAM, _Of.MET, _Of.TABLE) if kind in kinds), _Of.NOTHING)
    return join.with_inputs(*(_settled(*side) for side in sides)), _Of.STREAM if of is _Of.MET else of


def _settled(plan: Plan, of: _Of) -> Plan:
    return Arrived(plan) if of is _Of.MET else plan


def _comes(scan: Scan, catalog: Catalog) -> bool:
    """True for the rows of a stream from now on, or for what a hidden view makes of them."""
    view = catalog.relation(scan.relation)
    return scan.tail or (isinstance(view, View) and view.is_hidden)
