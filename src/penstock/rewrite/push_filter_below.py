"""A condition on what tells groups apart decides before the group is kept.

    Filter(k > 1)                  Aggregate(groups=(k), n: count(*))
      Aggregate(groups=(k), …) →     Filter(k > 1)
        Scan(t)                        Scan(t)

The same holds for the columns of DISTINCT, the partition of a window or Top-K, the keys of sessions, and the input
columns of a generator.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.plan.expressions import conjunction
from penstock.plan.nodes import Aggregate, Distinct, Filter, Generate, Plan, Session, TopK, Window
from penstock.plan.scalar import Scalar
from penstock.rewrite.merge_projects import substituted
from penstock.rewrite.raising import types_of
from penstock.rewrite.splitting import filtered, movable, without


def push_filter_below(plan: Plan) -> Plan | None:
    """The node over a filtered input; a part that can raise, or reads anything else, stays above."""
    match plan:
        case Filter(input=Aggregate(groups=groups) as node) if groups:
            given = dict(groups)
            return _pushed(plan, node, given)
        case Filter(input=Distinct() as node):
            return Distinct(Filter(node.input, plan.condition))
        case Filter(input=TopK() | Window() as node):
            return _pushed(plan, node, {item.column: item for item in node.partition if item.column is not None})
        case Filter(input=Session() as node):
            return _pushed(plan, node, {item.column: item for item in node.keys if item.column is not None})
        case Filter(input=Generate() as node):
            given = {item.column: item for item in node.input.columns() if item.column is not None}
            return _pushed(plan, node, given)
        case _:
            return None


def _pushed(
    plan: Filter, node: Aggregate | TopK | Window | Session | Generate, given: dict[str, Scalar]
) -> Plan | None:
    moved = movable(plan.condition, given.keys(), types_of(node))
    condition = conjunction(moved)
    if condition is None:
        return None
    below = Filter(node.input, substituted(condition, given))
    return filtered(replace(node, input=below), without(plan.condition, moved))
