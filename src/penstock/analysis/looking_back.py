"""The column that orders a window or Top-K so that a new row changes only what comes after it.

LAG(x) OVER (ORDER BY at)                                   at
SUM(x) OVER (ORDER BY at ROWS 3 PRECEDING)                  at
LEAD(x) OVER (ORDER BY at)                                  none: the row before changes
SUM(x) OVER (ORDER BY at ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)   none
"""

from __future__ import annotations

from penstock.analysis.nulls import never_null
from penstock.plan.forms import Constant, Over, Reference
from penstock.plan.nodes import Plan, TopK, Window
from penstock.plan.scalar import Scalar

_BACK = frozenset({
    "lag", "row_number", "rank", "dense_rank", "sum", "count", "avg", "min", "max", "first_value", "last_value",
    "first", "last", "nth_value", "stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop",
    "collect_list", "array_agg", "any_value", "bool_and", "bool_or", "every", "some",
})  # fmt: skip


def keeps_order_column(node: TopK | Window) -> str | None:
    """The column, if all is ordered by it ascending and nothing looks ahead.

    A row with NULL is never late: where NULLs come first it would change all that follows, so it must be NOT NULL.
    """
    match node:
        case TopK():
            if not node.order or node.order[0].descending:
                return None
            name = node.order[0].value.column
            return (
                name if name is not None and (not node.order[0].nulls_first or never_null(node.input, name)) else None
            )
        case Window():
            names = {_order_column(call, node.input) for _, call in node.calls}
            return names.pop() if len(names) == 1 else None


def _order_column(call: Scalar, below: Plan) -> str | None:
    """The column that orders every OVER in an expression, if none of them looks ahead."""
    windows = [item for item in call.form.walk() if isinstance(item, Over)]
    names = {ordered_by(item, below) if sees_no_later_row(item) else None for item in windows}
    return names.pop() if len(names) == 1 else None


def ordered_by(window: Over, below: Plan) -> str | None:
    """The column by which a window is ordered ascending, if no row with NULL comes before the others later."""
    first = window.order[0] if window.order else None
    if first is None or first.descending or not isinstance(first.value, Reference):
        return None
    name = first.value.name
    return name if not first.nulls_first or never_null(below, name) else None


def sees_no_later_row(window: Over) -> bool:
    """True if a call answers by its row, those that equal it in the order, and those before it."""
    call = window.call
    if call is None or call.function not in _BACK:
        return False
    if call.function == "lag" and len(call.arguments) > 1 and not isinstance(call.arguments[1], Constant):
        return False
    return window.frame is None or window.frame.end.side in ("preceding", "current row")
