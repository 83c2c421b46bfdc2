"""Which column orders a window or Top-K so that a new row changes only what comes after it.

LAG(x) OVER (ORDER BY at)                                   at
SUM(x) OVER (ORDER BY at ROWS 3 PRECEDING)                  at
LEAD(x) OVER (ORDER BY at)                                  none: the row before changes
SUM(x) OVER (ORDER BY at ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)   none
"""

from __future__ import annotations

from sqlglot import exp

from penstock.analysis.nulls import never_null
from penstock.plan.expressions import bare
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
    """The column that orders every OVER in an expression."""
    names = {_order_of(window, below) for window in call.tree.find_all(exp.Window)}
    return names.pop() if len(names) == 1 else None


def _order_of(window: exp.Window, below: Plan) -> str | None:
    if not _looks_back(window):
        return None
    order = window.args.get("order")
    first = order.expressions[0] if order is not None else None
    if not isinstance(first, exp.Ordered) or first.args.get("desc"):
        return None
    column = bare(first.this)
    if not isinstance(column, exp.Column):
        return None
    nulls_last = first.args.get("nulls_first") is False
    return column.name if nulls_last or never_null(below, column.name) else None


def _looks_back(window: exp.Window) -> bool:
    function = window.this
    while isinstance(function, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        function = function.this
    if not isinstance(function, exp.Anonymous) or str(function.this).lower() not in _BACK:
        return False
    if str(function.this).lower() == "lag" and not _positive_offset(function):
        return False
    frame = window.args.get("spec")
    if frame is None:
        return True
    end, side = frame.args.get("end"), str(frame.args.get("end_side") or "").upper()
    return end is None or side == "PRECEDING" or str(end).upper() == "CURRENT ROW"


def _positive_offset(call: exp.Anonymous) -> bool:
    return len(call.expressions) == 1 or isinstance(bare(call.expressions[1]), exp.Literal)
