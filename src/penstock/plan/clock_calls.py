"""Calls that read the clock, in parsed expressions.

`now()`, and every other form of the current time, is the step's clock: the same for all rows of a step. A plan carries
it as the call that was written.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.plan.forms import CLOCK_FUNCTIONS

_NODES: tuple[type[exp.Expression], ...] = (
    exp.CurrentTimestamp,
    exp.CurrentDate,
    exp.CurrentTime,
    exp.Localtimestamp,
)


def is_clock(node: exp.Expr) -> bool:
    """True if a parsed node is a call that reads the clock."""
    if isinstance(node, exp.Anonymous):
        name = str(node.this).lower()
        return name in CLOCK_FUNCTIONS and (name != "unix_timestamp" or not node.expressions)
    return isinstance(node, _NODES)
