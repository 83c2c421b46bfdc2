"""DISTINCT over rows that are distinct already keeps state for nothing.

Distinct                       Aggregate(groups=(a))
  Aggregate(groups=(a))    →     Scan(t)
    Scan(t)
"""

from __future__ import annotations

from penstock.plan.nodes import Aggregate, Distinct, Filter, Fixpoint, Plan, SetOperation


def remove_distinct(plan: Plan) -> Plan | None:
    """The input, if each of its rows is there once by the way it is made."""
    match plan:
        case Distinct(input=below) if _rows_once(below):
            return below
        case _:
            return None


def _rows_once(plan: Plan) -> bool:
    match plan:
        case Filter(input=below):
            return _rows_once(below)
        case Aggregate() | Distinct():
            return True
        case SetOperation():
            return not plan.all
        case Fixpoint():
            return plan.distinct
        case _:
            return False
