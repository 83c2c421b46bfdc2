"""Window calls: with further partition keys, and what the order of equal rows can change in them."""

from __future__ import annotations

from sqlglot import exp

from penstock.catalog.functions import words
from penstock.plan.scalar import Scalar, column_tree, render_scalar
from penstock.sql.trees import call_name, core_of, frame_of

# Their answer is a value of one row, a list in an order of its own, or a number of rows.
_CHOOSING = frozenset([
    *words("rank dense_rank percent_rank cume_dist row_number ntile lag lead count count_if min max"),
    *words("first first_value any_value last last_value nth_value collect_list array_agg collect_set"),
])  # fmt: skip


def partitioned_further(call: Scalar, names: tuple[str, ...]) -> Scalar:
    """The call with the named columns added to the PARTITION BY of every window in it."""
    tree = call.tree.copy()
    for window in tree.find_all(exp.Window):
        window.set("partition_by", [*window.args.get("partition_by", []), *(column_tree(name) for name in names)])
    return Scalar(render_scalar(tree), tree, call.type, call.nullable, call.span)


def adds_up(call: Scalar) -> bool:
    """True if a window call adds up rows whose order its ORDER BY may leave open."""
    return any(
        frame_of(window) != "ROWS" and call_name(core_of(window.this)) not in _CHOOSING
        for window in call.tree.find_all(exp.Window)
    )
