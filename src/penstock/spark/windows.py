"""Window calls with further partition keys."""

from __future__ import annotations

from sqlglot import exp

from penstock.plan.scalar import Scalar, column_tree, render_scalar


def partitioned_further(call: Scalar, names: tuple[str, ...]) -> Scalar:
    """The call with the named columns added to the PARTITION BY of every window in it."""
    tree = call.tree.copy()
    for window in tree.find_all(exp.Window):
        window.set("partition_by", [*window.args.get("partition_by", []), *(column_tree(name) for name in names)])
    return Scalar(render_scalar(tree), tree, call.type, call.nullable, call.span)
