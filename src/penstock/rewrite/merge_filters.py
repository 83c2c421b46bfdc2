"""Two conditions in a row are one.

    Filter(b > 2)                  Filter(a > 1 AND b > 2)
      Filter(a > 1)            →     Scan(t)
        Scan(t)

Spark's AND evaluates its right side also where the left one is NULL, so the outer condition must not raise. A condition
that reads the clock stays apart: only what is above it has to be looked at again as time passes.
"""

from __future__ import annotations

from penstock.plan.expressions import conjunction, conjuncts
from penstock.plan.nodes import Filter, Plan
from penstock.rewrite.raising import cannot_raise, types_of


def merge_filters(plan: Plan) -> Plan | None:
    """One condition of both, the inner one first; a part that stands in both is kept once."""
    match plan:
        case Filter(input=Filter() as inner):
            if plan.condition.reads_clock != inner.condition.reads_clock:
                return None
            if not cannot_raise(plan.condition, types_of(plan.input)):
                return None
            parts = dict.fromkeys(conjuncts(inner.condition) + conjuncts(plan.condition))
            condition = conjunction(parts)
            return None if condition is None else Filter(inner.input, condition)
        case _:
            return None
