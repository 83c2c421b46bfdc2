"""Which expressions read the clock of the step, and which rows it leaves behind.

`now()` is the step's clock, the same for all rows of a step (SEMANTICS 0). A plan carries it as the function call
that was written; the engine puts the step's value in its place.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from penstock.analysis.derived import Derived
from penstock.analysis.direction import Direction, direction
from penstock.analysis.inequality import lower_bounds
from penstock.circuit.collection import Expiry
from penstock.plan.expressions import conjuncts, tree_reads_clock
from penstock.plan.nodes import (
    Aggregate,
    Filter,
    Generate,
    Join,
    Plan,
    Project,
    Recompute,
    Session,
    TopK,
    Values,
    Window,
)
from penstock.plan.scalar import Scalar, quoted, render_scalar

CLOCK_FUNCTIONS = frozenset({
    "now", "current_timestamp", "localtimestamp", "current_date", "curdate", "current_time", "unix_timestamp",
})  # fmt: skip
_NAMED_NODES: tuple[type[exp.Expr], ...] = (
    exp.CurrentTimestamp,
    exp.CurrentDate,
    exp.CurrentTime,
    exp.Localtimestamp,
)


def is_clock(node: exp.Expr) -> bool:
    """Whether a parsed node is a call that reads the clock."""
    if isinstance(node, _NAMED_NODES):
        return True
    if isinstance(node, exp.Anonymous):
        name = str(node.this).lower()
        return name in CLOCK_FUNCTIONS and (name != "unix_timestamp" or not node.expressions)
    return False


def reads_clock(scalar: Scalar) -> bool:
    """Whether the expression's value depends on the clock."""
    return any(is_clock(node) for node in scalar.tree.walk())


def plan_reads_clock(plan: Plan) -> bool:
    """Whether the node itself (not its inputs) reads the clock."""
    if isinstance(plan, Recompute):
        lower = plan.text.lower()
        return any(f"{name}" in lower for name in CLOCK_FUNCTIONS - {"unix_timestamp"})
    return any(reads_clock(scalar) for scalar in scalars_of(plan))


def scalars_of(plan: Plan) -> Iterator[Scalar]:
    """The expressions of one node."""
    match plan:
        case Project():
            yield from (scalar for _, scalar in plan.items)
        case Filter():
            yield plan.condition
        case Generate():
            yield plan.generator
        case Values():
            yield from (scalar for row in plan.rows for scalar in row)
        case Join():
            yield from (scalar for key in plan.keys for scalar in (key.left, key.right))
            if plan.residual is not None:
                yield plan.residual
        case Aggregate():
            yield from (scalar for _, scalar in plan.groups)
            yield from (call.call for _, call in plan.aggregates)
        case TopK():
            yield from plan.partition
            yield from (key.value for key in plan.order)
        case Window():
            yield from plan.partition
            yield from (call for _, call in plan.calls)
        case Session():
            yield from (*plan.keys, plan.time, plan.gap)
        case _:
            return


def clock_expires(node: Plan) -> tuple[Expiry, ...]:
    """Rows that a filter on the clock will never let pass again."""
    if not isinstance(node, Filter):
        return ()
    return tuple(item for part in conjuncts(node.condition) for item in _passed(part))


def _passed(part: Scalar) -> Iterator[Expiry]:
    for item in lower_bounds(part, {}):
        fixed: dict[str, Direction] = {}
        timely = tree_reads_clock(item.bound) and not part.columns - {item.column}
        if timely and direction(item.bound, fixed).up:
            bound = Scalar(render_scalar(item.bound), item.bound)
            yield Expiry(0, quoted(item.column), Derived((bound,), frozenset()), nulls=True, shown=quoted(item.column))
