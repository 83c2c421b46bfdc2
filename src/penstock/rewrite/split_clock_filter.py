"""A condition that does not read the clock is decided before one that does.

    Filter(kind = 'a' AND at > now())        Filter(at > now())
      Scan(t)                            →     Filter(kind = 'a')
                                                 Scan(t)

A filter on the clock keeps its input, since rows come and go with time; the other parts make that input smaller.
"""

from __future__ import annotations

from penstock.plan.expressions import conjunction, conjuncts
from penstock.plan.nodes import Filter, Plan
from penstock.rewrite.raising import cannot_raise, types_of


def split_clock_filter(plan: Plan) -> Plan | None:
    """Two filters, the timeless one below; a timeless part that can raise stays where it is."""
    match plan:
        case Filter(input=Filter() as inner) if inner.condition.reads_clock and not plan.condition.reads_clock:
            early = cannot_raise(plan.condition, types_of(plan.input))
            return Filter(Filter(inner.input, plan.condition), inner.condition) if early else None
        case Filter(input=below, condition=condition) if condition.reads_clock:
            types = types_of(below)
            parts = conjuncts(condition)
            timeless = [part for part in parts if not part.reads_clock and cannot_raise(part, types)]
            first, then = conjunction(timeless), conjunction(part for part in parts if part not in timeless)
            return None if first is None or then is None else Filter(Filter(below, first), then)
        case _:
            return None
