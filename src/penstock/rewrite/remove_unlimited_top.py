"""A Top-K that keeps every row, in no order, is left out.

TopK                           Scan(t)
  Scan(t)                  →
"""

from __future__ import annotations

from penstock.plan.nodes import Plan, TopK


def remove_unlimited_top(plan: Plan) -> Plan | None:
    """The input; an ORDER BY without a limit stays, since a query's answer is shown in its order."""
    match plan:
        case TopK(order=(), limit=None, offset=0, number=None):
            return plan.input
        case _:
            return None
